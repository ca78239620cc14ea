"""Evaluate vector norms, distances and `F.normalize`."""

from __future__ import annotations

from typing import Final

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dims import ONE_LONG, is_unread
from normlint.evaluate.monomial import NOWHERE, Scalar, raised
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.table import Bound, Given, of_input, op
from normlint.evaluate.value import Constant, Opaque, Product, Value, number
from normlint.text.frozen import replace

FROBENIUS: Final = "frobenius_norm"  # also the name of norm(x, "fro")


def _order(call: Bound) -> float | None:
    value = call.get("p", "ord")
    if value is None or (isinstance(value, Constant) and value.value in (None, "fro")):
        return 2.0
    if isinstance(value, Product) and value.sole and isinstance(value.sole.atom, Scalar):
        return value.sole.atom.default
    return value.number


def _length(ctx: Context, call: Bound, x: Product) -> Product | None:
    """Return the L2 or L1 norm of x as a sum, to the power ½ for L2; None for any other order."""
    order = _order(call)
    dtype = call.dtype(x.dtype)
    if order == 1:
        return reduce(ctx, call, algebra.absolute(x, x.span), "sum")
    squared = raised(x.mono, algebra.TWO, ()) if order == 2 else None
    if squared is None:
        return None
    wide = replace(x, mono=squared, dtype=dtype)
    if call.get("p", "ord") == Constant("fro"):
        call = replace(call, name=FROBENIUS)
    return algebra.power(reduce(ctx, call, wide, "sum", square=dtype), algebra.HALF, "norm", call.span)


@of_input("norm vector_norm frobenius_norm", tensor=True)
def norm(ctx: Context, call: Bound, x: Product) -> Value | None:
    return _length(ctx, call, x)


@op("mse_loss")
def squared_error(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `mse_loss` as the square of a difference, by default averaged over all axes."""
    x, target, how = call.product("input"), call.product("target"), call.get("reduction") or Constant("mean")
    kind = how.value if isinstance(how, Constant) else None
    if x is None or target is None or "weight" in call.values or kind not in ("none", "mean", "sum"):
        return None
    square = algebra.power(algebra.subtract(x, target, call.span), algebra.TWO, "square", call.span)
    return square if square is None or kind == "none" else reduce(ctx, replace(call, values={}), square, str(kind))


@op("dist pairwise_distance cdist")
def distance(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a distance as the norm of a difference over all axes or the last; `cdist` only of single rows."""
    x, other, eps = call.product("input", "x1"), call.product("other", "x2"), call.product("eps")
    pairs = call.name == "cdist"
    if x is None or other is None or (call.name == "pairwise_distance" and (eps is None or eps.number != 0)):
        return None
    if pairs and not all(ctx.shapes.axis(ctx.dims(one), -2) == ONE_LONG for one in (x, other)):
        return None
    values = {name: given for name, given in call.values.items() if name in ("p", "keepdim")}
    if call.name != "dist":
        values["dim"] = Given(number(-1.0), NOWHERE)
    if pairs:
        values["keepdim"] = Given(Constant(True), NOWHERE)
    return _length(ctx, replace(call, values=values), algebra.subtract(x, other, call.span))


@of_input("normalize", tensor=True)
def normalize(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `F.normalize` as x divided by its L2 norm over `dim` (default 1), clamped at eps (default 1e-12)."""
    if _order(call) != 2 or "out" in call.values:
        return None
    values = dict(call.values)
    default_dim = "dim" not in values
    if default_dim:
        rank = ctx.rank(x)
        unread = rank is None and is_unread(ctx.dims(x))
        values["dim"] = Given(Opaque("dim") if unread else number(-1.0 if rank == 2 else 1.0), NOWHERE)
    values["keepdim"] = Given(Constant(True), NOWHERE)
    squared = raised(x.mono, algebra.TWO, ())
    if squared is None:
        return None
    total_ = reduce(
        ctx, replace(call, values=values), replace(x, mono=squared), "sum", square=x.dtype,
        default_dim=default_dim, default_eps="eps" not in values,
    )  # fmt: skip
    length = algebra.power(total_, algebra.HALF, "norm", call.span)
    given = call.values.get("eps", Given(number(1e-12), NOWHERE))
    eps = algebra.as_product(given.value, given.span)
    assert length is not None
    return algebra.divide(x, algebra.clamp(length, eps, call.span), call.span)
