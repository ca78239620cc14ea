"""What is wrong with a case after its fixes: findings that are left, probes that fail, verdicts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from normlint.fixes import analyse
from normlint.norm.norm import Computation
from normlint.rules import Analysis
from normlint.text.read import units_of
from normlint.text.source import Source
from normlint.text.verdict import MATCH, PRECISION, Verdict
from normlint.verify.guard.run import Verifier
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare
from tests.fixes.fixing import Chooses, FixedText, by_default, fix_text
from tests.grid.cases import Case, extras
from tests.grid.recipe import Recipe

HALVES: Final = {"NRM206", "NRM305"}
FORMS: Final = {"add": ("added",), "clamp": ("floor of the mean square", "floor of the root", "floor of the norm")}


@dataclass(frozen=True, slots=True)
class Tried:
    """A case and what its fixes made of it."""

    case: Case
    result: FixedText

    @property
    def fixed(self) -> bool:
        """At least one fix was made, and no finding is left."""
        return bool(self.result.made) and not self.result.left

    @property
    def offered(self) -> bool:
        """A fix was made."""
        return bool(self.result.made)


def chosen(case: Case) -> Chooses:
    """The rules that are on by default, and the case's own."""
    return lambda code: by_default(code) or code in case.codes


def tried(case: Case) -> Tried:
    """Mend the case."""
    return Tried(case, fix_text(case.text, chosen(case)))


def unread(one: Tried) -> Iterator[str]:
    """What is wrong as far as reading tells."""
    if not one.result.settled:
        yield "does not settle"
    for left in one.result.left:
        yield f"{'not fixed' if left.code in one.case.codes else 'a new finding'}: {left.code}, {left.message}"
    yield from dict.fromkeys(made.claims for made in one.result.made if made.claims)
    if lost := lines_lost(one):
        yield f"lines changed that nobody edited: {lost}"


def lines_lost(one: Tried) -> list[str]:
    """Lines that are gone, though no edit touches them."""
    touched: set[str] = set()
    for made in one.result.made:
        for edit in made.fix.edits:
            start = made.before.rfind("\n", 0, edit.span.start) + 1
            end = made.before.find("\n", edit.span.end)
            touched.update(made.before[start : end if end >= 0 else None].split("\n"))
    after = one.result.text.split("\n")
    return [line for line in one.case.text.split("\n") if line not in after and line not in touched]


def probed(one: Tried) -> list[str]:
    """The probes that the fixed case fails, against the best of the references its eps allows."""
    from tests.grid.confirm import failures
    from tests.grid.reference import reference

    try:
        compile(one.result.text, "case", "exec")
    except SyntaxError as error:
        return [f"does not compile: {error}"]
    case = replace(one.case, text=one.result.text, recipe=_upcast(one.case))
    meant = reference(case.recipe)
    best: list[str] | None = None
    for eps, form in {(meant.eps, meant.form): None} | dict.fromkeys(_forms(one.result.analysis)):
        found = failures(case, meant=replace(meant, eps=eps, form=form))
        best = found if best is None or len(found) < len(best) else best
        if not best:
            break
    return best or []


def _upcast(case: Case) -> Recipe:
    """The recipe as far as halves go: with NRM206 fixed they are to come out right."""
    return replace(case.recipe, cast_at="a fresh name") if "NRM206" in case.codes else case.recipe


def _forms(analysis: Analysis) -> Iterator[tuple[float, str]]:
    """The eps that stand in the text, and the ways in which each may soundly act."""
    for computation in _computations(analysis):
        for eps in computation.eps:
            value = eps.value if eps.value is not None else eps.default
            if value and 0 < value < 1e-3:
                yield from ((value, form) for form in FORMS.get(eps.how, ()))


def _computations(analysis: Analysis) -> Iterator[Computation]:
    for norm in analysis.norms:
        if not norm.helper:
            yield from norm.computations


# --- the verifier ---


def job(text: str, analysis: Analysis | None = None) -> Job | None:
    """What the verifier would run of a text with one norm."""
    source = Source("case.py", text)
    found = analysis or analyse(text)
    norms = [norm for norm in found.norms if not norm.helper]
    return prepare(source, units_of(source)[0], norms[0]) if norms else None


def verdicts(verifier: Verifier, several: Sequence[Tried]) -> list[tuple[Verdict | None, Verdict | None]]:
    """Before and after."""
    jobs = [(job(one.case.text), job(one.result.text)) for one in several]
    flat = [one for pair in jobs for one in pair if one is not None]
    answers = dict(verifier.verdicts(flat))
    numbers = iter(range(len(flat)))
    return [tuple(answers[next(numbers)] if one else None for one in pair) for pair in jobs]  # type: ignore[misc]


def ran(case: Case, before: Verdict | None, after: Verdict | None) -> str:
    """What is wrong with the verdicts, or nothing; what a rule finds that is off by default may be called a match."""
    if after is None:
        return "no norm is left to verify"
    rounded = after.reason.startswith("1 + w is rounded to bf16")  # which no rule finds
    halves = after.status == PRECISION and (rounded or HALVES & set(extras(_upcast(case))))
    if after.status != MATCH and not halves:
        return f"verified: {after.status}: {after.reason}"
    if before is not None and before.status == MATCH and any(map(by_default, case.codes)):
        return "verified: a match before"
    return ""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Tiny tensors: threads only get in the way."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(False)
