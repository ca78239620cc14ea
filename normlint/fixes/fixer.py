"""Turn the repairs that rules offer into the fix of a finding, if every norm at the place agrees with it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from normlint.fixes.callers import beside, beside_norm
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of, with_twins
from normlint.norm.kept import LimitReached, took
from normlint.norm.norm import Norm
from normlint.rules.registry import Part, Repair
from normlint.text.edit import overlap
from normlint.text.finding import Applicability, Finding, Fix

if TYPE_CHECKING:
    from normlint.evaluate.module import Uses


@dataclass
class Fixer:
    """The fixes of one unit, whose text is parsed when the first repair needs it."""

    text: str
    norms: tuple[Norm, ...]
    judged: tuple[Norm, ...]
    snippet: bool = False
    uses: Uses = ()

    @cached_property
    def _tree(self) -> Tree | None:
        try:
            return Tree(self.text, snippet=self.snippet, uses=self.uses)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def fix(self, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        """Return the fix of a finding; only displayed if it would change more than the norms with this finding."""
        try:
            took(0)
            return None if self._tree is None else self._fix(self._tree, finding, repairs)
        except LimitReached:
            return None

    def _fix(self, tree: Tree, finding: Finding, repairs: Sequence[Repair | None]) -> Fix | None:
        norms = [self.norms[number] for number in finding.norms]
        tree.owners = frozenset(norm.qualname for norm in norms)
        fix = self._agreed(tree, norms, repairs)
        # read again, no norm has the finding as often as before, and no other norm has new findings
        if fix is None or not all(Trial(tree, norm, finding.code).helps(fix.edits, finding) for norm in norms):
            return None
        by_themselves = frozenset(n.qualname for n in self.norms if n.main.returned and not n.main.partial)
        other = self._sharing_norm(norms) or beside(tree, fix.edits, tree.owners, by_themselves)
        other = other or beside_norm(tree, fix.edits, norms)
        message = f"{fix.message} (`{other}` would change, too)"
        if not other and not finding.code.startswith("NRM2") and _is_of_forward_alone(tree, fix):
            message = f"{fix.message} (`backward` must change with it)"
        elif not other:
            return fix
        return replace(fix, message=message, applicability=Applicability.DISPLAY)

    def _agreed(self, tree: Tree, norms: Sequence[Norm], repairs: Sequence[Repair | None]) -> Fix | None:
        """Return the fix that all repairs agree on, repeated where the statistic's text occurs again."""
        fixes = {repair(tree) if repair else None for repair in dict.fromkeys(repairs)}
        if all(isinstance(repair, Part) for repair in repairs):
            fixes = {combined(sorted(fixes, key=repr))}
        fix = fixes.pop()
        if fixes or fix is None or not fix.edits:
            return None
        places = {stat.span for norm in norms for c in norm.computations for stat in stats_of(c)}
        return replace(fix, edits=with_twins(tree, fix.edits, places))

    def _sharing_norm(self, norms: Sequence[Norm]) -> str:
        """Return the name of a norm that uses the same statistic without having this finding, or nothing."""
        places = {c.statistic.span for norm in norms for c in norm.computations}
        keys = {(norm.qualname, norm.span) for norm in norms}
        owners = {norm.qualname: norm.owner.span for norm in norms}  # a norm read from a call has another owner
        others = (n for n in self.judged if any(c.statistic.span in places for c in n.computations))
        apart = (n for n in others if owners.get(n.qualname, n.owner.span) == n.owner.span)
        return next((n.qualname for n in apart if (n.qualname, n.span) not in keys), "")


def _is_of_forward_alone(tree: Tree, fix: Fix) -> bool:
    """Return whether a fix changes a class's forward alone, whose backward is written by hand for the old formula."""
    changed = {tree.around(edit.span, ast.FunctionDef) for edit in fix.edits}
    forward = [node for node in changed if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    beside = (one for node in forward for one in getattr(tree.holder(node, ast.ClassDef), "body", ()))
    # one that goes back through a loss is none of this
    return any(getattr(one, "name", "") == "backward" and ".backward(" not in ast.unparse(one) for one in beside)


def combined(fixes: Sequence[Fix | None]) -> Fix | None:
    """Combine all parts into one fix; None if one is missing, they overlap, or their applicability differs."""
    parts = [fix for fix in fixes if fix is not None]
    edits = tuple(dict.fromkeys(edit for fix in parts for edit in fix.edits))
    apart = not any(overlap([one], [two]) for one, two in combinations(edits, 2))
    if not apart or len(parts) != len(fixes) or len({fix.applicability for fix in parts}) != 1:
        return None
    return Fix(parts[0].message, edits, parts[0].applicability)
