"""Mending what is reduced: over the last axis, which is kept; by the call's arguments, or by the call written again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import ALL, Input, Stat
from normlint.fixes.along import with_twins
from normlint.fixes.calls import PARAMETERS, Reduction, axis_of, operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import carried, loads, loads_after
from normlint.fixes.lengths import to_last
from normlint.fixes.spelling import called, number, shown, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix
from normlint.text.operations import CLASSES

_LAYOUTS: Final = frozenset(f"{CLASSES['layout']} expand_as item tolist rearrange repeat".split())
_CASTS: Final = frozenset(CLASSES["cast"].split())
_MEETING: Final = frozenset(f"{CLASSES['scaling']} {CLASSES['sum']}".split())
_LAST: Final = cst.parse_expression("-1")


def over_last_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction over everything, over the last axis: by its arguments, or written again without views."""
    document = tree.document
    call = Reduction.of(document, document.at(stat.span))
    if call is None or not features_last(norm):
        return None
    dim, taken = call.value("dim"), takes_axis(norm, call)
    named = None if stat.layout or (dim is not None and document.source(dim) not in ("None", "()")) else call
    axis = _axis_of_other(norm, stat, call) or (None if taken else _LAST)
    lengths, calls = _lengths(norm, stat, document), _calls(document, c, stat)
    plain = all(_put_back(document, one.node) or not _rearranged(document, one.node) for one in calls)
    if named is not None and axis is not None and lengths is not None and calls and plain:
        made = [one.over(axis, keep=not _put_back(document, one.node)) for one in calls]
        changes = {node: new for one in (*made, lengths) for node, new in one.items()}
        return _fix(tree, norm, f"Reduce over the last axis: {_shown(call, made[0])}", changes)
    return None if taken else _written_again(norm, "NRM101", [t for t in stats_of(c) if t.axes == ALL], tree, -1)


def takes_axis(norm: Norm, call: Reduction) -> bool:
    """No gain says where the features lie, and the axis may be what a parameter was meant for."""
    if norm.main.gains:
        return False
    document, function = call.document, call.document.around(call.node, cst.FunctionDef)
    cls = document.around(call.node, cst.ClassDef)
    made = [f for f in document.below(cls, cst.FunctionDef) if f.name.value == "__init__"][:1] if cls else []
    params = [p for f in (function, *made) if f is not None for p in document.below(f.params, cst.Param)]
    axes = [number(p.default) for p in params]
    others = {other.name for c in norm.computations for other in c.others if isinstance(other, Input)}
    if function is not None and any(_laid_out(document, name) for o in others for name in loads(document, o, function)):
        return True
    named = any(p.name.value in ("dim", "axis", "dims") and p.default is not None for p in params)
    return named or any(axis and abs(axis) < 5 and axis.denominator == 1 for axis in axes)


def _laid_out(document: Document, name: cst.Name) -> bool:
    """Is the tensor's layout changed, by a view or a subscript, before it is used?"""
    holder = document.parent(name)
    views = isinstance(holder, cst.Attribute) and holder.attr.value in _LAYOUTS
    return views or (isinstance(holder, cst.Subscript) and holder.value is name)


def _rearranged(document: Document, node: cst.BaseExpression) -> bool:
    """The value has its axes put elsewhere before it meets another tensor, or is given back as one of several."""
    holder, whole = document.parent(node), document.parent(document.parent(node) or node)
    match holder:
        case cst.Assign() | cst.AnnAssign():
            return any(_rearranged(document, use) for use in loads_after(document, holder))
        case cst.Subscript():
            return holder.value is node
        case cst.Tuple():
            return isinstance(whole, cst.Return)
        case cst.Attribute(attr=cst.Name(value=name)) if name in _LAYOUTS:
            return True
        case cst.Call() if called(holder) in _LAYOUTS:
            return True
        case cst.BinaryOperation(left=left, right=right) if _tensor(document, right if left is node else left):
            return False
        case cst.Call(args=args) if called(holder) in _MEETING and any(_tensor(document, a.value) for a in args):
            return False
    return isinstance(holder, cst.BaseExpression) and _rearranged(document, holder)


def _tensor(document: Document, node: cst.BaseExpression) -> bool:
    """A name in it may be that of a tensor."""
    names = [n for n in document.below(node, cst.Name) if "eps" not in n.value.lower()]
    return any(not isinstance(next(document.above(n)), cst.Attribute) for n in names)


