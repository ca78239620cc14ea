"""What comes out in fp32 cast back to the dtype that came in, where it is made or given back."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Input, Param, Step
from normlint.fixes.casts_edits import asks, behind, lines_above, receiver, scope, stores
from normlint.fixes.casts_entry import Entry, Top
from normlint.fixes.casts_words import Back, back
from normlint.fixes.tree import Tree, called
from normlint.fixes.work import walk
from normlint.norm.norm import Computation
from normlint.text.finding import Edit, Span


def shared_casts(c: Computation) -> list[Step]:
    """Casts of the whole product, not of the statistic or the input alone."""
    inputs = {s.span for s in c.input_steps}
    return [s for s in c.trail if s.op == "cast" and s.span in inputs]


def _cast_back(c: Computation) -> bool:
    """The product is cast to something that isn't known to be wide."""
    casts = shared_casts(c)
    return bool(casts) and not (casts[-1].dtype is not None and casts[-1].dtype.wide)


def names_of(c: Computation) -> tuple[str, ...]:
    """What the input is called where it comes in."""
    return tuple(f.atom.name for f in c.input.factors if isinstance(f.atom, Input))


def lacks(tree: Tree, c: Computation) -> bool:
    """With its statistic in fp32 the product would be, too, in a module of halves: nothing casts it back."""
    return c.gain_may_be_half and not _cast_back(c) and not _cast_later(tree, c) and not _compared(tree, c)


def _compared(tree: Tree, c: Computation) -> bool:
    """The text looks whether the product has the dtype that came in, and casts it where it hasn't."""
    found = (tree.at(span) for span in (c.joined, c.span))
    nodes: list[ast.expr] = list(filter(None, found))
    several = [n for node in nodes for n in (node, *getattr(tree.statement(node), "targets", ()))] if nodes else []
    names = {n.id for n in several if isinstance(n, ast.Name)}
    function = scope(tree, nodes[0]) if nodes else None
    sides = (side for n in walk(function or tree.root) if isinstance(n, ast.Compare) for side in _sides(n))
    return any(side.attr == "dtype" and isinstance(side.value, ast.Name) and side.value.id in names for side in sides)


def _sides(test: ast.Compare) -> list[ast.Attribute]:
    return [side for side in (test.left, *test.comparators) if isinstance(side, ast.Attribute)]


def _cast_later(tree: Tree, c: Computation) -> bool:
    """The text that is read no further casts the product, or the name that it gets."""
    node = tree.at(c.span)
    holder = tree.parent(node) if node is not None else None
    call = tree.parent(holder) if isinstance(holder, ast.Attribute) else None
    if isinstance(call, ast.Call) and call.func is holder and (asks(call) or _named_dtype(call)):
        return True
    stmt = tree.statement(node) if node is not None and not c.returned else None
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
        return False
    function, name, end = scope(tree, stmt), stmt.targets[0].id, tree.span(stmt).end
    return function is not None and any(
        isinstance(n, ast.Call) and tree.span(n).start > end and asks(n) and _is_name(receiver(tree, n), name)
        for n in walk(function)
    )


