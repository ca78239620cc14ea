"""Infer the shapes of views and flattened tensors, also with a length of -1."""

from __future__ import annotations

from normlint.evaluate.context import Context
from normlint.evaluate.dims import ONE_LONG, SCALAR, Changed, Dims, Exact, without
from normlint.evaluate.monomial import ONCE, Factor, Mono, Scalar, Size
from normlint.evaluate.ops.table import Given
from normlint.evaluate.value import Product, Shape, Tup, Value


def sizes(given: tuple[Given, ...]) -> tuple[Value, ...]:
    """Return the sizes that are passed one by one or as one tuple."""
    values = tuple(g.value for g in given)
    return values[0].items if len(values) == 1 and isinstance(values[0], Tup) else values


def numbers(values: tuple[Value, ...]) -> tuple[int, ...] | None:
    found = [v.number for v in values]
    return tuple(int(n) for n in found if n is not None) if values and None not in found else None


def is_from_end(axis: Product | None) -> bool:
    """Return whether an axis is -len(shape), which is -1 for a shape of one length."""
    factors = axis.mono.factors if axis is not None and not axis.tensor and axis.mono.coef == -1 else ()
    return len(factors) == 1 and factors[0].power == 1 and isinstance(factors[0].atom, Size | Scalar)


def viewed(ctx: Context, dims: Dims, values: tuple[Value, ...]) -> Dims | None:
    """Return the shape of `x.view(*values)`; None where an argument is a whole shape."""
    if not values or any(isinstance(v, Shape) for v in values) or (len(values) == 1 and not is_length(values[0])):
        return None
    return Exact(split(ctx, _product(ctx, ctx.shapes.lengths(dims)), values))


def is_length(value: Value | None) -> bool:
    """Return whether a value is a number or a length, and no tuple."""
    return isinstance(value, Product) and all(isinstance(f.atom, Size) for f in value.mono.factors)


def _length(value: Value) -> Mono | None:
    return None if value.number == -1 else value.length


def split(ctx: Context, whole: Mono | None, values: tuple[Value, ...]) -> tuple[Mono | None, ...]:
    """Return the lengths as written, with -1 replaced by the quotient of the whole and the others, or None."""
    found = [_length(v) for v in values]
    open_ = [i for i, v in enumerate(values) if v.number == -1]
    if whole is None or len(open_) != 1 or found.count(None) != 1:
        return tuple(found)
    found[open_[0]] = quotient(whole, _product(ctx, tuple(n for n in found if n is not None)))
    return tuple(found)


def _product(ctx: Context, lengths: tuple[Mono | None, ...] | None) -> Mono | None:
    whole = Mono()
    for length in lengths or ():
        if length is None:
            return None
        whole = whole.times(ctx.shapes.find(length))
    return None if lengths is None or len(whole.factors) > 8 else whole


def quotient(whole: Mono | None, part: Mono | None) -> Mono | None:
    """Return whole / part if that is a product of lengths; None otherwise."""
    if whole is None or part is None or not part.coef:
        return None
    inverse = Mono(1 / part.coef, tuple(Factor(f.atom, -f.power) for f in part.factors))
    left = whole.times(inverse)
    return left if all(f.power >= ONCE for f in left.factors) and left.coef.is_integer() else None


def ones(ctx: Context, dims: Dims, values: tuple[Value, ...]) -> tuple[int, ...] | None:
    """Return the axes that are 1 in a size such as (*x.shape[:-1], 1) of x's rank; None where they are unknown."""
    first = values[0] if values else None
    rest = values[1:] if isinstance(first, Shape) else values
    if isinstance(first, Shape):
        head = first.start in (None, 0) and first.stop == (-len(rest) or None)
        as_many = head and ctx.dims(first.of) == dims
    else:
        as_many = ctx.shapes.rank(dims) == len(rest)
    if not as_many or any(_length(v) is None for v in rest):
        return None
    return tuple(i - len(rest) for i, v in enumerate(rest) if _length(v) == ONE_LONG)


def flattened(ctx: Context, dims: Dims, start: int, end: int) -> Dims | None:
    """Return the shape with the axes from start to end flattened into one; None if it is unknown."""
    rank = ctx.shapes.rank(dims)
    if rank is not None and rank > 0 and -rank <= min(start, end) and max(start, end) < rank:
        start, end = start % rank - rank, end % rank - rank
    if (start, end) == (0, -1):
        return Exact((None,))
    if start == 0 and end < -1:
        return Exact((None, *(ctx.shapes.axis(dims, i) for i in range(end + 1, 0))))
    if start >= 0 and end == -1 and start < 4:
        return Exact((*(ctx.shapes.axis(dims, i) for i in range(start)), None))
    if (start < 0) != (end < 0) or end < start or (rank == 0 and dims == SCALAR):
        return None
    whole = _product(ctx, tuple(ctx.shapes.axis(dims, i) for i in range(start, end + 1)))
    gone = tuple(range(start, end)) if start < 0 else tuple(range(start + 1, end + 1))
    left = without(dims, gone)
    return Changed(left, ((end if start < 0 else start, whole),))
