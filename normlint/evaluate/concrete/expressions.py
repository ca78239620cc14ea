"""Interpret expressions with Python's operators."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete import attributes, calls, classes, functions, statements, world
from normlint.evaluate.concrete.values import (
    COMPREHENSION,
    FUNCTION,
    MODULE,
    MOST_ITEMS,
    Scope,
    Typing,
    Unknown,
    Unsupported,
    known,
)


def evaluate(scope: Scope, node: s.Expr) -> Any:
    """Return the value of an expression."""
    scope.program.budget.step()
    return _EVALUATE[type(node)](scope, node)


# --- names -----------------------------------------------------------------------------------------------------------


def _name(scope: Scope, node: s.Name) -> Any:
    name = node.id
    refuse_mangled(scope, name)
    here: Scope | None = scope
    if scope.declared.get(name) == "global":
        return scope.program.value(name)
    while here is not None and here.kind != MODULE:
        if name in here.names:
            return here.names[name]
        if name in here.local and here.kind == FUNCTION:
            kind = UnboundLocalError if here is scope else NameError
            raise kind(f"cannot access variable {name!r} where it is not associated with a value")
        here = here.parent
    return scope.program.value(name)


def refuse_mangled(scope: Scope, name: str) -> None:
    """Raise `Unsupported` for a private name, which Python mangles in a class."""
    if name.startswith("__") and not name.endswith("__") and scope.cell is not None:
        raise Unsupported("name mangling")


def store_name(scope: Scope, name: str, value: Any) -> None:
    """Assign a name in the scope that it belongs to."""
    refuse_mangled(scope, name)
    owner_of(scope, name).names[name] = value


def owner_of(scope: Scope, name: str) -> Scope:
    """Return the scope in which an assignment binds the name."""
    word = scope.declared.get(name)
    if word == "global":
        scope.program.settle(name)
        return scope.program.scope
    here = scope
    if word == "nonlocal":
        while here.parent is not None and here.parent.kind != MODULE:
            here = here.parent
            if name in here.local:
                return here
        raise Unsupported("nonlocal without a name")
    return scope


def _walrus(scope: Scope, node: s.Walrus) -> Any:
    value = evaluate(scope, node.value)
    here = scope
    while here.kind == COMPREHENSION and here.parent is not None:
        here = here.parent
    store_name(here, node.target.id, value)
    return value


# --- operators -------------------------------------------------------------------------------------------------------

_BINARY = {op: getattr(operator, name) for name, op in s.OPERATORS.items()}
_IN_PLACE = {op: getattr(operator, f"i{name.rstrip('_')}") for name, op in s.OPERATORS.items()}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": operator.is_, "is not": operator.is_not,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


def binary(op: str, left: Any, right: Any, *, in_place: bool = False) -> Any:
    """Return `left op right`; raise `Unsupported` where the result would be huge."""
    known(left)
    known(right)
    if op == "%" and isinstance(left, str | bytes):
        raise Unsupported("% formatting")
    if isinstance(left, int) and isinstance(right, int):
        _bounded_number(op, left, right)
    elif isinstance(left, str | list | tuple | bytes) or isinstance(right, str | list | tuple | bytes):
        _bounded_items(op, left, right)
    elif world.is_torch(left, "Tensor") and world.is_torch(right, "Tensor"):
        _bounded_tensor(left, right)
    return (_IN_PLACE if in_place else _BINARY)[op](left, right)


def _bounded_tensor(left: Any, right: Any) -> None:
    """Raise `Unsupported` if two tensors broadcast to a huge one."""
    if left.numel() * right.numel() > calls.MOST_ELEMENTS:
        lengths = zip_longest(reversed(left.shape), reversed(right.shape), fillvalue=1)
        if math.prod(max(pair) for pair in lengths) > calls.MOST_ELEMENTS:
            raise Unsupported("a huge tensor")


def _bounded_number(op: str, left: int, right: int) -> None:
    bits = 0
    if op == "**":
        bits = left.bit_length() * abs(right) if abs(left) > 1 else 0
    elif op == "<<":
        bits = left.bit_length() + max(right, 0)
    elif op == "*":
        bits = left.bit_length() + right.bit_length()
    if bits > MOST_ITEMS:
        raise Unsupported("a number of a million digits")


def _bounded_items(op: str, left: Any, right: Any) -> None:
    lengths = [len(x) if isinstance(x, str | list | tuple | bytes) else x for x in (left, right)]
    if not all(isinstance(n, int) for n in lengths):
        return
    if (op == "*" and lengths[0] * lengths[1] > MOST_ITEMS) or (op == "+" and sum(lengths) > MOST_ITEMS):
        raise Unsupported("a million items")


def _binary(scope: Scope, node: s.Binary) -> Any:
    return binary(node.op, evaluate(scope, node.left), evaluate(scope, node.right))


def _unary(scope: Scope, node: s.Unary) -> Any:
    return _UNARY[node.op](known(evaluate(scope, node.operand)))


def _compare(scope: Scope, node: s.Compare) -> Any:
    left = evaluate(scope, node.left)
    result: Any = True
    for i, (op, right_node) in enumerate(node.rights, 1):
        right = evaluate(scope, right_node)
        for one in (left, right):
            if isinstance(one, Unknown) and (one.part or op not in ("is", "is not")):
                one.refuse()
        result = _COMPARE[op](left, right)
        if i < len(node.rights) and not result:
            return result
        left = right
    return result


def _logic(scope: Scope, node: s.Logic) -> Any:
    for one in node.values[:-1]:
        value = evaluate(scope, one)
        if bool(value) == (node.op == "or"):
            return value
    return evaluate(scope, node.values[-1])


def _if(scope: Scope, node: s.IfExpr) -> Any:
    return evaluate(scope, node.body if evaluate(scope, node.test) else node.orelse)


# --- containers ------------------------------------------------------------------------------------------------------


def _sequence(scope: Scope, node: s.Sequence) -> Any:
    items = unstarred(scope, node.items)
    return {"tuple": tuple, "set": set}.get(node.kind, list)(items)


def unstarred(scope: Scope, nodes: tuple[s.Expr, ...]) -> list[Any]:
    """Return the values of expressions, with starred ones unpacked."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, s.Starred):
            found.extend(evaluate(scope, node.value))
        else:
            found.append(evaluate(scope, node))
    return found


