"""Evaluate expressions symbolically; an expression that isn't modelled gives an opaque value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from normlint.evaluate import algebra, attributes, containers, functional, subscripts
from normlint.evaluate import syntax as s
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Input, Mono, Scalar, Size
from normlint.evaluate.objects import Env, FunctionRef, Instance
from normlint.evaluate.ops import contractions, measured, pieces
from normlint.evaluate.ops.powers import raise_to
from normlint.evaluate.ops.shaping import shaped_operator
from normlint.evaluate.ops.table import Bound
from normlint.evaluate.statements import bind_target
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    MOST_TEXT,
    AxesOf,
    Constant,
    Defined,
    Dict,
    Opaque,
    Path,
    Pieces,
    Product,
    Shape,
    Tup,
    Value,
    number,
    of_atom,
    scalar,
    tup,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace
from normlint.text.marks import any_reduction

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

ASSUMED = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "math": "math", "np": "numpy", "einops": "einops",
    "rearrange": "einops.rearrange",
}  # fmt: skip
MOST_ITEMS = 8  # iterations of a comprehension
BUILTINS = frozenset(
    "print len float int max min abs sum tuple list range getattr hasattr setattr isinstance type super bool str "
    "pow round map zip enumerate sorted reversed any all issubclass callable dict set id iter next vars filter".split()
)


def _name(m: Machine, env: Env, node: s.Name) -> Value:
    found = m.lookup(env, node.id)
    if found is not None:
        return found
    if node.id in BUILTINS:
        return Path(f"builtins.{node.id}")
    if node.id in ASSUMED:
        return Path(ASSUMED[node.id])
    if m.module.snippet:
        return _free(node)
    return Opaque(node.id)


def _free(node: s.Name) -> Value:
    """Return the value of a free name of a snippet: `self`, a size, an eps, or else a tensor."""
    if node.id == "self":
        return Defined(Instance(None), "self")
    low = node.id.lower()
    if "eps" in low or low in attributes.SIZES:
        return scalar(node.id)
    return of_atom(Input(node.id), DType.UNKNOWN, node.span)


def _literal(m: Machine, env: Env, node: s.Literal) -> Value:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return number(float(node.value), node.span) if abs(node.value) < 1e300 else Opaque("huge")
    return Constant(node.value)


def _attribute(m: Machine, env: Env, node: s.Attribute) -> Value:
    return attributes.get(m, m.eval(env, node.base), node.name, node.span)


def _call(m: Machine, env: Env, node: s.Call) -> Value:
    from normlint.evaluate import calls

    return calls.evaluate_call(m, env, node)


def _binary(m: Machine, env: Env, node: s.Binary) -> Value:
    return binary(m, node.op, m.eval(env, node.left), m.eval(env, node.right), node.span)


def binary(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
    """Return the value of `left op right`."""
    texts = [v.value for v in (left, right) if isinstance(v, Constant) and isinstance(v.value, str)]
    if op == "+" and len(texts) == 2:
        return _text(texts)
    if isinstance(left, Shape) and isinstance(right, Tup) and op == "+":
        left = Tup((left,))  # shape + (1,) is (*shape, 1)
    if isinstance(left, Tup) and isinstance(right, Tup) and op == "+":
        return tup(left.items + right.items)
    if isinstance(left, Tup) and op == "*":
        times = right.number
        sole = right.sole.atom if isinstance(right, Product) and right.sole else None
        if times is None and isinstance(sole, Size | Scalar) and left.items == (Constant(None),):
            return left  # one new axis for each length of a shape, which is taken to have one
        return tup(left.items * int(times)) if times is not None and 0 <= times <= 16 else Opaque("list")
    if not (isinstance(left, Product) or isinstance(right, Product)):
        return Opaque(m.module.source(span)[:80])
    a, b = algebra.as_product(left, span), algebra.as_product(right, span)
    m.flow(a, a.span)
    m.flow(b, b.span)
    if op == "@":
        result: Value | None = contractions.at_sign(m.ctx, a, b, span)
    else:
        result = _ARITHMETIC[op](a, b, span) if op in _ARITHMETIC else None
    whole = shaped_operator(m.ctx, op, a, b, result if result is not None else algebra.apply(op, (a, b), span))
    return measured.note(m.ctx, op, {"input": a, "other": b}, whole)


def _power(a: Product, b: Product, span: Span) -> Product | None:
    return raise_to(a, b, Bound("pow", span, {}))


def _floor(a: Product, b: Product, span: Span) -> Product | None:
    if a.number is not None and b.number:
        return number(float(a.number // b.number), span)
    whole = algebra.divide(a, b, span)
    counted = all(isinstance(f.atom, Size) and f.power > 0 for f in whole.mono.factors)
    return whole if counted and b.mono.coef == 1 and not whole.tensor else None


_ARITHMETIC: dict[str, Callable[[Product, Product, Span], Product | None]] = {
    "+": algebra.add,
    "-": algebra.subtract,
    "*": algebra.multiply,
    "/": algebra.divide,
    "**": _power,
    "//": _floor,
}


def _unary(m: Machine, env: Env, node: s.Unary) -> Value:
    if node.op == "not":
        return Constant(m.truth(env, node, _preferred_result(m)))
    value = m.eval(env, node.operand)
    if isinstance(value, Constant) and isinstance(value.value, bool):
        value = algebra.as_product(value, node.span)
    if isinstance(value, Product) and node.op in "-+":
        return algebra.negate(value, node.span) if node.op == "-" else value
    if isinstance(value, Product):
        return algebra.apply(node.op, (value,), node.span)
    return Opaque(f"{node.op}{value.text}") if isinstance(value, Opaque) else value


def _compare(m: Machine, env: Env, node: s.Compare) -> Value:
    """Evaluate a comparison: a mask for tensors, else the outcome on this path."""
    values = [m.eval(env, node.left), *(m.eval(env, e) for _, e in node.rights)]
    products = tuple(v for v in values if isinstance(v, Product))
    tensors = tuple(v for v in products if v.tensor)
    ops = {op for op, _ in node.rights}
    if ops == {"!="} and len(tensors) == 1 == len(node.rights) and len(products) == 2:
        return algebra.apply("ne", tuple(sorted(products, key=lambda v: not v.tensor)), node.span)
    if tensors and not ops & {"is", "is not", "in", "not in"}:
        operands = tensors if ops == {"=="} else products
        name = "eq" if ops == {"=="} else f"compare {' '.join(op for op, _ in node.rights)}"
        found = replace(algebra.apply(name, operands, node.span), dtype=DType.INT)
        given = dict(zip(("input", "other"), values, strict=False))
        return measured.note(m.ctx, next(iter(ops)), given, found) if len(values) == 2 else found
    return Constant(m.truth(env, node, _preferred_result(m)))


def _preferred_result(m: Machine) -> bool | None:
    """Return the result that the test which called this function prefers; None for either."""
    prefer, frame = m.ctx.prefer_result
    return prefer if frame == len(m.frames) else None


def _logic(m: Machine, env: Env, node: s.Logic) -> Value:
    """Evaluate `a or b` or `a and b` as the operand that the outcomes on this path select."""
    for one, following in pairwise(node.values):
        value = m.eval(env, one)
        if node.op == "or" and isinstance(value, Product) and not value.tensor:
            other = m.eval(env, following)
            if other.number == 0:
                return value  # n or 0 is n
        if m.truth(env, one) == (node.op == "or"):
            return value
    return m.eval(env, node.values[-1])


def _if_expr(m: Machine, env: Env, node: s.IfExpr) -> Value:
    return m.eval(env, node.body if m.truth(env, node.test) else node.orelse)


def _sequence(m: Machine, env: Env, node: s.Sequence) -> Value:
    items: list[Value] = []
    for part in node.items:
        if not isinstance(part, s.Starred):
            items.append(m.eval(env, part))
            continue
        value = m.eval(env, part.value)
        if isinstance(value, AxesOf) and len(node.items) == 1:
            return value
        items.extend(functional.items_of(m, value) or (functional.several(value),))
    return tup(tuple(items))


def _starred(m: Machine, env: Env, node: s.Starred) -> Value:
    return m.eval(env, node.value)


def _slice(m: Machine, env: Env, node: s.Slice) -> Value:
    return Constant("slice")


def _walrus(m: Machine, env: Env, node: s.Walrus) -> Value:
    value = m.eval(env, node.value)
    m.flow(value, node.span)
    env.names[node.target.id] = value
    m.carry(node.target.id, value)
    return value


def _comprehension(m: Machine, env: Env, node: s.Comprehension) -> Value:
    """Evaluate a comprehension as a list or dict of known items, the parts of a tensor, or axes from the end."""
    first = node.clauses[0]
    iterable = m.eval(env, first.iterable)
    plain = len(node.clauses) == len(node.elements) == 1 and not first.conditions and isinstance(first.target, s.Name)
    if plain and _is_same(node.elements[0], first.target) and _is_shape(iterable):
        return iterable  # [n for n in x.shape], tuple(int(n) for n in shape)
    scopes, parts = _scopes(m, env, node, iterable)
    known = bool(scopes) and node.kind != "async"
    scopes = scopes or [_unknown_scope(m, env, node, iterable)]
    rows = [tuple(m.eval(scope, e) for e in node.elements) for scope in scopes]
    for row in rows:
        for value, written in zip(row, node.elements, strict=True):
            m.flow(value, written.span)
    element = rows[0][0]
    if not known:
        backward = _is_range(iterable) and element.length is not None and _negative(element.length)
        return AxesOf() if backward else Opaque("list")
    if node.kind == "dict":
        return containers.made(rows)
    return Pieces(element) if parts else tup(tuple(row[0] for row in rows))


def _is_same(element: s.Expr, target: s.Expr) -> bool:
    """Return whether an element of a comprehension is its target, or the target as an int."""
    if isinstance(element, s.Call) and getattr(element.func, "id", "") == "int" and len(element.args) == 1:
        element = element.args[0].value
    return isinstance(element, s.Name) and isinstance(target, s.Name) and element.id == target.id


def _is_shape(value: Value) -> bool:
    """Return whether a value is a shape, or an argument that is iterated over as one."""
    return isinstance(value, Shape) or (isinstance(value, Product) and not value.tensor)


def _scopes(m: Machine, env: Env, node: s.Comprehension, first: Value) -> tuple[list[Env], bool]:
    """Return a scope for each iteration (none if unknown), and whether one stands for all parts of a tensor."""
    scopes, parts = [env], False
    for clause in node.clauses:
        inner: list[Env] = []
        for scope in scopes:
            iterable = first if clause is node.clauses[0] else m.eval(scope, clause.iterable)
            items = functional.items_of(m, iterable)
            one = pieces.each(m.ctx, iterable, node.span) if items is None else None
            parts = parts or one is not None
            if (items is None and one is None) or (parts and clause.conditions):
                return [], False
            for item in items if items is not None else (one,):
                turn = Env(parent=scope)
                bind_target(m, turn, clause.target, item or Opaque("item"))
                if all(m.truth(turn, condition) for condition in clause.conditions):
                    inner.append(turn)
        scopes = inner if len(inner) <= (1 if parts else MOST_ITEMS) else []
    return scopes, parts


def _unknown_scope(m: Machine, env: Env, node: s.Comprehension, iterable: Value) -> Env:
    """Return a scope in which the targets of a comprehension are unknown items."""
    scope = Env(parent=env)
    for clause in node.clauses:
        bind_target(m, scope, clause.target, scalar("index") if _is_range(iterable) else Opaque("item"))
        for test in clause.conditions:
            m.eval(scope, test)
    return scope


def _is_range(value: Value) -> bool:
    return isinstance(value, AxesOf) or (isinstance(value, Opaque) and value.text == "range")


def _negative(element: Mono) -> bool:
    """Return whether an element like -i, -(i + 1) or -1 - i is an axis counted from the end."""
    return element.coef < 0 or "-" in describe(element)[:3]


def _lambda(m: Machine, env: Env, node: s.Lambda) -> Value:
    ref = FunctionRef(node, env, "<lambda>")
    if any_reduction(m.module.text, node.span):
        m.waiting.append(ref)
    return Defined(ref, "<lambda>")


def _mapping(m: Machine, env: Env, node: s.Mapping) -> Value:
    held = Dict()
    for key, item in node.items:
        name = m.eval(env, key) if key is not None else None
        value = m.eval(env, item)
        m.flow(value, item.span)
        if name is not None:
            value = containers.made([(name, value)])
        held = (
            containers.stored(held, dict(value.items), more=value.more) if isinstance(value, Dict) else Dict((), True)
        )
    return held


def _text(parts: list[str]) -> Value:
    """Return the concatenation of strings; an opaque value if it is too long."""
    return Constant("".join(parts)) if sum(map(len, parts)) <= MOST_TEXT else Opaque("str")


def _joined(m: Machine, env: Env, node: s.Joined) -> Value:
    """Evaluate an f-string, whose text is known if all fields are strings."""
    fields = [part for part in node.parts if isinstance(part, s.Field)]
    held = {id(f): m.eval(env, f.value) for f in fields if not f.format and not f.conversion}
    parts = [part if isinstance(part, str) else getattr(held.get(id(part)), "value", None) for part in node.parts]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return _text(texts)
    return _unmodelled(m, env, node, (e for f in fields for e in (f.value, f.format) if e is not None))


def _other(m: Machine, env: Env, node: s.Other) -> Value:
    return _unmodelled(m, env, node, node.children)


def _unmodelled(m: Machine, env: Env, node: s.Expr, parts: Iterable[s.Expr]) -> Value:
    """Evaluate the parts of an expression that isn't modelled, and return an opaque value."""
    for part in parts:
        m.flow(m.eval(env, part), part.span)
    return Opaque(m.module.source(node.span)[:80], node.span)


EVALUATE: dict[type[Any], Callable[[Any, Env, Any], Value]] = {
    s.Name: _name, s.Literal: _literal, s.Attribute: _attribute, s.Call: _call, s.Binary: _binary, s.Unary: _unary,
    s.Compare: _compare, s.Logic: _logic, s.IfExpr: _if_expr, s.Subscript: subscripts.subscript, s.Slice: _slice,
    s.Sequence: _sequence, s.Mapping: _mapping, s.Starred: _starred, s.Walrus: _walrus, s.Comprehension: _comprehension,
    s.Lambda: _lambda, s.Joined: _joined, s.Other: _other,
}  # fmt: skip
