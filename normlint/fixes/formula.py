"""Repairs of NRM403 and NRM405: squares, and gradients through the statistic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import single_targets
from normlint.fixes.powers import in_place_of
from normlint.fixes.spelling import called, expression, placed, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.text.finding import Fix, Span


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """The fix that averages the squares; if a root is missing then, the next round adds it."""
    return Trial(tree, norm, "NRM403", partly=True).first(_squares(c, tree.document))


def _squares(c: Computation, document: Document) -> Iterator[Change]:
    inner, start = document.at(c.statistic.inner_span), document.at(c.statistic.span)
    if inner is None or called(start) in ("norm", "vector_norm"):  # an L1 norm, by its p
        return
    plain = operand_of(document, inner) if called(inner) in ("abs", "absolute", "fabs", "abs_") else inner
    yield "Average the squares", {inner: placed(document, inner, expression("{x}.pow(2)", x=tight(plain)))}


_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """The fix that removes what detaches the statistic from the gradient."""
    return Trial(tree, norm, "NRM405", partly=True).first(_attached(c, tree.document))


def _attached(c: Computation, document: Document) -> Iterator[Change]:
    cuts = {node: _uncut(document, node) for node in _cuts(c, document)}
    guard: Changes = {}
    for stat in stats_of(c):
        if stat.no_grad:
            guard |= _unguarded(document, stat.span)
    if cuts:
        yield "Let the gradient through the statistic", {**cuts, **guard}
    if guard:
        yield "Take the statistic with its gradient", guard


def _cuts(c: Computation, document: Document) -> Iterator[cst.BaseExpression]:
    shared = {s.span for s in c.input_steps}
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.span not in shared]
    centres = (s for stat in stats_of(c)[1:] for s in stat.steps)
    spans = {s.span: None for s in (*inner, *c.own_steps(), *centres) if s.op in _CUTS}
    nodes = [document.at(span) for span in spans]
    return (node for node in nodes if node is not None and isinstance(node, cst.Attribute | cst.Call))


def _uncut(document: Document, node: cst.BaseExpression) -> Any:
    """`v.detach()`, `v.data`, `v.item()` and `torch.detach(v)` leave v."""

    def change(now: Any) -> cst.BaseExpression:
        value = now.args[0].value if getattr(now, "args", ()) else getattr(now, "func", now).value
        return in_place_of(document, node, value)

    return change


def _unguarded(document: Document, span: Span) -> Changes:
    """Without the `with torch.no_grad():` around the statistic, where its block does nothing but name values."""
    node = document.at(span)
    holders = (n for n in document.above(node) if isinstance(n, cst.With))
    guard = next((n for n in holders if any(map(_guards, n.items))), None)
    if guard is None or not isinstance(guard.body, cst.IndentedBlock) or not all(map(_names_values, guard.body.body)):
        return {}
    kept = [item for item in guard.items if not _guards(item)]
    last = [item.with_changes(comma=cst.MaybeSentinel.DEFAULT) for item in kept[-1:]]
    return {guard: guard.with_changes(items=[*kept[:-1], *last]) if kept else _dedented}


def _guards(item: cst.WithItem) -> bool:
    return called(item.item) in _GUARDS


def _names_values(line: cst.CSTNode) -> bool:
    """Does the line assign local names only?"""
    several = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    return bool(several) and all(isinstance(one, cst.Name) for stmt in several for one in single_targets(stmt))


def _dedented(holder: cst.With) -> cst.FlattenSentinel[Any]:
    """The statements of the block, with the comments that stood above it and on its first line."""
    first, *rest = holder.body.body
    comment = getattr(holder.body, "header", cst.TrailingWhitespace()).comment
    above = [*holder.leading_lines, *([cst.EmptyLine(comment=comment)] if comment else [])]
    lines = [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]  # type: ignore[union-attr]
    return cst.FlattenSentinel([*lines, *getattr(holder.body, "footer", ())])
