"""Repairs of NRM405: the gradient flows through the statistic again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.repair.formula_flow import called
from normlint.rules.repair.formula_powers import Edits
from normlint.rules.repair.formula_text import instead
from normlint.rules.repair.tree import Function, Tree
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode", "set_grad_enabled")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Take away what keeps the gradient from the statistic."""
    return Trial(tree, norm, "NRM405", partly=True).first(_candidates(c, tree), Applicability.SAFE)


def _candidates(c: Computation, tree: Tree) -> Iterator[Candidate]:
    cuts = tuple(edit for node in _cuts(c, tree) for edit in _uncut(tree, node))
    guarded = (stat.span for stat in (c.statistic, c.centre) if stat is not None and stat.no_grad)
    guard = tuple(dict.fromkeys(edit for span in guarded for edit in _unguarded(tree, span)))
    if cuts:
        yield "Let the gradient through the statistic", (*cuts, *guard)
    if guard:
        yield "Take the statistic with its gradient", guard


def _cuts(c: Computation, tree: Tree) -> Iterator[ast.expr]:
    shared = {s.span for s in c.input_steps}
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.span not in shared]
    centre = c.centre.steps if c.centre is not None else ()
    spans = {s.span: None for s in (*inner, *c.own_steps(), *centre) if s.op in _CUTS}
    nodes = [tree.at(span, ast.expr) for span in spans]
    return (node for node in nodes if node is not None)


def _uncut(tree: Tree, node: ast.expr) -> Edits:
    """`v.detach()`, `v.data`, `v.item()` and `torch.detach(v)` leave v."""
    if isinstance(node, ast.Attribute):
        return _cut_out(tree, node, node.value)
    if isinstance(node, ast.Call) and node.args:
        return instead(tree, node, node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _cut_out(tree, node, node.func.value)
    return ()


def _cut_out(tree: Tree, node: ast.expr, receiver: ast.expr) -> Edits:
    return tuple(e for e in instead(tree, node, receiver) if e.text or e.span.start < e.span.end)


# --- blocks and decorators -------------------------------------------------------------------------------------------


def _unguarded(tree: Tree, span: Span) -> Iterator[Edit]:
    """Without the `with torch.no_grad():` around the statistic, or the decorator of its function."""
    for holder in tree.above(tree.at(span) or tree.root):
        if isinstance(holder, ast.With) and any(_guards(i.context_expr) for i in holder.items):
            yield from _without_with(tree, holder)
            return
        if isinstance(holder, Function):
            yield from _without_decorator(tree, holder)
            return


def _guards(node: ast.expr) -> bool:
    name = called(node) or (node.attr if isinstance(node, ast.Attribute) else "")
    if name != "set_grad_enabled" or not isinstance(node, ast.Call):
        return name in _GUARDS
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value is False


def _without_decorator(tree: Tree, function: Function) -> Iterator[Edit]:
    for decorator in function.decorator_list if not _writes(function) else ():
        if _guards(decorator):
            start, end = tree.span(decorator)
            start = tree.text.rfind("\n", 0, start) + 1
            end = tree.text.find("\n", end) + 1
            yield Edit(Span(start, end), "")


def _writes(function: Function) -> bool:
    """Something is written that outlives the call: an attribute, an item, a buffer in place."""
    nodes = list(walk(function))
    stored = any(isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store) for n in nodes)
    return stored or any(isinstance(n, ast.Expr) and called(n.value).endswith("_") for n in nodes)


def _without_with(tree: Tree, holder: ast.With) -> Iterator[Edit]:
    if not all(_only_computes(stmt) for stmt in holder.body):
        return
    if len(holder.items) > 1:
        yield from _without_item(tree, holder)
        return
    start, first = tree.span(holder).start, holder.body[0]
    if first.lineno == holder.lineno:
        if len(holder.body) == 1:
            yield Edit(Span(start, tree.span(first).start), "")
    else:
        yield from _dedented(tree, holder)


def _only_computes(stmt: ast.stmt) -> bool:
    """It gives names to values: nothing is written that outlives the call, and no text spans lines."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
    strings = [n for n in walk(stmt) if isinstance(n, ast.JoinedStr | ast.Constant)]
    return all(isinstance(e, ast.Name) for e in flat) and all(n.lineno == n.end_lineno for n in strings)


def _without_item(tree: Tree, holder: ast.With) -> Iterator[Edit]:
    """One of several context managers goes, with its comma."""
    spans = [tree.span(i.optional_vars or i.context_expr) for i in holder.items]
    at = next(n for n, i in enumerate(holder.items) if _guards(i.context_expr))
    if at + 1 < len(spans):
        yield Edit(Span(tree.span(holder.items[at].context_expr).start, _start(tree, holder, at + 1)), "")
    else:
        yield Edit(Span(spans[at - 1].end, spans[at].end), "")


def _start(tree: Tree, holder: ast.With, at: int) -> int:
    return tree.span(holder.items[at].context_expr).start


def _dedented(tree: Tree, holder: ast.With) -> Iterator[Edit]:
    """The header's lines deleted, and the block moved to its place."""
    outer, inner = tree.indent(holder), tree.indent(holder.body[0])
    if not inner.startswith(outer) or len(inner) == len(outer):
        return
    header = tree.text.rfind("\n", 0, tree.span(holder).start) + 1
    at = tree.text.find("\n", _header_end(tree, holder)) + 1
    yield Edit(Span(header, at), "")
    end = tree.span(holder.body[-1]).end
    while at < end:
        if tree.text.startswith(inner, at):
            yield Edit(Span(at + len(outer), at + len(inner)), "")
        at = tree.text.find("\n", at) + 1 or len(tree.text)


def _header_end(tree: Tree, holder: ast.With) -> int:
    return max(tree.span(i.optional_vars or i.context_expr).end for i in holder.items)
