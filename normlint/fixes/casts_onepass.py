"""Repair of NRM204: E[x²] − E[x]² becomes the mean of (x − mean)²."""

from __future__ import annotations

import ast

from normlint.evaluate.monomial import ALL, Centred, Stat
from normlint.fixes.casts_edits import (
    Scope,
    Square,
    first_operand,
    own_nodes,
    scope,
    square,
    stores,
    without_statement,
)
from normlint.fixes.casts_words import arguments
from normlint.fixes.tree import ATOM, SUM, Tree, binding, called
from normlint.fixes.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass


def centre_first(stat: Stat, tree: Tree) -> Fix | None:
    """The squared mean is no longer taken off; instead the square is that of the centred input."""
    found = _read(tree, stat)
    if found is None:
        return None
    centred = _centred(found, stat)
    if centred is None:
        return None
    edits = _inlined(found, centred) or _in_place(found, centred)
    return Fix(f"Centre first, then square: `{centred}`", edits, Applicability.SAFE) if edits else None


@dataclass(frozen=True, slots=True)
class _OnePass:
    """`node`: whole − the squared mean; `defined`: the names on the way from `whole` to the square."""

    tree: Tree
    function: Scope
    node: ast.expr
    whole: ast.expr
    mean: ast.expr
    squared: Square
    defined: tuple[tuple[ast.Name, ast.Assign], ...]
    spare: tuple[ast.Assign, ...]  # statements that gave the squared mean a name


def _read(tree: Tree, stat: Stat) -> _OnePass | None:
    node = tree.at(stat.span)
    sides = _sides(tree, node) if node is not None else None
    function = scope(tree, node) if node is not None else None
    if node is None or sides is None or function is None:
        return None
    whole, mean = sides
    named = _definition(tree, function, mean)
    taken = square(tree, tree.span(named.value if named else mean))
    found = _square(tree, function, whole)
    if taken is None or found is None or not _squares(taken):
        return None
    spare = (named,) if named and isinstance(mean, ast.Name) and _reads(function, mean.id) == 1 else ()
    return _OnePass(tree, function, node, whole, taken.operand, *found, spare)


def _sides(tree: Tree, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(mean square, squared mean)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    if isinstance(node, ast.Call) and called(node) in ("sub", "subtract") and not node.keywords:
        left = first_operand(tree, node)
        rest = [a for a in node.args if a is not left]
        return (left, rest[0]) if left is not None and len(rest) == 1 else None
    return None


def _squares(one: Square) -> bool:
    """It is a square by its looks: `x ** 2`, `x * x`, `x.pow(2)`, `x.square()`."""
    node = one.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant) and node.right.value == 2
    if isinstance(node, ast.BinOp):
        return ast.dump(node.left) == ast.dump(node.right)
    if not isinstance(node, ast.Call):
        return False
    rest = [a for a in node.args if a is not one.operand]
    if called(node) == "pow":
        return len(rest) == 1 and isinstance(rest[0], ast.Constant) and rest[0].value == 2
    return called(node) == "square" or (called(node) in ("mul", "multiply") and _same(rest, one.operand))


def _same(rest: list[ast.expr], operand: ast.expr) -> bool:
    return len(rest) == 1 and ast.dump(rest[0]) == ast.dump(operand)


def _definition(tree: Tree, function: Scope, node: ast.expr) -> ast.Assign | None:
    """The only statement that binds the name, in front of it."""
    if not isinstance(node, ast.Name):
        return None
    here = tree.span(node).start
    before = [at for at in stores(tree, function).get(node.id, ()) if at < here]
    found = [
        n
        for n in own_nodes(function)
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and tree.span(n.targets[0]).start in before
    ]
    last = max(found, key=lambda n: tree.span(n).start, default=None)
    return last if last is not None and before[-1] == tree.span(last.targets[0]).start else None


_Found = tuple[Square, tuple[tuple[ast.Name, ast.Assign], ...]]


def _square(tree: Tree, function: Scope, node: ast.expr, depth: int = 3) -> _Found | None:
    """The square in what is reduced: in the expression, or behind the one name that it takes the mean of."""
    inside = [square(tree, tree.span(n)) for n in walk(node) if isinstance(n, ast.BinOp | ast.Call)]
    found = [one for one in inside if one is not None and _squares(one)]
    if len(found) == 1:
        return found[0], ()
    if found or not depth:
        return None
    ways = []
    for name in (n for n in walk(node) if isinstance(n, ast.Name)):
        value = _definition(tree, function, name)
        way = _square(tree, function, value.value, depth - 1) if value is not None else None
        if value is not None and way is not None:
            ways.append((way[0], ((name, value), *way[1])))
    return ways[0] if len(ways) == 1 else None


# --- the centred input -----------------------------------------------------------------------------------------------


def _centred(found: _OnePass, stat: Stat) -> str | None:
    """The input without its mean: under the name it already has, or written out."""
    tree, x, mean = found.tree, found.squared.operand, found.mean
    place = tree.span(found.squared.node).start
    for node in own_nodes(found.function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and _differs(tree, node.value, x, mean)
        ):
            name = node.targets[0].id
            if tree.span(node).end <= place and len(stores(tree, found.function)[name]) == 1:
                return name
    means = [f.atom.stat for f in stat.inner.factors if isinstance(f.atom, Centred)]
    if any((m.axes == ALL) != (stat.axes == ALL) for m in means):
        return None
    if any(m.keepdim for m in means):
        back = tree.source(mean) if binding(mean) > SUM else f"({tree.source(mean)})"
    elif means and means[0].axes == (-1,):
        back = f"{tree.received(mean)}.unsqueeze(-1)"
    else:
        return None
    front = tree.source(x) if binding(x) >= SUM else f"({tree.source(x)})"
    return f"{front} - {back}"


