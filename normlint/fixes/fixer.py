"""From the repairs that rules offer to the fix of a finding: one that every norm at the place agrees with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from normlint.fixes.callers import beside, beside_norm
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of, with_twins
from normlint.fixes.work import LimitReached, took
from normlint.norm.norm import Norm
from normlint.rules.registry import Part, Repair
from normlint.text.edit import overlap
from normlint.text.finding import Applicability, Finding, Fix, Span

if TYPE_CHECKING:
    from normlint.evaluate.module import Uses


class Fixer:
    """One unit's text, parsed when the first repair asks for it."""

    def __init__(
        self, text: str, norms: tuple[Norm, ...], judged: tuple[Norm, ...], *, snippet: bool = False, uses: Uses = ()
    ) -> None:
        self._text = text
        self._snippet = snippet
        self._uses = uses
        self._norms = norms
        self._judged = judged

    @cached_property
    def _tree(self) -> Tree | None:
        try:
            return Tree(self._text, snippet=self._snippet, uses=self._uses)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def fix(self, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        """The fix of a finding; only shown where a norm that runs through the same statistic has no such finding."""
        try:
            took(0)
            return None if self._tree is None else self._fix(self._tree, finding, repairs)
        except LimitReached:
            return None

    def _fix(self, tree: Tree, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        tree.owners = frozenset(self._norms[number].qualname for number in finding.norms)
        fix = self._made(tree, finding, repairs)
        if fix is None or not fix.edits or not self._helps(tree, finding, fix):
            return None
        other = self._disagrees(finding) or beside(tree, fix.edits, tree.owners, self._whole)
        if not other:
            other = beside_norm(tree, fix.edits, [self._norms[number] for number in finding.norms])
        return (
            replace(fix, message=f"{fix.message} (`{other}` would change, too)", applicability=Applicability.DISPLAY)
            if other
            else fix
        )

    def _made(self, tree: Tree, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        """The one fix that all repairs are agreed on, also where the same lines stand again."""
        fixes = {repair(tree) if repair else None for repair in dict.fromkeys(repairs)}
        if all(isinstance(repair, Part) for repair in repairs):
            fixes = {combined(sorted(fixes, key=repr))}
        fix = fixes.pop()
        if fixes or fix is None or not fix.edits:
            return None
        places = {s.span for number in finding.norms for c in self._norms[number].computations for s in stats_of(c)}
        return replace(fix, edits=with_twins(tree, fix.edits, places))

    def _helps(self, tree: Tree, finding: Finding, fix: Fix) -> bool:
        """Read again, no norm with the finding has it as often as before, and no other norm has more findings."""
        norms = [self._norms[number] for number in finding.norms]
        return all(Trial(tree, norm, finding.code).helps(fix.edits, finding) for norm in norms)

    def _disagrees(self, finding: Finding) -> str:
        """The name of a norm that uses the same statistic without having this finding; "" if there is none."""
        reporting = [self._norms[number] for number in finding.norms]
        places = {c.statistic.span for norm in reporting for c in norm.computations}
        keys = {(norm.qualname, norm.span) for norm in reporting}
        owners = {norm.qualname: norm.owner.span for norm in reporting}  # read from a call, it is of another owner
        others = (norm for place in places for norm in self._through.get(place, ()))
        apart = (n for n in others if owners.get(n.qualname, n.owner.span) == n.owner.span)
        return next((n.qualname for n in apart if (n.qualname, n.span) not in keys), "")

    @cached_property
    def _whole(self) -> frozenset[str]:
        """What is a norm by itself, by name."""
        return frozenset(n.qualname for n in self._norms if n.main.returned and not n.main.partial)

    @cached_property
    def _through(self) -> dict[Span, list[Norm]]:
        """The norms that rules apply to, by the places of their statistics."""
        found: dict[Span, list[Norm]] = {}
        for norm in self._judged:
            for c in norm.computations:
                found.setdefault(c.statistic.span, []).append(norm)
        return found


def combined(fixes: Sequence[Fix | None]) -> Fix | None:
    """One fix of all parts; None where one is missing, they differ in what they promise, or they overlap."""
    parts = [fix for fix in fixes if fix is not None]
    if len(parts) != len(fixes) or len({fix.applicability for fix in parts}) != 1:
        return None
    edits = tuple(dict.fromkeys(edit for fix in parts for edit in fix.edits))
    if any(overlap([one], [two]) for one, two in combinations(edits, 2)):
        return None
    return Fix(parts[0].message, edits, parts[0].applicability)
