"""The held set: reading gives each norm its code, running gives each its verdict."""

from __future__ import annotations

import re

import pytest

from normlint.engine.linter import check_path
from normlint.engine.selection import Demand
from normlint.rules import analyse
from normlint.rules.registry import RULES
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict
from normlint.verify.guard.run import Verifier
from tests.held import BROKEN, EVERY, SOUND, Held
from tests.held.table import DOCS, RAISING, STYLE
from tests.verify.verified import jobs_of, verdicts_of

ASKED_FOR = ("NRM206", "NRM207", "NRM305", "NRM507")


def ids(norms: tuple[Held, ...]) -> dict[str, Held]:
    return {held.name: held for held in norms}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """All verdicts, from one verifier."""
    jobs = [job for held in EVERY for _, job in jobs_of(held.path)]
    with Verifier(device="cpu") as verifier:
        return dict(zip(ids(EVERY), verdicts_of(verifier, jobs), strict=True))


def test_there_are_enough_norms_and_every_rule_that_running_could_show_has_one() -> None:
    assert len(SOUND) >= 24
    assert len(BROKEN) >= 66
    static = {code for code, rule in RULES.items() if rule.check}
    assert {code for held in BROKEN for code in held.codes} == static - {*STYLE, *RAISING}


@pytest.mark.parametrize("held", EVERY, ids=ids(EVERY))
def test_a_file_holds_one_norm_and_reading_gives_it_the_codes_of_its_header(held: Held) -> None:
    analysis = analyse(held.text)
    assert len(analysis.norms) == 1
    assert {f.code for f in analysis.findings if RULES[f.code].default or f.code in ASKED_FOR} == held.codes


@pytest.mark.parametrize("held", SOUND, ids=ids(SOUND))
def test_a_sound_norm_matches(held: Held, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[held.name]
    assert (verdict.status, verdict.reason == "") == (held.expect, held.expect == MATCH)


@pytest.mark.parametrize("held", BROKEN, ids=ids(BROKEN))
def test_a_broken_norm_gets_its_verdict_and_a_reason(held: Held, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[held.name]
    assert verdict.status == held.expect, verdict.reason
    assert verdict.reason
    if held.expect == SKIPPED:
        return
    assert verdict.worst is not None
    assert not verdict.worst.passed


def test_the_pages_show_the_set_as_it_is() -> None:
    pages = [(DOCS / f"verification-{name}.md").read_text(encoding="utf-8") for name in ("sound", "broken")]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \|", "".join(pages), re.MULTILINE)
    assert rows == [(held.name, held.expect, held.expect) for held in EVERY]


COMPARISON = (DOCS / "comparison.md").read_text(encoding="utf-8")


def test_the_comparison_counts_what_reading_finds() -> None:
    found = [held for held in BROKEN if check_path(str(held.path), Demand()).findings]
    assert f"| normlint, reading only | {len(found)} |" in COMPARISON


def test_the_comparison_counts_what_running_shows_and_what_one_random_input_shows(verdicts: dict[str, Verdict]) -> None:
    shown = {held.name for held in BROKEN if verdicts[held.name].status in (WRONG, PRECISION)}
    wrong = [held.name for held in BROKEN if held.name in shown or held.codes - {*ASKED_FOR}]
    failed = {name: {(one.probe, one.dtype) for one in verdicts[name].probes if one.message} for name in wrong}
    plain = [name for name in wrong if ("plain", "fp32") in failed[name]]
    assert f"| normlint `--verify` | {len(wrong)} |" in COMPARISON
    assert f"fails for {len(plain)} of those {len(wrong)}" in COMPARISON
    assert f"The other {len(wrong) - len(plain)} show only" in COMPARISON


def test_a_seed_gives_inputs_of_its_own() -> None:
    job = jobs_of(SOUND[0].path)[0][1]
    errors = []
    for seed in (0, 0, 1):
        with Verifier(device="cpu", seed=seed) as verifier:
            errors.append([probe.error for probe in verdicts_of(verifier, [job])[0].probes])
    assert errors[0] == errors[1] != errors[2]
