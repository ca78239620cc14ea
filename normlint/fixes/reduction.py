"""Build the fixes of NRM101, NRM102, NRM103 and NRM106: rewrite a reduction over the right axis, and keep that axis."""

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
    """Reduce over the last axis instead of everything, unless another statistic is over another axis."""
    call = Reduction.of(tree.document, tree.document.at(stat.span))
    elsewhere = any(other.axes not in (ALL, (_LAST,)) for other in stats_of(c))
    if call is None or elsewhere or not features_last(norm) or takes_axis(norm, call):
        return None
    return _rewritten(norm, "NRM101", [t for t in stats_of(c) if t.axes == ALL], tree, _LAST)


def keep_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """Keep the reduced axis."""
    axes = stat.axes
    if any(one.keepdim for one in _all_stats(norm) if one.span == stat.span):
        return None  # one use restores the axis itself
    losing = [t for t in stats_of(c) if t.axes == axes and not t.keepdim]
    return _rewritten(norm, "NRM102", losing, tree, axes[0] if isinstance(axes, tuple) and len(axes) == 1 else None)


def along_gain(norm: Norm, tree: Tree) -> Fix | None:
    """Reduce over the last axis, along which the gain lies, instead of other axes."""
    found = {stat.span: stat for stat in _all_stats(norm)}
    wrong = [stat for stat in found.values() if isinstance(stat.axes, tuple) and stat.axes != (-1,)]
    calls = [Reduction.of(tree.document, tree.document.at(stat.span)) for stat in wrong]
    plain = all(call is not None and axis_of(call.value("dim")) for call in calls)
    return _rewritten(norm, "NRM103", wrong, tree, _LAST) if plain else None