def keep_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction that loses its axis keeps it: by an argument, or written again without views."""
    document, axes = tree.document, stat.axes
    if any(one.keepdim for one in _stats(norm) if one.span == stat.span):
        return None  # put back where one use needs it, so that the others need it there, too
    calls = _calls(document, c, stat)
    changes = {node: new for call in calls for node, new in call.kept().items()}
    if changes and not any(_rearranged(document, call.node) for call in calls):
        return _fix(tree, norm, "Keep the reduced axis: `keepdim=True`", changes)
    if not isinstance(axes, tuple) or len(axes) != 1:
        return None
    return _written_again(norm, "NRM102", [t for t in stats_of(c) if t.axes == axes and not t.keepdim], tree, axes[0])


def along_gain(norm: Norm, tree: Tree) -> Fix | None:
    """Reductions over other axes than the gain lies along: over the last one."""
    document, changes = tree.document, Changes()
    for stat in _wrong(norm):
        call = Reduction.of(document, document.at(stat.span))
        made = _moved(document, stat, call) if call is not None else None
        lengths = _lengths(norm, stat, document)
        if made is None or lengths is None:
            return None
        changes |= {**made, **lengths}
    return _fix(tree, norm, "Reduce over the last axis: `dim=-1`", changes)


def _moved(document: Document, stat: Stat, call: Reduction) -> Changes | None:
    dim = call.value("dim")
    if dim is None or not axis_of(dim):
        return None
    if not stat.keepdim:
        return None if _rearranged(document, call.node) else call.over(_like(dim), keep=True)
    if call.name == "normalize" or "keepdim" in call.given:
        return call.over(_like(dim), keep=False)
    at = _put_back_at(document, call.node)
    return {**call.over(_like(dim), keep=False), at: _LAST} if at is not None else None


def last_by_name(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """F.normalize over its default axis: over the last one."""
    call = Reduction.of(tree.document, tree.document.at(stat.span))
    lengths = _lengths(norm, stat, tree.document)
    if call is None or call.name != "normalize" or "dim" in call.given or lengths is None:
        return None
    return _fix(tree, norm, "Normalize over the last axis: `dim=-1`", {**call.over(_LAST, keep=False), **lengths})


def other_axis(norm: Norm, c: Computation, off: Stat, tree: Tree) -> Fix | None:
    """A mean and a variance over different axes: the one that is off is taken over the axis of the other."""
    right = next((stat.axes for stat in stats_of(c) if stat is not off), None)
    if c.placing.along_gain is None or not isinstance(right, tuple) or len(right) != 1:
        return None
    return _written_again(norm, "NRM103", [off], tree, right[0])


# --- what a repair asks ----------------------------------------------------------------------------------------------


def _fix(tree: Tree, norm: Norm, message: str, changes: Changes | None) -> Fix | None:
    """The changes, also where the same mean stands again: both factors of a square are centred alike."""
    edits = with_twins(tree, tree.document.edits(changes) if changes else (), {s.span for s in _stats(norm)})
    return Fix(message, edits, Applicability.SAFE) if edits else None


def _shown(call: Reduction, made: Changes) -> str:
    """The call with its new arguments, or these alone where it has others."""
    if call.node not in made:
        return "`dim=-1`"
    new = [a for a in made[call.node](call.node).args if not any(a.value is old.value for old in call.node.args)]
    arguments = ", ".join(shown(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in new)
    return f"`{arguments}`" if set(call.given) - {"input"} else f"`{call.name}({arguments})`"


def _stats(norm: Norm) -> Iterator[Stat]:
    """The statistics and centres of a norm, with the centres inside the statistics."""
    return (stat for c in norm.computations for stat in stats_of(c))


def _calls(document: Document, c: Computation, stat: Stat) -> list[Reduction]:
    """The call that is to be fixed, with a centre also the same mean inside the statistic; none if one isn't plain."""
    centres = [s for s in stats_of(c) if s.span not in (stat.span, c.statistic.span)] if stat is c.centre else []
    alike = dict.fromkeys(s.span for s in centres if (s.axes, s.keepdim) == (stat.axes, stat.keepdim))
    calls = [Reduction.of(document, document.at(span)) for span in (stat.span, *alike)]
    known = [call for call in calls if call is not None]
    return known if len(known) == len(calls) else []