def _mapping(scope: Scope, node: s.Mapping) -> Any:
    found: dict[Any, Any] = {}
    for key, value in node.items:
        if key is None:
            found.update(evaluate(scope, value))
        else:
            name = evaluate(scope, key)
            found[name] = evaluate(scope, value)
    return found


def _slice(scope: Scope, node: s.Slice) -> Any:
    return slice(*(None if part is None else evaluate(scope, part) for part in node.parts))


def _subscript(scope: Scope, node: s.Subscript) -> Any:
    base = evaluate(scope, node.base)
    key = index(scope, node)
    if isinstance(base, type):
        if classes.is_interpreted(base):
            raise Unsupported("a class with brackets")
        return Typing()
    return base[key]


def index(scope: Scope, node: s.Subscript) -> Any:
    """Return the value of a subscript's index."""
    values = unstarred(scope, node.index)
    return tuple(values) if node.several or len(values) != 1 else values[0]


# --- comprehensions --------------------------------------------------------------------------------------------------


def _comprehension(scope: Scope, node: s.Comprehension) -> Any:
    first = iter(evaluate(scope, node.clauses[0].iterable))
    inner = Scope(scope.program, COMPREHENSION, {}, scope.seen, scope.cell, declared=scope.declared)
    items = _items(inner, node, 0, first)
    if node.kind == "generator":
        return (item[0] for item in items)
    if node.kind == "dict":
        return dict(items)
    if node.kind == "async":
        raise Unsupported("async comprehensions")
    return {"list": list, "set": set}[node.kind](item[0] for item in items)


def _items(scope: Scope, node: s.Comprehension, depth: int, iterable: Any) -> Iterator[tuple[Any, ...]]:
    clause = node.clauses[depth]
    for item in iterable:
        scope.program.budget.step()
        statements.assign(scope, clause.target, item)
        if not all(evaluate(scope, test) for test in clause.conditions):
            continue
        if depth + 1 < len(node.clauses):
            yield from _items(scope, node, depth + 1, evaluate(scope, node.clauses[depth + 1].iterable))
        else:
            yield tuple(evaluate(scope, element) for element in node.elements)


# --- strings ---------------------------------------------------------------------------------------------------------


def _joined(scope: Scope, node: s.Joined) -> str:
    return "".join(part if isinstance(part, str) else _field(scope, part) for part in node.parts)


def _field(scope: Scope, node: s.Field) -> str:
    value = evaluate(scope, node.value)
    spec = str(evaluate(scope, node.format)) if node.format else ""
    if _WIDE.search(spec):
        raise Unsupported("a wide format")
    attributes.refuse_odd_text(value)
    return format(_CONVERT[node.conversion](value) if node.conversion else value, spec)


_WIDE = re.compile(r"\d{4}")
_CONVERT: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def _other(scope: Scope, node: s.Other) -> Any:
    raise Unsupported({"Yield": "generators", "YieldFrom": "generators", "Await": "await"}.get(node.word, node.word))


# --- the table -------------------------------------------------------------------------------------------------------


def _starred(scope: Scope, node: s.Starred) -> Any:
    raise Unsupported("a starred expression here")


def _literal(_: Scope, node: s.Literal) -> Any:
    return node.value


def _attribute(scope: Scope, node: s.Attribute) -> Any:
    refuse_mangled(scope, node.name)
    base = evaluate(scope, node.base)
    if world.is_backend(base) and scope.program.sets_backends:
        raise Unsupported(f"{base.path}.{node.name}, which may have been set")
    return attributes.get(base, node.name)


_EVALUATE: dict[type[Any], Callable[[Any, Any], Any]] = {
    s.Name: _name, s.Literal: _literal, s.Attribute: _attribute, s.Call: calls.evaluate_call, s.Binary: _binary,
    s.Unary: _unary, s.Compare: _compare, s.Logic: _logic, s.IfExpr: _if, s.Subscript: _subscript, s.Slice: _slice,
    s.Sequence: _sequence, s.Mapping: _mapping, s.Starred: _starred, s.Walrus: _walrus, s.Comprehension: _comprehension,
    s.Lambda: functions.make, s.Joined: _joined, s.Other: _other,
}  # fmt: skip
