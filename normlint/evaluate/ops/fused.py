"""Evaluate torch's fused norms as the same products as norms written out, so that the same rules apply to them."""

from __future__ import annotations

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import ALL, TRAILING, Axes, Centred, Mono, Stat, raised
from normlint.evaluate.ops.table import Bound, of_input
from normlint.evaluate.value import Constant, Product, Shape, Tup, Value, number, of_atom, scalar
from normlint.text import operations
from normlint.text.frozen import replace

FUSED = tuple(operations.FUSED.split())


@of_input("rms_norm", tensor=True)
def rms_norm(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `F.rms_norm`, in which an eps of None is `torch.finfo(x.dtype).eps`, added under the root."""
    return _norm(ctx, call, x, x, scalar("finfo"))


@of_input("layer_norm native_layer_norm", tensor=True)
def layer_norm(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `F.layer_norm`, and `native_layer_norm`, which also returns the mean and inverse deviation."""
    mean = Stat(Mono(1.0, x.mono.factors), "mean", _axes(ctx, call, x), keepdim=True, layout=x.layout, span=call.span)
    centred = replace(of_atom(Centred(x.mono, mean, call.span), x.dtype, call.span), layout=x.layout, shape=x.shape)
    result = _norm(ctx, call, x, centred, number(1e-5))
    if result is None or call.name == "layer_norm":
        return result
    others = (algebra.opaque(word, (x.mono,), call.span) for word in ("mean", "rstd"))
    return Tup((result, *others))


def _norm(ctx: Context, call: Bound, x: Product, centred: Product, default: Product) -> Product | None:
    """Return the centred input over the root of its mean square in fp32, with gain and bias, in the dtype of x."""
    squared = raised(centred.mono, algebra.TWO, ())
    if squared is None:
        return None
    stat = Stat(
        squared, "mean", _axes(ctx, call, x), keepdim=True, layout=x.layout, square=DType.FP32, accumulate=DType.FP32,
        spelled=call.name, rank=ctx.rank(x), span=call.span, inner_span=x.span, no_grad=not ctx.grad,
        over=ctx.dims(x),
    )  # fmt: skip
    mean_square = replace(of_atom(stat, DType.FP32, call.span), layout=x.layout)
    under = algebra.add(mean_square, _eps(call, default), call.span)
    inverse = algebra.power(under, -algebra.HALF, "rsqrt", call.span)
    assert inverse is not None
    result = algebra.multiply(centred, inverse, call.span)
    for name, combine in (("weight", algebra.multiply), ("bias", algebra.add)):
        other = call.get(name)
        if isinstance(other, Product):
            result = combine(result, other, call.span)
    return replace(result, dtype=x.dtype, shape=x.shape, span=call.span)


def _eps(call: Bound, default: Product) -> Product:
    given = call.get("eps")
    if given is None or given == Constant(None):
        return default
    return replace(algebra.as_product(given, call.span_of("eps")), tensor=False)


def _axes(ctx: Context, call: Bound, x: Product) -> Axes:
    """Return as many last axes as normalized_shape has lengths."""
    match call.get("normalized_shape"):
        case Tup(items=items) if items:
            return tuple(range(-len(items), 0))
        case Shape(of=of, start=start, stop=None) if of.mono == x.mono:
            rank = ctx.rank(x)
            if start is None or (start == 0 and rank is None):
                return ALL
            if start < 0:
                return tuple(range(start, 0))
            return tuple(range(start - rank, 0)) if rank is not None else None
    return TRAILING