def _wrong(norm: Norm) -> Iterator[Stat]:
    """The statistics and centres that miss the features, each place once."""
    found = {s.span: s for s in _stats(norm)}
    return (stat for stat in found.values() if isinstance(stat.axes, tuple) and stat.axes != (-1,))


def features_last(norm: Norm) -> bool:
    """Is there no sign that the features are on another axis than the last?"""
    gains = [g.param for c in norm.computations for g in c.gains]
    return all(p.axis == "last" and (p.shape is None or len(p.shape) <= 1) for p in gains)


def _like(dim: cst.BaseExpression) -> cst.BaseExpression:
    """The last axis as the old one is written: `-1`, `(-1,)` or `[-1]`."""
    several = isinstance(dim, cst.Tuple | cst.List) and len(dim.elements) == 1
    return cst.parse_expression(("[-1]" if isinstance(dim, cst.List) else "(-1,)") if several else "-1")


def _axis_of_other(norm: Norm, stat: Stat, call: Reduction) -> cst.BaseExpression | None:
    """The axis as the norm's other reduction in the function has it, if that is the last one."""
    document = call.document
    for other in (s for c in norm.computations for s in stats_of(c) if s.span != stat.span and s.axes == (-1,)):
        there = Reduction.of(document, document.at(other.span))
        if there and document.scope(there.node) is document.scope(call.node) and there.value("dim") is not None:
            return there.value("dim")
    return None


def _lengths(norm: Norm, stat: Stat, document: Document) -> Changes | None:
    """Counts of what was reduced so far, made those of the last axis; None where one can't be."""
    changes = Changes()
    for count in (n for c in norm.computations if c.statistic.span == stat.span for n in c.counts):
        if count.of_features and count.text.startswith("size "):
            for span in count.operands:
                made = to_last(document, document.at(span))
                if made is None and not count.text.startswith("size -1 "):
                    return None
                changes |= made or {}
    return changes


def _put_back(document: Document, node: cst.Call) -> bool:
    """An axis is added to the result at its end, right away."""
    at = _put_back_at(document, node)
    holder = document.parent(node)
    written = re.sub(r"\s", "", document.source(holder)) if isinstance(holder, cst.Subscript) else ""
    return (at is not None and number(at) == -1) or written.endswith("[...,None]")


def _put_back_at(document: Document, node: cst.Call) -> Any:
    """The axis at which one is added to the result, as it is written."""
    holder = document.parent(node)
    call = document.parent(holder) if isinstance(holder, cst.Attribute) else holder
    at = call.args[-1].value if called(call) == "unsqueeze" and call.args else None
    return at if number(at) is not None else None


# --- written again ---------------------------------------------------------------------------------------------------


def _written_again(norm: Norm, code: str, stats: Sequence[Stat], tree: Tree, axis: int) -> Fix | None:
    return Trial(tree, norm, code, partly=True).first(_candidates(stats, tree.document, axis))


def _candidates(stats: Sequence[Stat], document: Document, axis: int) -> Iterator[Change]:
    calls = [Reduction.of(document, document.at(stat.span)) for stat in stats]
    if any(call is None or call.input is None or "keepdim" not in PARAMETERS[call.name] for call in calls):
        return
    known = [call for call in calls if call is not None]
    if any(isinstance(document.parent(one), cst.Tuple) for call in known for one in carried(document, call.node)):
        return  # given back as well
    message = f"Reduce the values over axis {axis}, and keep it"
    changes = {node: change for call in known for node, change in _reduced(call, axis).items()}
    views = [view for call in known if (view := _unviewed(document, call.node)) is not call.node]
    spread = any(stat.axes == ALL for stat in stats)
    if spread and any(called(view).startswith(("view", "reshape")) for view in views):
        return  # one number, made to fit on purpose
    if not spread:
        yield message, {**changes, **dict.fromkeys(views, partial(_viewed, document))}
    yield message, changes


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


def _reduced(call: Reduction, axis: int) -> Changes:
    """The call, of the values as they are before any view, over the axis."""
    document, x = call.document, call.input
    assert x is not None
    plain = _seen_plainly(document, x)
    changes: Changes = {x: tight(plain) if call.method else plain} if plain is not x else {}
    return {**changes, **call.over(cst.parse_expression(str(axis)), keep=True)}


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
