"""A few of the grid's defects, fixed: nothing is left to find, and it runs. `tests.fixes.grid` does all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from normlint.text.verdict import Verdict
from normlint.verify.guard.run import Verifier
from tests.fixes.dress import LOOKS, bare, commented, comments, meaning, narrow
from tests.fixes.fixing import fix_text
from tests.fixes.judge import Tried, one_thread, probed, ran, tried, unread, verdicts
from tests.fixes.pairs import all_pairs
from tests.grid.cases import Case, defect_cases
from tests.grid.defects import DEFECTS

pytest.importorskip("torch", reason="what is fixed is run")

NAMES = tuple(f"{defect.code} {defect.phrase}" for defect in DEFECTS)
EACH = 2
WORN = [look for look in LOOKS if "block" not in look and look != "an indent of two"]


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    with one_thread():
        yield


@cache
def sample(name: str) -> tuple[Tried, ...]:
    """A few cases of the defect, far from each other."""
    cases = [case for case in defect_cases() if case.defect == name]
    return tuple(tried(case) for case in cases[:: len(cases) // EACH][:EACH])


def described(one: Tried, reasons: object) -> str:
    return f"{one.case.id}\n{reasons}\n{one.case.text}\nbecomes\n{one.result.text}"


@pytest.mark.parametrize("name", NAMES)
def test_a_defect_is_fixed_and_no_finding_is_left(name: str) -> None:
    wrong = [described(one, reasons) for one in sample(name) if (reasons := list(unread(one)))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_fixed_agrees_with_the_reference_on_every_probe(name: str) -> None:
    wrong = [described(one, failed) for one in sample(name) if (failed := probed(one))]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Verdict | None, Verdict | None]]:
    several = [sample(name)[0] for name in NAMES]
    with Verifier("cpu", workers=1) as verifier:
        return dict(zip(NAMES, verdicts(verifier, several), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_verifier_calls_it_a_match_and_did_not_before(name: str, answers) -> None:
    assert ran(sample(name)[0].case, *answers[name]) == "", described(sample(name)[0], answers[name])


def looked(look: str) -> list[Tried]:
    """A case of every second defect, for the next look of the others; a block's class uses no function outside it."""
    shift = list(LOOKS).index(look)
    several = [sample(name)[(shift + at) // 2 % EACH] for at, name in enumerate(NAMES) if (shift + at) % 2]
    return [one for one in several if "block" not in look or one.case.recipe.structure != "a module-level helper"]


@pytest.mark.parametrize("look", LOOKS)
def test_how_a_text_looks_changes_no_fix_and_no_fix_changes_the_look(look: str) -> None:
    change = LOOKS[look]
    for one in looked(look):
        assert fix_text(change(one.case.text)).text == change(one.result.text)


@pytest.mark.parametrize("name", NAMES)
def test_comments_stay_and_change_no_fix(name: str) -> None:
    for one in sample(name):
        text = commented(one.case.text)
        fixed = fix_text(text).text
        assert bare(fixed) == one.result.text
        gone = len(one.case.text.splitlines()) - len(one.result.text.splitlines())
        assert len(comments(text) - comments(fixed)) <= max(gone, 0), fixed


def test_a_norm_in_short_lines_is_fixed_to_the_same_program(tmp_path: Path) -> None:
    several = [sample(name)[0] for name in NAMES]
    for one, text in zip(several, narrow([one.case.text for one in several], tmp_path), strict=True):
        assert meaning(fix_text(text).text) == meaning(one.result.text), described(one, text)


UNREAD = "NRM402 the root of a root + NRM403 no square"  # the fourth root of a mean of |x| scales no rows alike
PAIRED = tuple(case for case in tuple(all_pairs(1))[::16] if case.defect != UNREAD)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", PAIRED, ids=[case.defect for case in PAIRED])
def test_two_defects_are_both_fixed(case: Case) -> None:
    one = tried(case)
    assert (list(unread(one)), probed(one)) == ([], []), described(one, "")


CASES = defect_cases()


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(CASES) - 1), st.lists(st.sampled_from(WORN), min_size=2, max_size=4, unique=True))
def test_several_looks_at_once_change_no_fix(number: int, looks: list[str]) -> None:
    text, plain = CASES[number].text, tried(CASES[number]).result.text
    for look in looks:
        text, plain = LOOKS[look](text), LOOKS[look](plain)
    assert fix_text(text).text == plain
