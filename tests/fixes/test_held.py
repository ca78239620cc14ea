"""The held set's broken norms, fixed: whatever reading finds goes, and then running finds nothing."""

from __future__ import annotations

from functools import cache

import pytest

from normlint.rules.registry import RULES
from normlint.text.verdict import MATCH, SKIPPED, Verdict
from normlint.verify.guard.run import Verifier
from tests.fixes.fixing import FixedText, by_default, fix_text
from tests.fixes.judge import job
from tests.held import BROKEN, SOUND, Held

pytest.importorskip("torch", reason="what is fixed is run")

FOUND = [held for held in BROKEN if held.codes and all(RULES[code].fix for code in held.codes)]


UNMENDED = "1 + w is rounded to bf16"  # what NRM207 finds must be asked for


@cache
def fixed(held: Held) -> FixedText:
    return fix_text(held.text, lambda code: by_default(code) or code in held.codes)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """All verdicts, from one verifier."""
    jobs = [job(fixed(held).text) for held in FOUND]
    assert None not in jobs
    with Verifier(device="cpu") as verifier:
        answers = dict(verifier.verdicts([one for one in jobs if one]))
    return {held.name: answers[number] for number, held in enumerate(FOUND)}


@pytest.mark.parametrize("held", SOUND, ids=lambda held: held.name)
def test_a_sound_norm_stays_as_it_is(held: Held) -> None:
    assert fix_text(held.text).text == held.text


@pytest.mark.parametrize("held", FOUND, ids=lambda held: held.name)
def test_a_broken_norm_is_fixed_and_nothing_is_left(held: Held) -> None:
    assert fixed(held).made
    assert fixed(held).settled
    assert fixed(held).left == ()


@pytest.mark.parametrize("held", FOUND, ids=lambda held: held.name)
def test_running_it_finds_nothing_any_more(held: Held, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[held.name]
    apart = held.expect == SKIPPED or verdict.reason.startswith(UNMENDED)
    assert verdict.status == MATCH or apart, verdict.reason
