"""Repairs of NRM405: the gradient flows through the statistic again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.formula import Change, tried
from normlint.fixes.powers import in_place_of
from normlint.fixes.spelling import called
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.text.finding import Fix, Span

_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode", "set_grad_enabled")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Take away what keeps the gradient from the statistic."""
    return tried(Trial(tree, norm, "NRM405", partly=True), _candidates(c, tree.document))


def _candidates(c: Computation, document: Document) -> Iterator[Change]:
    cuts = {node: _uncut(document, node) for node in _cuts(c, document)}
    guard: Changes = {}
    for stat in (c.statistic, c.centre):
        if stat is not None and stat.no_grad:
            guard |= _unguarded(document, stat.span)
    if cuts:
        yield "Let the gradient through the statistic", {**cuts, **guard}
    if guard:
        yield "Take the statistic with its gradient", guard


def _cuts(c: Computation, document: Document) -> Iterator[cst.BaseExpression]:
    shared = {s.span for s in c.input_steps}
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.span not in shared]
    centre = c.centre.steps if c.centre is not None else ()
    spans = {s.span: None for s in (*inner, *c.own_steps(), *centre) if s.op in _CUTS}
    nodes = [document.at(span) for span in spans]
    return (node for node in nodes if node is not None and isinstance(node, cst.Attribute | cst.Call))


def _uncut(document: Document, node: cst.BaseExpression) -> Any:
    """`v.detach()`, `v.data`, `v.item()` and `torch.detach(v)` leave v."""

    def change(now: Any) -> cst.BaseExpression:
        value = now.args[0].value if getattr(now, "args", ()) else getattr(now, "func", now).value
        return in_place_of(document, node, value)

    return change


# --- blocks and decorators -------------------------------------------------------------------------------------------


def _unguarded(document: Document, span: Span) -> Changes:
    """Without the `with torch.no_grad():` around the statistic, or the decorator of its function."""
    node = document.at(span)
    for holder in document.above(node) if node is not None else ():
        if isinstance(holder, cst.With) and any(_guards(i.item) for i in holder.items):
            return _without_with(holder)
        if isinstance(holder, cst.FunctionDef):
            guards = [d for d in holder.decorators if _guards(d.decorator)]
            return dict.fromkeys(guards) if not _writes(document, holder) else {}
    return {}


def _guards(node: cst.BaseExpression) -> bool:
    name = called(node) or (node.attr.value if isinstance(node, cst.Attribute) else "")
    if name != "set_grad_enabled" or not isinstance(node, cst.Call):
        return name in _GUARDS
    return bool(node.args) and isinstance(node.args[0].value, cst.Name) and node.args[0].value.value == "False"


def _writes(document: Document, function: cst.FunctionDef) -> bool:
    """Something is written that outlives the call: an attribute, an item, a buffer in place."""
    targets = [t.target for t in document.below(function, cst.AssignTarget)]
    targets += [s.target for s in document.below(function, cst.AugAssign)]
    in_place = (called(s.value).endswith("_") for s in document.below(function, cst.Expr))
    return any(isinstance(t, cst.Attribute | cst.Subscript) for t in targets) or any(in_place)


def _without_with(holder: cst.With) -> Changes:
    body = holder.body.body
    lines = [s.body if isinstance(s, cst.SimpleStatementLine) else [s] for s in body]
    if not all(_only_computes(stmt) for line in lines for stmt in line):
        return {}
    kept = [i for i in holder.items if not _guards(i.item)]
    if kept:
        return {holder: holder.with_changes(items=[*kept[:-1], kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])}
    if isinstance(holder.body, cst.SimpleStatementSuite):
        suite = holder.body
        line = cst.SimpleStatementLine(suite.body, holder.leading_lines, suite.trailing_whitespace)
        return {holder: line}
    return {holder: _dedented}


def _dedented(holder: cst.With) -> cst.FlattenSentinel[Any]:
    """The statements of the block, with the comments that stood above it and on its first line."""
    first, *rest = holder.body.body
    comment = getattr(holder.body, "header", cst.TrailingWhitespace()).comment
    above = [*holder.leading_lines, *([cst.EmptyLine(comment=comment)] if comment else [])]
    lines = [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]  # type: ignore[union-attr]
    return cst.FlattenSentinel([*lines, *getattr(holder.body, "footer", ())])


def _only_computes(stmt: cst.CSTNode) -> bool:
    """It gives names to values: nothing is written that outlives the call."""
    targets = [t.target for t in stmt.targets] if isinstance(stmt, cst.Assign) else [getattr(stmt, "target", None)]
    flat = [e for t in targets for e in ([x.value for x in t.elements] if isinstance(t, cst.Tuple) else [t])]
    return all(isinstance(e, cst.Name) for e in flat)
