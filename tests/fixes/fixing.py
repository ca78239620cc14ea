"""A text fixed as `--fix --unsafe-fixes` goes, and no more than that: rounds of fixes that don't overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from normlint.fixes import analyse
from normlint.rules import Analysis
from normlint.rules.registry import RULES
from normlint.text.edit import apply, checked, entangled, overlap
from normlint.text.finding import Applicability, Edit, Finding, Fix

ROUNDS: Final = 10
Chooses = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Made:
    """A fix that was made, in the text of its round."""

    code: str
    fix: Fix
    before: str

    @property
    def claims(self) -> str:
        """What the fix says of itself that its rule doesn't: nothing, where all is well."""
        best = RULES[self.code].fix
        order = [Applicability.DISPLAY, Applicability.UNSAFE, Applicability.SAFE]
        if best is None or order.index(self.fix.applicability) > order.index(best):
            return f"{self.code} has a fix that is {self.fix.applicability.value}, which its rule doesn't promise"
        return ""


@dataclass(frozen=True, slots=True)
class FixedText:
    """What came of it. `left`: the chosen findings that remain. `settled`: another round would change nothing."""

    text: str
    made: tuple[Made, ...]
    left: tuple[Finding, ...]
    analysis: Analysis
    settled: bool


def by_default(code: str) -> bool:
    """Is the rule on by default?"""
    return RULES[code].default


def only(*codes: str) -> Chooses:
    """Just these rules."""
    return lambda code: code in codes


def fix_text(text: str, chooses: Chooses = by_default, *, snippet: bool = False) -> FixedText:
    """The text after all rounds."""
    made: list[Made] = []
    for _ in range(ROUNDS):
        analysis = analyse(text, snippet=snippet)
        left = tuple(one for one in analysis.findings if chooses(one.code))
        now = _compatible(text, left)
        if not now:
            return FixedText(text, tuple(made), left, analysis, settled=True)
        made += [Made(one.code, one.fix, text) for one in now if one.fix]
        text = apply(text, dict.fromkeys(edit for one in now if one.fix for edit in one.fix.edits))
    return FixedText(text, tuple(made), (), analyse(text, snippet=snippet), settled=False)


def _compatible(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """Those whose fixes can be made together, first come first served."""
    taken: list[Edit] = []
    found = []
    for one in findings:
        if one.fix is None or one.fix.applicability is Applicability.DISPLAY or overlap(one.fix.edits, taken):
            continue
        if any(set(one.norms) & set(o.norms) and entangled(text, one.fix.edits, o.fix.edits) for o in found if o.fix):
            continue
        if not _whole(one.fix):
            continue
        taken += one.fix.edits
        found.append(one)
    return found


def _whole(fix: Fix) -> bool:
    """A fix whose own edits overlap can't be made; its finding is left."""
    try:
        return bool(checked(fix.edits))
    except ValueError:
        return False
