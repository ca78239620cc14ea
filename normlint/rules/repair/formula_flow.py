"""Where a value goes: from an expression to the expressions, names, returns and calls that carry it on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from normlint.rules.repair.formula_text import number
from normlint.rules.repair.tree import Function, Tree
from normlint.rules.repair.work import walk
from normlint.text.frozen import dataclass

FAR: Final = 60
_ROOTS: Final = re.compile(r"rms|std|sigma|norm|denom|root|sqrt|dev|length|magnitude", re.IGNORECASE)
_INVERSES: Final = re.compile(r"inv|rsqrt|recip|scale|rstd|rrms|factor|normed|normal", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Product:
    """A multiplication or division that has the value as one of its two operands."""

    node: ast.expr | ast.stmt
    value: ast.expr
    other: ast.expr
    first: bool  # the value is the left operand


def carried(tree: Tree, start: ast.expr) -> Iterator[ast.expr]:
    """The expression and all that hold its value, from the inside out and on through names, returns and calls."""
    waiting = [start]
    seen: set[ast.expr] = set()
    while waiting and len(seen) < FAR:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        yield node
        holder = tree.parent(node)
        if isinstance(holder, ast.keyword):
            holder = tree.parent(holder)
        if isinstance(holder, ast.expr):
            waiting.insert(0, holder)
        elif isinstance(holder, ast.Return):
            waiting += _calls(tree, tree.function(node))
        elif isinstance(holder, ast.Assign | ast.AnnAssign | ast.AugAssign):
            waiting += _loads(tree, holder)


def names_of(stmt: ast.stmt) -> tuple[str, ...]:
    """The plain names that an assignment binds."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
    return tuple(e.id for e in flat if isinstance(e, ast.Name))


def loads_of(tree: Tree, name: str, function: Function | None) -> list[ast.Name]:
    """Where a name is read in a function, or in the whole text outside of any."""
    nodes = walk(function or tree.root)
    found = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def definitions(tree: Tree, node: ast.expr) -> list[ast.expr]:
    """What a name was last given before it is read here, on each branch; nothing for other expressions."""
    if not isinstance(node, ast.Name):
        return []
    start, holder = tree.span(node).start, tree.function(node)
    given = [
        s
        for s in walk(holder or tree.root)
        if isinstance(s, ast.Assign | ast.AnnAssign)
        and names_of(s) == (node.id,)
        and s.value is not None
        and tree.span(s).end <= start
    ]
    return [s.value for s in reversed(given) if s.value is not None]


def _loads(tree: Tree, stmt: ast.stmt) -> list[ast.expr]:
    end = tree.span(stmt).end
    names = names_of(stmt)
    return [n for name in names for n in loads_of(tree, name, tree.function(stmt)) if tree.span(n).start >= end]


def _calls(tree: Tree, function: Function | None) -> list[ast.expr]:
    """The calls of a function or method, by its name."""
    if function is None:
        return []
    return [n for n in walk(tree.root) if isinstance(n, ast.Call) and called(n) == function.name]


def called(node: ast.AST | None) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def products(tree: Tree, start: ast.expr) -> Iterator[Product]:
    """The multiplications and divisions that the value takes part in."""
    for node in carried(tree, start):
        found = product_at(tree, node)
        if found is not None:
            yield found


_MULTIPLIES: Final = ("mul", "multiply", "mul_", "div", "divide", "true_divide", "div_")


def product_at(tree: Tree, node: ast.expr) -> Product | None:
    """The product that the expression is an operand of."""
    holder = tree.parent(node)
    if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Mult | ast.Div):
        first = holder.left is node
        return Product(holder, node, holder.right if first else holder.left, first)
    if isinstance(holder, ast.AugAssign) and isinstance(holder.op, ast.Mult | ast.Div):
        return Product(holder, node, holder.target, first=False)
    if isinstance(holder, ast.Attribute):  # r.mul(x)
        call = tree.parent(holder)
        if isinstance(call, ast.Call) and call.func is holder and holder.attr in _MULTIPLIES and len(call.args) == 1:
            return Product(call, node, call.args[0], first=True)
    if isinstance(holder, ast.Call) and called(holder) in _MULTIPLIES and node in holder.args:
        return _called_product(holder, node)
    return None


def _called_product(call: ast.Call, node: ast.expr) -> Product | None:
    if len(call.args) == 2 and not call.keywords:  # torch.mul(x, r)
        first = call.args[0] is node
        return Product(call, node, call.args[1] if first else call.args[0], first)
    if len(call.args) == 1 and not call.keywords and isinstance(call.func, ast.Attribute):
        return Product(call, node, call.func.value, first=False)
    return None


def named_a_root(tree: Tree, start: ast.expr) -> bool:
    """Does the last name that the value gets before its product speak of a root (rms, std), not of an inverse?"""
    name = ""
    for node in carried(tree, start):
        stmt = tree.parent(node)
        if isinstance(node, ast.NamedExpr):
            name = node.target.id
        elif isinstance(stmt, ast.Assign | ast.AnnAssign):
            name = next(iter(names_of(stmt)), "")
        if (found := product_at(tree, node)) is not None and number(found.other) is None:
            break
    return _root_name(name)


def bound_to_root(tree: Tree, node: ast.expr) -> bool:
    """Is the expression what a name like rms or std is given?"""
    stmt = tree.parent(node)
    return isinstance(stmt, ast.Assign | ast.AnnAssign) and any(map(_root_name, names_of(stmt)))


def _root_name(name: str) -> bool:
    return bool(_ROOTS.search(name)) and not _INVERSES.search(name)


def read_once(tree: Tree, start: ast.expr) -> bool:
    """Is each name that the value gets before its product read no more than once?"""
    for node in carried(tree, start):
        stmt = tree.parent(node)
        if isinstance(stmt, ast.Assign | ast.AnnAssign) and len(_loads(tree, stmt)) > 1:
            return False
        if product_at(tree, node) is not None:
            return True
    return True
