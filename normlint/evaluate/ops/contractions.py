"""What contracts two operands: a tensor with itself is a sum of squares, with a diagonal matrix it is scaled."""

from __future__ import annotations

from dataclasses import replace

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.monomial import NOWHERE, Apply, Mono
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.value import Constant, Product, Value, number
from normlint.text.finding import Span

_FIRST = ("input", "self", "mat1", "a")
_SECOND = ("other", "mat2", "vec", "vec2", "weight", "y", "b", "tensor")


def squared(ctx: Context, call: Bound, x: Product, axis: float, *, keepdim: bool = False) -> Product:
    """The sum of x² over one axis."""
    values = {"dim": Given(number(axis), NOWHERE), "keepdim": Given(Constant(keepdim), NOWHERE)}
    return reduce(ctx, replace(call, values=values), algebra.multiply(x, x, call.span), "sum")


def _operands(call: Bound) -> tuple[Product, Product] | None:
    one, two = call.product(*_FIRST), call.product(*_SECOND)
    return (one, two) if one is not None and two is not None and one.tensor and two.tensor else None


@op("vecdot")
def vecdot(ctx: Context, call: Bound) -> Value | None:
    """The products of two tensors, summed over an axis: the last unless told otherwise."""
    pair = _operands(call)
    if pair is None or pair[0].mono != pair[1].mono:
        return None
    dim = call.values.get("dim", Given(number(-1.0), NOWHERE))
    return reduce(ctx, replace(call, values={"dim": dim}), algebra.multiply(*pair, call.span), "sum")


@op("dot vdot inner")
def dot(ctx: Context, call: Bound) -> Value | None:
    """The product of two vectors; `inner` of two tensors of more axes is a matrix product."""
    pair = _operands(call)
    if pair is None or pair[0].mono != pair[1].mono or (call.name == "inner" and ctx.rank(pair[0]) != 1):
        return None
    return squared(ctx, call, pair[0], -1.0)


@op("matmul mm bmm mv linear")
def matmul(ctx: Context, call: Bound) -> Value | None:
    """A row of x times a column of x is its sum of squares; a diagonal matrix scales the last axis."""
    pair = _operands(call)
    return None if pair is None or call.get("bias") is not None else contract(ctx, *pair, call)


def contract(ctx: Context, x: Product, y: Product, call: Bound) -> Product | None:
    """X @ y, as far as it is followed."""
    scale = _diagonal_of(y)
    if scale is not None:
        return algebra.multiply(x, scale, call.span)
    if x.mono != y.mono or not x.layout or not y.layout or x.layout[:-1] != y.layout[:-1]:
        return None
    if not _row_and_column(x.layout[-1], y.layout[-1]):
        return None
    length = squared(ctx, call, replace(x, layout=x.layout[:-1], shape=None), -1.0, keepdim=True)
    return replace(length, layout=(*x.layout[:-1], ("axis", -1)))


def _row_and_column(row: tuple[object, ...], column: tuple[object, ...]) -> bool:
    """An axis of length 1 before the last of the one, and behind the last of the other."""
    if row[0] != "axis" or column[0] != "axis" or not isinstance(row[1], int) or not isinstance(column[1], int):
        return False
    return column[1] == row[1] + 1 and column[1] in (-1, 2, 3)


def _diagonal_of(y: Product) -> Product | None:
    """W of diag(w)."""
    sole = y.sole
    if sole is None or not isinstance(sole.atom, Apply) or sole.atom.name not in ("diag", "diag_embed"):
        return None
    monos = [a for a in sole.atom.args if isinstance(a, Mono)]
    return Product(monos[0], y.dtype, tensor=True, span=y.span) if len(sole.atom.args) == 1 and monos else None


def at_sign(ctx: Context, x: Product, y: Product, span: Span) -> Product:
    """`x @ y`."""
    found = contract(ctx, x, y, Bound("matmul", span, {})) if x.tensor and y.tensor else None
    return found or algebra.apply("@", (x, y), span)
