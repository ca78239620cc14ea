"""What contracts two operands: a tensor with itself is a sum of squares, with a diagonal matrix it is scaled."""

from __future__ import annotations

from dataclasses import replace

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.monomial import NOWHERE, Apply, Atom, Mono, Size
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.value import Constant, Product, Tup, Value, number
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
    return squared(ctx, call, pair[0], -1.0, keepdim=True)  # one number, which broadcasts


@op("cumsum")
def running_sum(ctx: Context, call: Bound) -> Value | None:
    """Sums up to each element; the last of them is the sum."""
    x, dim = call.product("input"), call.product("dim")
    if x is None or not x.tensor or dim is None or dim.number is None:
        return None
    return replace(algebra.apply("cumsum", (x, dim), call.span), layout=x.layout)


def last_of_sums(ctx: Context, sums: Product, *, keepdim: bool, span: Span) -> Product | None:
    """`x.cumsum(-1)[..., -1]` is `x.sum(-1)`."""
    atom = sums.sole.atom if sums.sole else None
    args = atom.args if isinstance(atom, Apply) and atom.name == "cumsum" else ()
    if len(args) != 2 or not isinstance(args[0], Mono) or args[1] != Mono(-1.0):
        return None
    x = Product(args[0], sums.dtype, tensor=True, layout=sums.layout, span=sums.span)
    values = {"dim": Given(number(-1.0), NOWHERE), "keepdim": Given(Constant(keepdim), NOWHERE)}
    return reduce(ctx, Bound("sum", span, values), x, "sum")


@op("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d")
def pooled(ctx: Context, call: Bound) -> Value | None:
    """Pooling to one element is the mean over the last axes, which are kept."""
    x, size = call.product("input"), call.get("output_size")
    lengths = size.items if isinstance(size, Tup) else (size,)
    if x is None or not x.tensor or any(not isinstance(s, Product) or s.number != 1 for s in lengths):
        return None
    axes = Tup(tuple(number(-float(i)) for i in range(int(call.name[-2]), 0, -1)))
    values = {"dim": Given(axes, call.span), "keepdim": Given(Constant(True), NOWHERE)}
    return reduce(ctx, replace(call, values=values), x, "mean")


@op("avg_pool1d")
def pooled_whole(ctx: Context, call: Bound) -> Value | None:
    """A window as long as the last axis, of which there is one."""
    x, window = call.product("input"), call.product("kernel_size")
    sole = window.sole if window else None
    if x is None or sole is None or not isinstance(sole.atom, Size) or sole.atom.axis != -1:
        return None
    if set(call.values) - {"input", "kernel_size"} or {f.atom for f in sole.atom.of.factors} != _bases(x):
        return None
    values = {"dim": Given(number(-1.0), call.span), "keepdim": Given(Constant(True), NOWHERE)}
    return reduce(ctx, replace(call, values=values), x, "mean")


def _bases(x: Product) -> set[Atom]:
    return {f.atom for f in x.mono.factors}


_PARTS = ("chunk", "tensor_split", "split", "unsafe_chunk", "unsafe_split")


@op("cat concat concatenate stack")
def joined(ctx: Context, call: Bound) -> Value | None:
    """All parts of a tensor, put together again along the axis by which it was taken apart."""
    parts, dim = call.product("tensors"), call.product("dim") or number(0.0)
    atom = parts.sole.atom if parts is not None and parts.sole else None
    if parts is None or not (isinstance(atom, Apply) and atom.args) or not isinstance(atom.args[0], Mono):
        return None
    taken = (atom.args[-1:] == (dim.mono,)) and atom.name in (("unbind",) if call.name == "stack" else _PARTS)
    return Product(atom.args[0], parts.dtype, tensor=True, span=call.span) if taken else None


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
