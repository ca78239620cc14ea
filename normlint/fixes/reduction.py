"""Mending what is reduced: the last axis, kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from normlint.evaluate.monomial import Centred, Input, Stat
from normlint.fixes.calls import RESHAPES, Reduction, reductions, reshaped
from normlint.fixes.eps_scope import constructor, default, parameters
from normlint.fixes.lengths import bindings, number, to_last, uses
from normlint.fixes.tree import Tree, called
from normlint.fixes.work import walk
from normlint.norm.norm import Count, Norm
from normlint.text.finding import Applicability, Edit, Fix, Span


def over_last_axis(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction over everything: over the last axis, which is kept."""
    call = Reduction.at(tree, stat.span)
    if not features_last(norm):
        return None
    if call is None:
        return _pattern(tree, stat)
    if stat.layout or call.source("dim") not in (None, "None", "()"):
        return None
    axis = _axis_of_other(norm, stat, call) or ("" if takes_axis(norm, call) else "-1")
    if not axis:
        return None
    again = _put_back(tree, call.node)
    if not again and reshaped(tree, call.node):
        return None
    lengths = _lengths(norm, stat, tree)
    if lengths is None:
        return None
    edits = call.over(axis, keep=not again)
    return _fix(f"Reduce over the last axis: {_shown(call, edits)}", (*edits, *lengths))


def takes_axis(norm: Norm, call: Reduction) -> bool:
    """No gain says where the features lie, and the axis may be what a parameter was meant for."""
    if norm.main.gains:
        return False
    function, cls = call.tree.function(call.node), call.tree.enclosing_class(call.node)
    several = [one for one in (function, constructor(cls) if cls else None) if one is not None]
    given = [(arg.arg, default(one, arg.arg)) for one in several for arg in parameters(one)]
    axes = [number(value) for _, value in given if value is not None]
    others = {other.name for c in norm.computations for other in c.others if isinstance(other, Input)}
    if function is not None and any(_laid_out(node, others) for node in walk(function)):
        return True
    named = any(name in ("dim", "axis", "dims") for name, value in given if value is not None)
    return named or any(axis and abs(axis) < 5 and axis.denominator == 1 for axis in axes)


def _laid_out(node: ast.AST, names: set[str]) -> bool:
    """One of these tensors is given other axes, to be multiplied with."""
    shaped = isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in RESHAPES)
    return shaped and isinstance(node.value, ast.Name) and node.value.id in names  # type: ignore[attr-defined]


def keep_axis(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """A reduction that loses its axis: it is kept."""
    if any(other.keepdim for other in stats(norm) if other.span == stat.span):
        return None  # put back where one use needs it, so that the others need it there, too
    node = tree.at(stat.span)
    call = Reduction.at(tree, stat.span)
    if node is None or reshaped(tree, node):
        return None
    if call is None:
        return _pattern(tree, stat) or _unsqueezed(tree, node, stat)
    return _fix("Keep the reduced axis: `keepdim=True`", call.kept())


def _unsqueezed(tree: Tree, node: ast.expr, stat: Stat) -> Fix | None:
    if not isinstance(node, ast.Call) or called(node) not in ("einsum", "vecdot") or stat.axes != (-1,):
        return None
    end = tree.span(node).end
    edits = (Edit(Span(end, end), ".unsqueeze(-1)"),)
    return Fix("Put the reduced axis back: `.unsqueeze(-1)`", edits, Applicability.SAFE)


def along_gain(norm: Norm, tree: Tree) -> Fix | None:
    """Reductions over other axes than the gain lies along: over the last one."""
    edits: dict[Edit, None] = {}
    for stat in _wrong(norm):
        call = Reduction.at(tree, stat.span)
        if call is None and (fix := _pattern(tree, stat)) is not None:
            edits |= dict.fromkeys(fix.edits)
            continue
        made = _moved(stat, call, tree) if call else None
        lengths = _lengths(norm, stat, tree)
        if call is None or made is None or lengths is None:
            return None
        edits |= dict.fromkeys((*made, *lengths))
    return _fix("Reduce over the last axis: `dim=-1`", tuple(edits))


def _moved(stat: Stat, call: Reduction, tree: Tree) -> tuple[Edit, ...] | None:
    dim = call.given.get("dim")
    if dim is not None and isinstance(dim.value, ast.Name | ast.Attribute) and stat.keepdim:
        return _at_definition(tree, dim.value)
    if dim is None or not _literal(dim.value):
        return None
    axis = _last_like(dim.value)
    if not stat.keepdim:
        return None if reshaped(tree, call.node) else call.over(axis, keep=True)
    if call.name == "normalize" or "keepdim" in call.given:
        return call.over(axis, keep=False)
    put_back = _moved_back(tree, call.node)
    return (*call.over(axis, keep=False), *put_back) if put_back is not None else None


def _at_definition(tree: Tree, name: ast.Name | ast.Attribute) -> tuple[Edit, ...] | None:
    """The axis where it is kept, if reductions alone read it."""
    values = list(bindings(tree, name))
    if len(values) != 1 or values[0] is None or not _literal(values[0]):
        return None
    read = sum(ast.unparse(r.given["dim"].value) == ast.unparse(name) for r in reductions(tree) if "dim" in r.given)
    if read != uses(tree, name):
        return None
    one = {ast.Tuple: "(-1,)", ast.List: "[-1]"}.get(type(values[0]), "-1")
    return (Edit(tree.with_parentheses(values[0]), one),)


def _pattern(tree: Tree, stat: Stat) -> Fix | None:
    """`einops.reduce`: the last axis becomes a 1, the others stay."""
    node = tree.at(stat.span)
    if not isinstance(node, ast.Call) or called(node) != "reduce":
        return None
    words = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and "->" in a.value]
    source = tree.source(words[0]) if len(words) == 1 else ""
    names = source.partition("->")[0].strip("\"' ").split()
    if len(names) < 2 or source[:1] not in "\"'" or any(c in source for c in "()\\"):
        return None
    start = tree.span(words[0]).start + source.index("->") + 2
    edit = Edit(Span(start, tree.span(words[0]).end - 1), f" {' '.join(names[:-1])} 1")
    return Fix(f"Reduce over the last axis: `-> {' '.join(names[:-1])} 1`", (edit,), Applicability.SAFE)


