"""Expressions to values. What has no meaning here is opaque; nothing raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from normlint.evaluate import algebra, attributes
from normlint.evaluate import syntax as s
from normlint.evaluate.dtypes import DType
from normlint.evaluate.objects import Env, FunctionRef
from normlint.evaluate.ops import shapes
from normlint.evaluate.ops.powers import raise_to
from normlint.evaluate.ops.table import Bound
from normlint.evaluate.truth import describe, truth
from normlint.evaluate.value import (
    AxesOf,
    Constant,
    Defined,
    Input,
    Mono,
    Opaque,
    Path,
    Product,
    Shape,
    Size,
    Tup,
    Value,
    number,
    of_atom,
    scalar,
)

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

__all__ = ["evaluate", "truth"]

ASSUMED = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "math": "math", "np": "numpy", "einops": "einops",
    "rearrange": "einops.rearrange",
}  # fmt: skip
BUILTINS = frozenset(
    "print len float int max min abs sum tuple list range getattr hasattr setattr isinstance type super bool str "
    "pow round map zip enumerate sorted reversed any all issubclass callable dict set id iter next".split()
)


def evaluate(m: Machine, env: Env, node: s.Expr) -> Value:
    value = _EVALUATE[type(node)](m, env, node)
    return replace(value, span=node.span) if isinstance(value, Product) and value.span != node.span else value


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
    """A name that a snippet leaves to its reader: a size, an eps, else a tensor."""
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


def binary(m: Machine, op: str, left: Value, right: Value, span: s.Span) -> Value:
    """`left op right`."""
    if isinstance(left, Tup) and isinstance(right, Tup) and op == "+":
        return Tup(left.items + right.items)
    if isinstance(left, Tup) and op == "*":
        return left
    if not (isinstance(left, Product) or isinstance(right, Product)):
        return Opaque(m.module.source(span)[:80])
    a, b = algebra.as_product(left, span), algebra.as_product(right, span)
    m.flow(a, a.span)
    m.flow(b, b.span)
    for operand in (a, b):
        m.ctx.uses(operand.mono)
    result = _ARITHMETIC[op](a, b, span) if op in _ARITHMETIC else None
    return result if result is not None else algebra.apply(op, (a, b), span)


def _power(a: Product, b: Product, span: s.Span) -> Product | None:
    return raise_to(a, b, Bound("pow", span, {}))


def _floor(a: Product, b: Product, span: s.Span) -> Product | None:
    if a.number is not None and b.number:
        return number(float(a.number // b.number), span)
    return None


_ARITHMETIC: dict[str, Callable[[Product, Product, s.Span], Product | None]] = {
    "+": algebra.add,
    "-": algebra.subtract,
    "*": algebra.multiply,
    "/": algebra.divide,
    "**": _power,
    "//": _floor,
}


def _unary(m: Machine, env: Env, node: s.Unary) -> Value:
    if node.op == "not":
        return Constant(not m.truth(env, node.operand))
    value = m.eval(env, node.operand)
    if isinstance(value, Product) and node.op in "-+":
        return algebra.negate(value, node.span) if node.op == "-" else value
    return algebra.apply(node.op, (value,), node.span) if isinstance(value, Product) else value


def _test(m: Machine, env: Env, node: s.Compare) -> Value:
    """A comparison as a value: of tensors a mask, else the outcome on this path."""
    values = [m.eval(env, node.left), *(m.eval(env, e) for _, e in node.rights)]
    tensors = tuple(v for v in values if isinstance(v, Product) and v.tensor)
    ops = {op for op, _ in node.rights}
    if tensors and not ops & {"is", "is not", "in", "not in"}:
        return replace(algebra.apply("compare", tensors, node.span), dtype=DType.INT)
    return Constant(m.truth(env, node))


def _logic(m: Machine, env: Env, node: s.Logic) -> Value:
    """`a or b` as a value: a where the test says so."""
    left = m.eval(env, node.left)
    taken = m.truth(env, node.left)
    return left if taken == (node.op == "or") else m.eval(env, node.right)


def _if_expr(m: Machine, env: Env, node: s.IfExpr) -> Value:
    return m.eval(env, node.body if m.truth(env, node.test) else node.orelse)


def _subscript(m: Machine, env: Env, node: s.Subscript) -> Value:
    base = m.eval(env, node.base)
    if isinstance(base, Shape | Tup):
        return _item(m, env, base, node.index, node.span)
    if isinstance(base, Product):
        return _tensor_item(m, env, base, node)
    if isinstance(base, Constant | Defined | Path):
        return Opaque(m.module.source(node.span)[:80])
    return algebra.opaque(m.module.source(node.span)[:80], (), node.span)


def _bound(m: Machine, env: Env, node: s.Expr | None) -> int | None:
    value = m.eval(env, node) if node is not None else None
    return int(value.number) if isinstance(value, Product) and value.number is not None else None


def _item(m: Machine, env: Env, base: Shape | Tup, index: tuple[s.Expr, ...], span: s.Span) -> Value:
    first = index[0]
    if isinstance(first, s.Slice):
        start, stop = _bound(m, env, first.lower), _bound(m, env, first.upper)
        if isinstance(base, Tup):
            return Tup(base.items[start:stop])
        return replace(base, start=start, stop=stop)
    at = _bound(m, env, first)
    if at is None:
        return scalar(m.module.source(span)[:80])
    if isinstance(base, Tup):
        return base.items[at] if -len(base.items) <= at < len(base.items) else Opaque("item")
    return size(m, base, at)


def size(m: Machine, shape: Shape, at: int) -> Value:
    """One length out of a shape."""
    if shape.start is not None and at >= 0:
        at += shape.start
    if shape.stop is not None and at < 0:
        at += shape.stop
    rank = m.ctx.rank(shape.of)
    if shape.of.shape is not None and -len(shape.of.shape) <= at < len(shape.of.shape):
        known = shape.of.shape[at]
        if known is not None:
            return Product(known)
    axis = at - rank if rank is not None and at >= 0 else at
    return of_atom(Size(Mono(1.0, shape.of.mono.factors), axis, shape.of.layout), DType.WEAK, tensor=False)


def _tensor_item(m: Machine, env: Env, base: Product, node: s.Subscript) -> Value:
    """`x[..., None]` puts an axis back; other indices make a new tensor of the same dtype."""
    index = [m.eval(env, i) if not isinstance(i, s.Slice) else i for i in node.index]
    sole = base.sole
    if not base.tensor and sole is not None:
        return scalar(f"{describe(base)}[{m.module.source(node.span)[-12:]}]")
    plain = all(_is_full(i) for i in index)
    if plain and any(isinstance(i, Constant) and i.value is None for i in index):
        at = [isinstance(i, Constant) and i.value is None for i in index].index(True)
        last = isinstance(index[-1], Constant) and index[-1].value is None
        return shapes.with_axis(base, -1 if last else at)
    if plain:
        return base
    key = tuple(_index_key(m, env, i, e) for i, e in zip(index, node.index, strict=True))
    result = algebra.opaque("index", (base.mono, key), node.span)
    return replace(result, dtype=base.dtype, alias=base.alias)


def _is_full(item: object) -> bool:
    if isinstance(item, s.Slice):
        return item.lower is item.upper is item.step is None
    return isinstance(item, Constant) and item.value in (None, ...)


def _index_key(m: Machine, env: Env, item: object, node: s.Expr) -> object:
    if isinstance(item, s.Slice):
        parts = (item.lower, item.upper, item.step)
        return ("slice", *(describe(m.eval(env, p)) if p is not None else None for p in parts))
    return item.mono if isinstance(item, Product) else m.module.source(node.span)


def _sequence(m: Machine, env: Env, node: s.Sequence) -> Value:
    items: list[Value] = []
    for part in node.items:
        if not isinstance(part, s.Starred):
            items.append(m.eval(env, part))
            continue
        value = m.eval(env, part.value)
        items.extend(value.items if isinstance(value, Tup) else (value,))
    return Tup(tuple(items))


def _starred(m: Machine, env: Env, node: s.Starred) -> Value:
    return m.eval(env, node.value)


def _slice(m: Machine, env: Env, node: s.Slice) -> Value:
    return Constant("slice")


def _walrus(m: Machine, env: Env, node: s.Walrus) -> Value:
    value = m.eval(env, node.value)
    m.flow(value, node.span)
    env.names[node.target.id] = value
    return value


def _comprehension(m: Machine, env: Env, node: s.Comprehension) -> Value:
    iterable = m.eval(env, node.iterable)
    if isinstance(iterable, AxesOf):
        return iterable
    inner = Env(parent=env)
    item: Value = Opaque("item")
    if isinstance(iterable, Opaque) and iterable.text == "range":
        item = scalar("index")
    if isinstance(iterable, Product):
        item = replace(algebra.opaque("item", (iterable.mono,), node.span), dtype=iterable.dtype)
    from normlint.evaluate.statements import bind_target

    bind_target(m, inner, node.target, item)
    element = m.eval(inner, node.element)
    m.flow(element, node.element.span)
    counted = isinstance(iterable, Opaque) and iterable.text == "range" and isinstance(element, Product)
    if counted and not element.tensor and _negative(element):  # type: ignore[union-attr]
        return AxesOf()
    return Opaque("list")


def _negative(element: Product) -> bool:
    """-i, -(i + 1), -1 - i: axes counted from the end."""
    return element.mono.coef < 0 or "-" in describe(element)[:3]


def _lambda(m: Machine, env: Env, node: s.Lambda) -> Value:
    return Defined(FunctionRef(node, env, "<lambda>"), "<lambda>")


def _other(m: Machine, env: Env, node: s.Other | s.Mapping) -> Value:
    if isinstance(node, s.Mapping):
        children = [e for pair in node.items for e in pair if e is not None]
    else:
        children = list(node.children)
    for child in children:
        m.flow(m.eval(env, child), child.span)
    return Opaque(m.module.source(node.span)[:80], node.span)


_EVALUATE: dict[type[Any], Callable[[Any, Env, Any], Value]] = {
    s.Name: _name,
    s.Literal: _literal,
    s.Attribute: _attribute,
    s.Call: _call,
    s.Binary: _binary,
    s.Unary: _unary,
    s.Compare: _test,
    s.Logic: _logic,
    s.IfExpr: _if_expr,
    s.Subscript: _subscript,
    s.Slice: _slice,
    s.Sequence: _sequence,
    s.Mapping: _other,
    s.Starred: _starred,
    s.Walrus: _walrus,
    s.Comprehension: _comprehension,
    s.Lambda: _lambda,
    s.Other: _other,
}