def _differs(tree: Tree, node: ast.expr, x: ast.expr, mean: ast.expr) -> bool:
    sides = _sides(tree, node)
    return sides is not None and [ast.dump(s) for s in sides] == [ast.dump(x), ast.dump(mean)]


def _resquared(found: _OnePass, centred: str) -> str:
    """The square as it is spelled, of the centred input."""
    tree, one = found.tree, found.squared
    plain = centred.isidentifier()
    if isinstance(one.node, ast.Call) and called(one.node) in ("mul", "multiply"):
        return f"{centred}.pow(2)" if plain else f"({centred}).pow(2)"
    if one.twice or (isinstance(one.node, ast.BinOp) and isinstance(one.node.op, ast.Mult)):
        return f"{centred} * {centred}" if plain else f"({centred}).pow(2)"
    node, operand = tree.with_parentheses(one.node), tree.with_parentheses(one.operand)
    whole = tree.span(one.node)
    argument = isinstance(one.node, ast.Call) and any(a is one.operand for a in one.node.args)
    text = centred if plain or argument else f"({centred})"
    assert node.start <= whole.start
    return tree.text[whole.start : operand.start] + text + tree.text[operand.end : whole.end]


# --- edits -----------------------------------------------------------------------------------------------------------


def _in_place(found: _OnePass, centred: str) -> tuple[Edit, ...] | None:
    """The square changed where it stands, the squared mean taken off no more."""
    tree, node, whole = found.tree, found.node, found.whole
    if not centred.isidentifier() and not _known_before(found):
        return None
    text = _resquared(found, centred)
    place = tree.span(found.squared.node)
    if text.endswith(".pow(2)") and text.startswith("("):
        place = tree.with_parentheses(found.squared.node)
    left, outer = tree.with_parentheses(whole), tree.span(node)
    if binding(whole) >= ATOM and tree.with_parentheses(node) != outer:
        outer = tree.with_parentheses(node)
    spare = _without(tree, found.spare, node)
    if spare is None:
        return None
    cut = (Edit(Span(outer.start, left.start), ""), Edit(Span(left.end, outer.end), ""))
    return (*spare, *(e for e in cut if e.span.start < e.span.end), Edit(place, text))


def _known_before(found: _OnePass) -> bool:
    """What the mean is made of is bound in front of the square."""
    tree, place = found.tree, found.tree.span(found.squared.node).start
    bound = stores(tree, found.function)
    names = [n.id for n in walk(found.mean) if isinstance(n, ast.Name)]
    return all(bound[name][0] < place for name in names if name in bound and name not in arguments(found.function))


def _inlined(found: _OnePass, centred: str) -> tuple[Edit, ...] | None:
    """The names on the way to the square, each used once, give way to what they stand for."""
    tree = found.tree
    direct = isinstance(found.whole, ast.Name)
    if not found.defined or (not direct and (centred.isidentifier() or _known_before(found))):
        return None
    if any(_reads(found.function, name.id) != 1 for name, _ in found.defined) or _moved(found):
        return None
    inner, text = tree.span(found.squared.node), _resquared(found, centred)
    if text.endswith(".pow(2)") and text.startswith("("):
        inner = tree.with_parentheses(found.squared.node)
    tight = text.endswith(")") and not isinstance(found.squared.node, ast.BinOp)
    for name, value in reversed(found.defined):
        span = tree.span(value.value)
        text = tree.text[span.start : inner.start] + text + tree.text[inner.end : span.end]
        tight = binding(value.value) >= ATOM or tight
        inner = tree.span(name)
    whole = tree.span(found.whole)
    text = tree.text[whole.start : inner.start] + text + tree.text[inner.end : whole.end]
    gone = _without(tree, (*found.spare, *(value for _, value in found.defined)), found.node)
    loose = not direct or not isinstance(tree.parent(found.node), ast.stmt)
    if gone is None or (loose and not tight):
        return None
    return (*gone, Edit(tree.span(found.node), text))


def _reads(function: Scope, name: str) -> int:
    """How often the name is read in the function."""
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in own_nodes(function))


def _moved(found: _OnePass) -> bool:
    """A name of the square is bound anew between the square and the difference."""
    tree, bound = found.tree, stores(found.tree, found.function)
    start, end = tree.span(found.squared.node).end, tree.span(found.node).start
    names = {n.id for _, value in found.defined for n in walk(value.value) if isinstance(n, ast.Name)}
    own = {name.id for name, _ in found.defined}
    return any(start <= at < end for name in names - own for at in bound.get(name, ()))


def _without(tree: Tree, several: tuple[ast.Assign, ...], node: ast.expr) -> tuple[Edit, ...] | None:
    """These statements taken away; None where one of them can't be."""
    edits: list[Edit] = []
    for stmt in several:
        gone = without_statement(tree, stmt)
        if gone is None or tree.statement(node) is stmt:
            return None
        edits += gone
    return tuple(edits)