def last_by_name(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """Give F.normalize the last axis instead of its default."""
    return _rewritten(norm, "NRM106", [stat], tree, _LAST)


def other_axis(norm: Norm, c: Computation, off: Stat, tree: Tree) -> Fix | None:
    """Make the mean and the variance use the same axis: that of the one that isn't `off`."""
    right = next((stat.axes for stat in stats_of(c) if stat is not off), None)
    if c.placing.along_gain is None or not isinstance(right, tuple) or len(right) != 1:
        return None
    return _rewritten(norm, "NRM103", [off], tree, right[0])


def takes_axis(norm: Norm, call: Reduction) -> bool:
    """Return whether a parameter may have been meant as the axis, and no gain says where the features lie."""
    if norm.main.gains:
        return False
    document, function = call.document, call.document.around(call.node, cst.FunctionDef)
    cls = document.around(call.node, cst.ClassDef)
    made = [f for f in document.below(cls, cst.FunctionDef) if f.name.value == "__init__"][:1] if cls else []
    params = [p for f in (function, *made) if f is not None for p in document.below(f.params, cst.Param)]
    return any(a and abs(a) < 5 and a.denominator == 1 for a in (number(p.default) for p in params))


def features_last(norm: Norm) -> bool:
    """Return whether nothing shows that the features are on another axis than the last."""
    gains = [g.param for c in norm.computations for g in c.gains]
    return all(p.axis == "last" and (p.shape is None or len(p.shape) <= 1) for p in gains)


def _all_stats(norm: Norm) -> Iterator[Stat]:
    return (stat for c in norm.computations for stat in stats_of(c))


def _lengths(norm: Norm, stat: Stat, document: Document) -> Changes:
    """Turn counts of the elements reduced so far into counts of the last axis."""
    counts = (n for c in norm.computations if c.statistic.span == stat.span for n in c.counts)
    sizes = (span for n in counts if n.of_features and n.text.startswith("size ") for span in n.operands)
    return {node: new for span in sizes for node, new in (to_last(document, document.at(span)) or {}).items()}


def _rewritten(norm: Norm, code: str, stats: list[Stat], tree: Tree, axis: int | None) -> Fix | None:
    """Return the first way that leaves the norm clean; without views around the statistic, the first in any case."""
    document = tree.document
    several = list(_candidates(norm, code, stats, document, axis))
    trial = Trial(tree, norm, code, partly=True)
    fix = trial.first(several)
    plain = all(_with_views(document, node) is node for node in (document.at(stat.span) for stat in stats))
    if fix is None and several and plain:
        fix = document.fix(*several[0], Applicability.SAFE)
    fixed = trial.fixed(fix.edits) if fix is not None and code == "NRM103" else None
    sums = [c for c in fixed.computations if c.statistic.reduce == "sum"] if fixed is not None else []
    return None if any(c.feature_power is None for c in sums) else fix  # its divisor may count other axes


def _candidates(norm: Norm, code: str, stats: list[Stat], document: Document, axis: int | None) -> Iterator[Change]:
    """Yield the calls over the axis, once of the values as given, once without views; NRM102 keeps its own axis."""
    known = [call for stat in stats if (call := Reduction.of(document, document.at(stat.span))) and call.input]
    lengths = [_lengths(norm, stat, document) for stat in stats] if code != "NRM102" else []
    widest = [_with_views(document, call.node) for call in known]
    if len(known) < len(stats) or any(_used_elsewhere(document, node) for node in widest):
        return
    views = [view for view, call in zip(widest, known, strict=True) if view is not call.node]
    if any(stat.axes == ALL for stat in stats) and any(called(v).startswith(("view", "reshape")) for v in views):
        return  # a single number is reshaped on purpose
    counts: Changes = {node: new for made in lengths for node, new in made.items()}
    which = "the last axis" if axis == _LAST else f"axis {axis}"
    message = "Keep the reduced axis: `keepdim=True`" if code == "NRM102" else f"Reduce over {which}, and keep it"
    for plain, over in ((False, axis if code != "NRM102" else None), (True, axis)):
        changes = {node: new for call in known for node, new in _reduced(call, over, plain=plain).items()}
        yield message, {**changes, **counts, **dict.fromkeys(views, partial(_without_outer_views, document))}


def _used_elsewhere(document: Document, node: cst.BaseExpression) -> bool:
    """Return whether the value is reshaped before it meets a tensor, or returned beside others."""

    def meets(one: cst.BaseExpression) -> bool:
        product = product_at(document, one)
        joins = product is not None and number(product.other) is None
        return joins or operation(document.parent(one)) == "sub"

    way = [one for one in carried(document, node, meets) if one is not node]
    laid_out = any(called(one) in _LAYOUTS or isinstance(one, cst.Subscript) for one in way)
    return laid_out or any(isinstance(document.parent(one), cst.Tuple) for one in (node, *way))


def _without_outer_views(document: Document, view: Any) -> Any:
    """Return the tensor that a view is taken of."""
    while called(view) in _LAYOUTS or isinstance(view, cst.Subscript):
        view = operand_of(document, view) if isinstance(view, cst.Call) else view.value
    return view


def _with_views(document: Document, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the widest expression that only moves the node's axes: `node.squeeze(-1)`, `node[..., None]`."""
    holder = document.parent(node)
    if isinstance(holder, cst.Attribute):
        holder = document.parent(holder)
    views = called(holder) in _LAYOUTS or (isinstance(holder, cst.Subscript) and holder.value is node)
    return _with_views(document, holder) if views else node


def _reduced(call: Reduction, axis: int | None, *, plain: bool) -> Changes:
    """Reduce over the axis and keep it; `plain`: use the values before any view."""
    x, made = call.input, call.over(cst.parse_expression(str(axis)) if axis is not None else None, keep=True)
    bare = _without_inner_views(call.document, x) if plain and x is not None else x
    return {**made, **({} if bare is x else {x: tight(bare) if call.method else bare})}  # type: ignore[arg-type]


def _without_inner_views(document: Document, value: cst.BaseExpression) -> cst.BaseExpression:
    """Return the value without the views that are taken of it, but with casts."""
    if not isinstance(value, cst.Call) or called(value) not in _LAYOUTS | _CASTS:
        return value
    inner = operand_of(document, value)
    seen = _without_inner_views(document, inner) if inner is not None else value
    if called(value) in _LAYOUTS:
        return seen
    by_method = isinstance(value.func, cst.Attribute) and value.func.value is inner is not seen
    return value.with_deep_changes(value.func, value=tight(seen)) if by_method else value