def _named_dtype(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("half", "bfloat16", "float", "double")


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def cast_back(
    tree: Tree, several: Iterable[Computation], entry: Entry | None = None, top: Top | None = None
) -> tuple[Edit, ...] | None:
    """Each of these products cast back where it is made or given back; None where it isn't clear to what.

    The lines that this takes are among the edits, and that of `top`.
    """
    wrapped: dict[ast.expr, tuple[Edit, ...]] = {}
    lines: dict[tuple[ast.stmt, str], None] = {}
    for c in several:
        node, found = _backwards(tree, c, entry, top) or (None, None)
        if found is None or node is None:
            return None
        wrapped |= {one: _cast(tree, c, one, found.suffix) for one in _tensors(node)}
        lines |= {(found.line_at, found.line): None} if found.line_at else {}
    lines |= {(top.stmt, top.line): None} if top else {}
    places = dict.fromkeys(stmt for stmt, _ in lines)
    put = [lines_above(tree, place, *(line for stmt, line in lines if stmt is place)) for place in places]
    return (*put, *(edit for edits in wrapped.values() for edit in edits))


def _cast(tree: Tree, c: Computation, node: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """The node cast back; in place of a cast to fp32 that is its last step."""
    dtypes = {step.span: step.dtype for step in shared_casts(c)}
    dtype = dtypes.get(tree.span(node))
    operand = receiver(tree, node) if isinstance(node, ast.Call) and dtype is not None and dtype.wide else None
    if isinstance(node, ast.Name) and suffix in (f".type_as({node.id})", f".to({node.id}.dtype)"):
        return ()  # changed in place, it has kept its dtype
    if operand is None:
        return behind(tree, node, suffix)
    there = dtypes.get(tree.span(operand)) is DType.INPUT
    return (Edit(Span(tree.with_parentheses(operand).end, tree.span(node).end), "" if there else suffix),)


def _tensors(node: ast.expr) -> list[ast.expr]:
    """What is cast of `y`, and of `(y, None) if more else y`."""
    branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    several = [e for one in branches if isinstance(one, ast.Tuple) for e in one.elts]
    plain = [one for one in branches if not isinstance(one, ast.Tuple)]
    alike = {ast.dump(one) for one in plain}
    return [*plain, *(e for e in several if ast.dump(e) in alike)] if several else [node]


def _backwards(tree: Tree, c: Computation, entry: Entry | None, top: Top | None) -> tuple[ast.expr, Back] | None:
    """What is cast back and how: where it takes no line of its own, and in the function that makes the product."""
    given, made = _exactly(tree, c.span), _exactly(tree, c.joined)
    helper = made is not None and given is not None and scope(tree, made) is not scope(tree, given)
    if made is not None and not _half_there(tree, c, made, entry):
        made = None
    joined = [f.atom for f in c.shift.factors] if c.shift else []
    mixed = made is not None and any(not isinstance(a, Input | Param) for a in c.others)
    if mixed or any(not isinstance(a, Param) for a in joined):
        given = None  # another tensor or a residual joined: whose dtype counts isn't clear
    ways = [
        (_but_for_gain(tree, c, node), found)
        for node in ((made, given) if helper else (given, made))
        if node is not None and (found := _to_input(tree, c, node, entry, top)) is not None
    ]
    return min(ways, key=lambda way: bool(way[1].line), default=None)


def _half_there(tree: Tree, c: Computation, made: ast.expr, entry: Entry | None) -> bool:
    """What comes in where the product is made has the dtype that the caller's input has, unlike the statistic."""
    if entry is not None:
        return any(scope(tree, n) is scope(tree, made) for n in entry.nodes)
    wide = c.widened is not None or c.statistic.square.wide or c.statistic.accumulate.wide
    return wide and not any(s.op == "cast" and s.dtype is not None and s.dtype.wide for s in c.input_steps)


def _but_for_gain(tree: Tree, c: Computation, node: ast.expr) -> ast.expr:
    """Of `weight * y` only y: a gain in fp32 may promote it, as in LLaMA."""
    function = scope(tree, node)
    bound = stores(tree, function) if function is not None else {}
    gains = {g.param.name.rpartition(".")[2] for g in c.gains if g.offset is None}
    gains |= {a.name for a in c.others if isinstance(a, Input)}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if called(one) in gains and not (isinstance(one, ast.Name) and one.id in bound):
                return other
    return node


def _exactly(tree: Tree, span: Span) -> ast.expr | None:
    node = tree.at(span)
    return node if node is not None and span in (tree.with_parentheses(node), tree.span(node)) else None


def _to_input(tree: Tree, c: Computation, node: ast.expr, entry: Entry | None, top: Top | None) -> Back | None:
    function = scope(tree, node)
    if top is not None and top.function is function:
        return back(tree, node, (top.name,), rebound=top.stmt)
    local = [n for n in (entry.nodes if entry else []) if isinstance(n, ast.Name) and scope(tree, n) is function]
    found = [back(tree, node, (one.id,), since=_line_of(tree, one)) for one in local]
    found.append(back(tree, node, names_of(c)))
    return min((one for one in found if one is not None), key=lambda one: bool(one.line), default=None)


def _line_of(tree: Tree, node: ast.expr) -> int:
    """Where its statement starts, which may bind the name anew: `k = k * k.square()`."""
    stmt = tree.statement(node)
    return tree.span(stmt if stmt is not None else node).start
