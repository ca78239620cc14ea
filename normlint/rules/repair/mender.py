"""From the repairs that rules offer to the fix of a finding: one that every norm at the place agrees with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from normlint.norm.norm import Norm
from normlint.rules.registry import Repair
from normlint.rules.repair.together import Part, together
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.work import NOW, Spent, Work
from normlint.text.finding import Applicability, Finding, Fix, Span


class Mender:
    """One unit's text, parsed when the first repair asks for it."""

    def __init__(self, text: str, norms: tuple[Norm, ...], judged: tuple[Norm, ...], *, snippet: bool = False) -> None:
        self._text = text
        self._snippet = snippet
        self._norms = norms
        self._judged = judged
        self._work = Work()

    @cached_property
    def _tree(self) -> Tree | None:
        try:
            return Tree(self._text, snippet=self._snippet)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def fix(self, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        """The fix of a finding; only shown where a norm that runs through the same statistic has no such finding."""
        if self._tree is None:
            return None
        before = NOW.set(self._work)
        try:
            fixes = {repair(self._tree) if repair else None for repair in repairs}
        except Spent:
            return None
        finally:
            NOW.reset(before)
        if all(isinstance(repair, Part) for repair in repairs):
            fixes = {together(sorted(fixes, key=repr))}
        fix = fixes.pop()
        if fixes or fix is None or not fix.edits:
            return None
        return fix if self._agreed(finding) else replace(fix, applicability=Applicability.DISPLAY)

    def _agreed(self, finding: Finding) -> bool:
        reporting = [self._norms[number] for number in finding.norms]
        places = {c.statistic.span for norm in reporting for c in norm.computations}
        keys = {(norm.qualname, norm.span) for norm in reporting}
        return all(self._through.get(place, keys) <= keys for place in places)

    @cached_property
    def _through(self) -> dict[Span, set[tuple[str, Span]]]:
        """The norms that are judged, by the places of their statistics."""
        found: dict[Span, set[tuple[str, Span]]] = {}
        for norm in self._judged:
            for c in norm.computations:
                found.setdefault(c.statistic.span, set()).add((norm.qualname, norm.span))
        return found