def _last_like(dim: ast.expr) -> str:
    """-1, in the brackets that one axis has."""
    if isinstance(dim, ast.Tuple | ast.List) and len(dim.elts) == 1:
        return "[-1]" if isinstance(dim, ast.List) else "(-1,)"
    return "-1"


def _literal(dim: ast.expr) -> bool:
    if isinstance(dim, ast.Tuple | ast.List):
        return all(number(one) is not None for one in dim.elts)
    return number(dim) is not None


def last_by_name(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """F.normalize over its default axis: over the last one."""
    call = Reduction.at(tree, stat.span)
    lengths = _lengths(norm, stat, tree)
    if call is None or call.name != "normalize" or "dim" in call.given or lengths is None:
        return None
    return _fix("Normalize over the last axis: `dim=-1`", (*call.over("-1", keep=False), *lengths))


# --- what a repair asks ----------------------------------------------------------------------------------------------


def _fix(said: str, edits: tuple[Edit, ...]) -> Fix | None:
    return Fix(said, edits, Applicability.SAFE) if edits else None


def _shown(call: Reduction, edits: tuple[Edit, ...]) -> str:
    """The call with its new arguments, or these alone where it has others."""
    if "dim" in call.given:
        return "`dim=-1`"
    said = ", ".join(e.text.strip(", \r\n\t") for e in edits)
    return f"`{call.name}({said})`" if not set(call.given) - {"input"} else f"`{said}`"


def stats(norm: Norm) -> Iterator[Stat]:
    """The statistics and centres of a norm, with the centres inside the statistics."""
    for c in norm.computations:
        yield c.statistic
        yield from (f.atom.stat for f in c.statistic.inner.factors if isinstance(f.atom, Centred))
        if c.centre is not None:
            yield c.centre


def _wrong(norm: Norm) -> Iterator[Stat]:
    """The statistics and centres that miss the features, each place once."""
    found = {s.span: s for c in norm.computations for s in (c.statistic, c.centre) if s is not None}
    for stat in found.values():
        if isinstance(stat.axes, tuple) and stat.axes != (-1,):
            yield stat


def features_last(norm: Norm) -> bool:
    """Nothing says that the features lie elsewhere."""
    gains = [g.param for c in norm.computations for g in c.gains]
    return all(p.axis == "last" and (p.shape is None or len(p.shape) <= 1) for p in gains)


def _axis_of_other(norm: Norm, stat: Stat, call: Reduction) -> str | None:
    """The axis as the norm's other reduction in the function has it, if that is the last one."""
    tree = call.tree
    for c in norm.computations:
        for other in (c.statistic, c.centre):
            if other is None or other.span == stat.span or other.axes != (-1,):
                continue
            there = Reduction.at(tree, other.span)
            if there and tree.function(there.node) is tree.function(call.node) and there.source("dim"):
                return there.source("dim")
    return None


def _lengths(norm: Norm, stat: Stat, tree: Tree) -> tuple[Edit, ...] | None:
    """Counts of what was reduced so far, made those of the last axis; None where one can't be."""
    edits: dict[Edit, None] = {}
    for c in norm.computations:
        for count in c.counts if c.statistic.span == stat.span else ():
            if count.of_features and _of_size(count):
                for span in count.operands:
                    node: ast.expr | None = tree.at(span)
                    made = to_last(tree, node) if node is not None else None
                    if made is None and not _already_last(count):
                        return None
                    edits |= dict.fromkeys(made or ())
    return tuple(edits)


def _of_size(count: Count) -> bool:
    return count.text.startswith("size ")


def _already_last(count: Count) -> bool:
    return count.text.startswith("size -1 ")


def _put_back(tree: Tree, node: ast.Call) -> bool:
    """An axis is added to the result at its end, right away."""
    holder = tree.parent(node)
    match holder:
        case ast.Attribute(attr="unsqueeze"):
            call = tree.parent(holder)
            return isinstance(call, ast.Call) and [number(a) for a in call.args] == [-1]
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Constant(value=e), ast.Constant(value=None)])):
            return e is ...
    return False


def _moved_back(tree: Tree, node: ast.Call) -> tuple[Edit, ...] | None:
    """The axis that is added to the result, made the last one."""
    holder = tree.parent(node)
    above = tree.parent(holder) if holder else None
    match holder, above:
        case ast.Attribute(attr="unsqueeze"), ast.Call(args=[at]):
            return (tree.replace(at, "-1"),) if number(at) is not None else None
        case ast.Call(args=[_, at]), _ if called(holder) == "unsqueeze":
            return (tree.replace(at, "-1"),) if number(at) is not None else None
    return None
