"""What is reduced, printed again: over the axis that it should be, which is kept, and of the values without views."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import ALL, Stat
from normlint.fixes.calls import Reduction, axis_of, operand_of
from normlint.fixes.count import to_last
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import carried, product_at
from normlint.fixes.spelling import called, number, operation, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix
from normlint.text.operations import CLASSES

_LAYOUTS: Final = frozenset(f"{CLASSES['layout']} expand_as item tolist rearrange repeat".split())
_CASTS: Final = frozenset(CLASSES["cast"].split())
_LAST: Final = -1


def over_last_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction over everything, over the last axis, unless the other one is over another axis."""
    call = Reduction.of(tree.document, tree.document.at(stat.span))
    elsewhere = any(other.axes not in (ALL, (_LAST,)) for other in stats_of(c))
    if call is None or elsewhere or not features_last(norm) or takes_axis(norm, call):
        return None
    return _written_again(norm, "NRM101", [t for t in stats_of(c) if t.axes == ALL], tree, _LAST)


def keep_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction that loses its axis keeps it."""
    axes = stat.axes
    if any(one.keepdim for one in _stats(norm) if one.span == stat.span):
        return None  # put back where one use needs it, so that the others need it there, too
    losing = [t for t in stats_of(c) if t.axes == axes and not t.keepdim]
    return _written_again(norm, "NRM102", losing, tree, axes[0] if isinstance(axes, tuple) and len(axes) == 1 else None)


def along_gain(norm: Norm, tree: Tree) -> Fix | None:
    """Reductions over other axes than the gain lies along: over the last one."""
    found = {stat.span: stat for stat in _stats(norm)}
    wrong = [stat for stat in found.values() if isinstance(stat.axes, tuple) and stat.axes != (-1,)]
    calls = [Reduction.of(tree.document, tree.document.at(stat.span)) for stat in wrong]
    plain = all(call is not None and axis_of(call.value("dim")) for call in calls)
    return _written_again(norm, "NRM103", wrong, tree, _LAST) if plain else None


def last_by_name(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """F.normalize over its default axis: over the last one."""
    return _written_again(norm, "NRM106", [stat], tree, _LAST)


def other_axis(norm: Norm, c: Computation, off: Stat, tree: Tree) -> Fix | None:
    """A mean and a variance over different axes: the one that is off is taken over the axis of the other."""
    right = next((stat.axes for stat in stats_of(c) if stat is not off), None)
    if c.placing.along_gain is None or not isinstance(right, tuple) or len(right) != 1:
        return None
    return _written_again(norm, "NRM103", [off], tree, right[0])


# --- what a repair asks ----------------------------------------------------------------------------------------------


def takes_axis(norm: Norm, call: Reduction) -> bool:
    """No gain says where the features lie, and the axis may be what a parameter was meant for."""
    if norm.main.gains:
        return False
    document, function = call.document, call.document.around(call.node, cst.FunctionDef)
    cls = document.around(call.node, cst.ClassDef)
    made = [f for f in document.below(cls, cst.FunctionDef) if f.name.value == "__init__"][:1] if cls else []
    params = [p for f in (function, *made) if f is not None for p in document.below(f.params, cst.Param)]
    axes = [number(p.default) for p in params]
    return any(axis and abs(axis) < 5 and axis.denominator == 1 for axis in axes)


def features_last(norm: Norm) -> bool:
    """Is there no sign that the features are on another axis than the last?"""
    gains = [g.param for c in norm.computations for g in c.gains]
    return all(p.axis == "last" and (p.shape is None or len(p.shape) <= 1) for p in gains)


def _stats(norm: Norm) -> Iterator[Stat]:
    """The statistics and centres of a norm, with the centres inside the statistics."""
    return (stat for c in norm.computations for stat in stats_of(c))


def _lengths(norm: Norm, stat: Stat, document: Document) -> Changes:
    """Counts of what was reduced so far, made those of the last axis."""
    counts = (n for c in norm.computations if c.statistic.span == stat.span for n in c.counts)
    sizes = (span for n in counts if n.of_features and n.text.startswith("size ") for span in n.operands)
    return {node: new for span in sizes for node, new in (to_last(document, document.at(span)) or {}).items()}


# --- written again ---------------------------------------------------------------------------------------------------


def _written_again(norm: Norm, code: str, stats: list[Stat], tree: Tree, axis: int | None) -> Fix | None:
    """By the first way that leaves the norm clean; where no view stands around it the first, whatever it shows."""
    document = tree.document
    several = list(_candidates(norm, code, stats, document, axis))
    fix = Trial(tree, norm, code, partly=True).first(several)
    plain = all(_unviewed(document, node) is node for node in (document.at(stat.span) for stat in stats))
    return fix if fix is not None or not several or not plain else document.fix(*several[0], Applicability.SAFE)


def _candidates(norm: Norm, code: str, stats: list[Stat], document: Document, axis: int | None) -> Iterator[Change]:
    """The calls over the axis, of the values as they are given, or without views; NRM102 has its axis already."""
    known = [call for stat in stats if (call := Reduction.of(document, document.at(stat.span))) and call.input]
    lengths = [_lengths(norm, stat, document) for stat in stats] if code != "NRM102" else []
    widest = [_unviewed(document, call.node) for call in known]
    if len(known) < len(stats) or any(_used_elsewhere(document, node) for node in widest):
        return
    views = [view for view, call in zip(widest, known, strict=True) if view is not call.node]
    if any(stat.axes == ALL for stat in stats) and any(called(v).startswith(("view", "reshape")) for v in views):
        return  # one number, made to fit on purpose
    counts: Changes = {node: new for made in lengths for node, new in made.items()}
    which = "the last axis" if axis == _LAST else f"axis {axis}"
    message = "Keep the reduced axis: `keepdim=True`" if code == "NRM102" else f"Reduce over {which}, and keep it"
    for plain, over in ((False, axis if code != "NRM102" else None), (True, axis)):
        changes = {node: new for call in known for node, new in _reduced(call, over, plain=plain).items()}
        yield message, {**changes, **counts, **dict.fromkeys(views, partial(_viewed, document))}


def _used_elsewhere(document: Document, node: cst.BaseExpression) -> bool:
    """Is the value laid out otherwise before it meets a tensor, or given back beside others?"""

    def meets(one: cst.BaseExpression) -> bool:
        product = product_at(document, one)
        joins = product is not None and number(product.other) is None
        return joins or operation(document.parent(one)) == "sub"

    way = [one for one in carried(document, node, meets) if one is not node]
    laid_out = any(called(one) in _LAYOUTS or isinstance(one, cst.Subscript) for one in way)
    return laid_out or any(isinstance(document.parent(one), cst.Tuple) for one in (node, *way))


def _viewed(document: Document, view: Any) -> Any:
    """The tensor that a view is taken of."""
    while called(view) in _LAYOUTS or isinstance(view, cst.Subscript):
        view = operand_of(document, view) if isinstance(view, cst.Call) else view.value
    return view


def _unviewed(document: Document, node: cst.BaseExpression) -> cst.BaseExpression:
    """The widest expression that only puts the axes of the node elsewhere: `node.squeeze(-1)`, `node[..., None]`."""
    holder = document.parent(node)
    if isinstance(holder, cst.Attribute):
        holder = document.parent(holder)
    views = called(holder) in _LAYOUTS or (isinstance(holder, cst.Subscript) and holder.value is node)
    return _unviewed(document, holder) if views else node


def _reduced(call: Reduction, axis: int | None, *, plain: bool) -> Changes:
    """The call over the axis, which is kept; `plain`: of the values as they are before any view."""
    x, made = call.input, call.over(cst.parse_expression(str(axis)) if axis is not None else None, keep=True)
    bare = _seen_plainly(call.document, x) if plain and x is not None else x
    return {**made, **({} if bare is x else {x: tight(bare) if call.method else bare})}  # type: ignore[arg-type]


def _seen_plainly(document: Document, value: cst.BaseExpression) -> cst.BaseExpression:
    """The value without the views that are taken of it; a cast behind one stays."""
    if not isinstance(value, cst.Call) or called(value) not in _LAYOUTS | _CASTS:
        return value
    inner = operand_of(document, value)
    seen = _seen_plainly(document, inner) if inner is not None else value
    if called(value) in _LAYOUTS:
        return seen
    by_method = isinstance(value.func, cst.Attribute) and value.func.value is inner is not seen
    return value.with_deep_changes(value.func, value=tight(seen)) if by_method else value
