"""A statistic written again, where no edit of its arguments puts it right: of the same values, over the right axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import libcst as cst

from normlint.evaluate.monomial import ALL, Stat
from normlint.norm.norm import Computation, Norm
from normlint.rules.repair import reduction
from normlint.rules.repair.calls import PARAMETERS, Reduction
from normlint.rules.repair.document import Document
from normlint.rules.repair.flow import carried
from normlint.rules.repair.formula import Change, tried
from normlint.rules.repair.spelling import argument, called, tight
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.trial import Trial
from normlint.text.finding import Fix
from normlint.text.operations import CLASSES

_LAYOUTS: Final = frozenset(CLASSES["layout"].split())
_CASTS: Final = frozenset(CLASSES["cast"].split())


def over_last_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction over everything, over the last axis: by its arguments, or written again without views."""
    fix = reduction.over_last_axis(norm, stat, tree)
    call = Reduction.at(tree, stat.span)
    if fix is not None or call is None or not reduction.features_last(norm) or reduction.takes_axis(norm, call):
        return fix
    return _written_again(norm, "NRM101", [t for t in _both(c) if t.axes == ALL], tree, -1)


def keep_axis(norm: Norm, c: Computation, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction that loses its axis keeps it: by an argument, or written again without views."""
    fix, axes = reduction.keep_axis(norm, stat, tree), stat.axes
    apart = any(one.keepdim for one in reduction.stats(norm) if one.span == stat.span)  # put back for some uses
    if fix is not None or apart or not isinstance(axes, tuple) or len(axes) != 1:
        return fix
    return _written_again(norm, "NRM102", [t for t in _both(c) if t.axes == axes and not t.keepdim], tree, axes[0])


def along_gain(norm: Norm, c: Computation, off: Stat, tree: Tree) -> Fix | None:
    """A mean and a variance over different axes: the one that is off is taken over the axis of the other."""
    right = next((stat.axes for stat in _both(c) if stat is not off), None)
    if c.placing.along_gain is None or not isinstance(right, tuple) or len(right) != 1:
        return None
    return _written_again(norm, "NRM103", [off], tree, right[0])


def _both(c: Computation) -> list[Stat]:
    return [stat for stat in (c.statistic, c.centre) if stat is not None]


def _written_again(norm: Norm, code: str, stats: Sequence[Stat], tree: Tree, axis: int) -> Fix | None:
    return tried(Trial(tree, norm, code, partly=True), _candidates(stats, tree, axis))


def _candidates(stats: Sequence[Stat], tree: Tree, axis: int) -> Iterator[Change]:
    document = tree.document
    made = {node: _reduced(tree, node, axis) for node in (document.at(stat.span) for stat in stats)}
    if any(new is None for new in made.values()):
        return
    if any(isinstance(document.parent(one), cst.Tuple) for node in made for one in carried(document, node)):
        return  # given back as well
    message = f"Reduce the values over axis {axis}, and keep it"
    if all(stat.axes != ALL for stat in stats):
        yield message, {_unviewed(document, node): new for node, new in made.items()}
    yield message, made


def _unviewed(document: Document, node: cst.BaseExpression) -> cst.BaseExpression:
    """The widest expression that only puts the axes of the node elsewhere: `node.squeeze(-1)`, `node[..., None]`."""
    holder = document.parent(node)
    if isinstance(holder, cst.Attribute):
        holder = document.parent(holder)
    views = called(holder) in _LAYOUTS or (isinstance(holder, cst.Subscript) and holder.value is node)
    return _unviewed(document, holder) if views else node


def _reduced(tree: Tree, node: cst.CSTNode | None, axis: int) -> cst.Call | None:
    """The call, of the values as they are before any view, over the axis."""
    call = Reduction.at(tree, tree.document.span(node)) if isinstance(node, cst.Call) else None
    values = call.input if call is not None else None
    if call is None or values is None or "keepdim" not in PARAMETERS[call.name] or not isinstance(node, cst.Call):
        return None
    new: dict[cst.BaseExpression, cst.BaseExpression] = {}
    words = {"dim": str(axis), "keepdim": "True"}
    for name, word in words.items():
        if name in call.given:
            new[tree.document.at(tree.span(call.given[name].value))] = cst.parse_expression(word)
    x = tree.document.at(tree.span(values))
    new[x] = _seen_plainly(x)
    args = [a.with_changes(value=new.get(a.value, a.value), comma=cst.MaybeSentinel.DEFAULT) for a in node.args]
    more = [name for name in words if name not in call.given]
    spelled = {"dim": "axis", "keepdim": "keepdims"} if call.numpy else {}
    keywords = ["" if name == "dim" and call.dim_by_place() else spelled.get(name, name) for name in more]
    args += [argument(cst.parse_expression(words[name]), word) for name, word in zip(more, keywords, strict=True)]
    func = node.func.with_changes(value=tight(new[x])) if call.method else node.func
    return node.with_changes(func=func, args=sorted(args, key=lambda a: a.keyword is not None))


def _seen_plainly(value: cst.BaseExpression) -> cst.BaseExpression:
    """The value without the views that are taken of it; a cast behind one stays."""
    if not isinstance(value, cst.Call) or called(value) not in _LAYOUTS | _CASTS:
        return value
    owner = value.func.value if isinstance(value.func, cst.Attribute) else None
    module = owner is None or (isinstance(owner, cst.Name) and owner.value in ("torch", "np", "einops"))
    if called(value) in _CASTS:
        return (
            value if module or owner is None else value.with_deep_changes(value.func, value=tight(_seen_plainly(owner)))
        )
    inner = (value.args[0].value if value.args else None) if module else owner
    return _seen_plainly(inner) if inner is not None else value
