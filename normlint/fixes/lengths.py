"""The length of the features as a text writes it: what is in an operand, and what to write in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from normlint.fixes.calls import is_module
from normlint.fixes.tree import Tree, called
from normlint.fixes.work import walk
from normlint.text.finding import Edit

HALF: Final = Fraction(1, 2)
_CASTS: Final = frozenset("float double to type type_as contiguous square pow".split())


# --- what stands in an operand ---------------------------------------------------------------------------------------


def power_of(tree: Tree, node: ast.expr, *, inner: bool = False) -> Fraction | None:
    """The power of the length in an expression that is nothing else, as x.shape[-1] ** -0.5; None where unsure."""
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return times(power_of(tree, left, inner=inner), number(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right) if number(left) == 1:
            return times(power_of(tree, right, inner=inner), Fraction(-1))
        case ast.Call(args=[one]) if called(node) in ("sqrt", "rsqrt"):
            return times(power_of(tree, one, inner=inner), HALF if called(node) == "sqrt" else -HALF)
        case ast.Call(args=[one]) if called(node) in ("float", "int"):
            return power_of(tree, one, inner=inner)
        case ast.Call(args=[one, exponent]) if called(node) == "pow":
            return times(power_of(tree, one, inner=inner), number(exponent))
        case ast.Call() if called(node) in ("size", "numel", "nelement", "len"):
            return Fraction(1)
        case ast.Subscript():
            return Fraction(1)
        case ast.Name() | ast.Attribute():
            return Fraction(1) if inner else _bound(tree, node)
    return None


def times(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    """The product; None where a factor is unknown."""
    return None if one is None or two is None else one * two


def number(node: ast.expr) -> Fraction | None:
    """A literal number: 2, -0.5, 1 / 2."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < 100:
            return Fraction(value).limit_denominator(100)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return times(number(operand), Fraction(-1))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            one, two = number(left), number(right)
            return one / two if one is not None and two else None
    return None


def _bound(tree: Tree, node: ast.Name | ast.Attribute) -> Fraction | None:
    """What a name is bound to, if that is done once; a parameter is the length itself."""
    values = list(bindings(tree, node))
    if len(values) == 1 and values[0] is not None:
        plain = isinstance(values[0], ast.Name | ast.Attribute)  # followed no further: names may go round in circles
        return Fraction(1) if plain else power_of(tree, values[0], inner=True)
    return Fraction(1) if not values or values == [None] else None


def bindings(tree: Tree, node: ast.Name | ast.Attribute) -> Iterator[ast.expr | None]:
    """The expressions assigned to a name in its function, or to an attribute in the text; None for a part of one."""
    wanted = ast.unparse(node)
    for one in walk(_scope(tree, node)):
        if isinstance(one, ast.Assign):
            for target in one.targets:
                if ast.unparse(target) == wanted or _constant(tree, one, target, node):
                    yield one.value
                elif isinstance(target, ast.Tuple) and any(ast.unparse(t) == wanted for t in target.elts):
                    yield None
        elif isinstance(one, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and ast.unparse(one.target) == wanted:
            yield one.value if not isinstance(one, ast.AugAssign) else None


def _constant(tree: Tree, one: ast.Assign, target: ast.expr, node: ast.Name | ast.Attribute) -> bool:
    """`self.AXIS`, set in the body of a class."""
    of_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return of_self and isinstance(target, ast.Name) and target.id == node.attr and _in_class(tree, one)  # type: ignore[union-attr]


def _in_class(tree: Tree, stmt: ast.stmt) -> bool:
    return isinstance(tree.parent(stmt), ast.ClassDef)


def _scope(tree: Tree, node: ast.Name | ast.Attribute) -> ast.AST:
    """Where else the name means the same: the function, or the class where it sets the attribute itself."""
    if isinstance(node, ast.Name):
        return tree.function(node) or tree.root
    cls = tree.enclosing_class(node)
    if cls is None or re.search(rf"\bclass\s+\w+\([^)]*\b{cls.name}\b", tree.text):
        return tree.root
    own = {n.attr for n in walk(cls) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    own |= {n.id for one in cls.body for n in walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return cls if node.attr in own else tree.root


def uses(tree: Tree, node: ast.Name | ast.Attribute) -> int:
    """How often the name is read where it means the same."""
    wanted = ast.unparse(node)
    kind = type(node)
    found = (n for n in walk(_scope(tree, node)) if isinstance(n, kind) and isinstance(n.ctx, ast.Load))
    return sum(ast.unparse(n) == wanted for n in found)


# --- what to write ---------------------------------------------------------------------------------------------------


def decimal(power: Fraction) -> str:
    """An exponent as people write it."""
    return str(power) if power.denominator == 1 else str(float(power))


def raised(text: str, node: ast.expr | None, power: Fraction, tree: Tree) -> str:
    """`text` ** power; without spaces where the file has none around the powers of names."""
    plain = node is None or isinstance(node, ast.Name | ast.Attribute)
    tight = plain and re.search(r"[\w)\]]\*\*-?[\d.(]", tree.text) and not re.search(r"\w \*\* -?[\d.(]", tree.text)
    return f"{text}**{decimal(power)}" if tight else f"{text} ** {decimal(power)}"


def last_of(tree: Tree, tensor: ast.expr | None) -> str | None:
    """The length of a tensor's last axis, where the tensor, or what it is the square or a cast of, has a name."""
    while (inner := _unwrapped(tree, tensor)) is not None:
        tensor = inner
    if not isinstance(tensor, ast.Name | ast.Attribute):
        return None
    by_call = ".size(-1)" in tree.text and ".shape[-1]" not in tree.text
    return f"{tree.source(tensor)}.size(-1)" if by_call else f"{tree.source(tensor)}.shape[-1]"


def _unwrapped(tree: Tree, tensor: ast.expr | None) -> ast.expr | None:
    match tensor:
        case ast.Call(func=ast.Attribute(value=one), args=args) if called(tensor) in _CASTS:
            return (args[0] if args else None) if is_module(tree, one) else one
        case ast.Call(func=ast.Name(), args=[one, *_]) if called(tensor) in ("square", "pow"):
            return one
        case ast.BinOp(left=one, op=ast.Pow()):
            return one
        case ast.BinOp(left=one, op=ast.Mult(), right=two) if ast.dump(one) == ast.dump(two):
            return one
    return None


def to_last(tree: Tree, operand: ast.expr) -> tuple[Edit, ...] | None:
    """The length in an operand made that of the last axis; None where it isn't plain."""
    found = [edit for node in walk(operand) if isinstance(node, ast.expr) for edit in _made_last(tree, node)]
    if not found and isinstance(operand, ast.Name):
        return _renamed(tree, operand)
    return tuple(found) if len(found) == 1 else None


def _made_last(tree: Tree, node: ast.expr) -> Iterator[Edit]:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index) if _other_axis(index):
            yield tree.replace(index, "-1")
        case ast.Call(func=ast.Attribute(attr="size"), args=[index]) if _other_axis(index):
            yield tree.replace(index, "-1")
        case ast.Call(func=ast.Attribute(attr="numel" | "nelement", value=tensor), args=[]):
            length = last_of(tree, tensor)
            if length:
                yield tree.replace(node, length)
        case ast.Call(func=ast.Name(id="len"), args=[tensor]):
            length = last_of(tree, tensor)
            if length:
                yield tree.replace(node, length)


def _other_axis(index: ast.expr) -> bool:
    return number(index) is not None and number(index) != -1


def _renamed(tree: Tree, name: ast.Name) -> tuple[Edit, ...] | None:
    """`b, t, d = x.shape`: the last name; `n = x.shape[0]`: the axis where it is taken, if nobody else needs it."""
    scope = tree.function(name) or tree.root
    for one in walk(scope):
        if not isinstance(one, ast.Assign) or len(one.targets) != 1:
            continue
        target = one.targets[0]
        if isinstance(target, ast.Tuple) and any(isinstance(t, ast.Name) and t.id == name.id for t in target.elts):
            last = target.elts[-1]
            return (
                (tree.replace(name, last.id),) if isinstance(last, ast.Name) and last.id not in ("_", name.id) else None
            )
        if isinstance(target, ast.Name) and target.id == name.id:
            single = uses(tree, name) == 1 and len(list(bindings(tree, name))) == 1
            return to_last(tree, one.value) if single and not isinstance(one.value, ast.Name) else None
    return None
