"""Evaluate casts, which change the dtype of a value, and detaching, which adds a step to its factors."""

from __future__ import annotations

from typing import Final

from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import NAMED, DType, promote
from normlint.evaluate.monomial import Step
from normlint.evaluate.ops.table import Bound, of_input, op
from normlint.evaluate.value import Constant, Dtype, Opaque, Product, Value
from normlint.text.finding import Span
from normlint.text.frozen import replace

_OPEN: Final = (DType.INPUT, DType.PARAM, DType.UNKNOWN)


def cast(x: Product, dtype: DType, span: Span, ctx: Context | None = None) -> Product:
    """Return x in another dtype; it may share x's memory, since `.float()` of an fp32 tensor is no copy."""
    if not x.tensor:
        return replace(x, span=span)
    other = dtype is not x.dtype and x.dtype not in _OPEN and dtype not in _OPEN
    if other or (ctx is not None and dtype.value not in ctx.possible.get(x.dtype, {dtype.value})):
        x = replace(x, alias="")  # on this path the dtype differs, so the cast copies
    return replace(x, mono=x.mono.stepped(Step("cast", span, dtype)), dtype=dtype, span=span)


@of_input("float double half bfloat16 int long bool")
def named(ctx: Context, call: Bound, x: Product) -> Value | None:
    return cast(x, NAMED[call.name], call.span, ctx)


def _target(value: Value) -> DType | None:
    """Return the dtype that an argument of `.to` names; None where it names a device."""
    match value:
        case Dtype(dtype=dtype):
            return dtype
        case Product(tensor=True, dtype=dtype):
            return dtype
        case Constant(value=str() as text):
            return NAMED.get(text.removeprefix("torch.").removeprefix("cuda."))
        case Opaque(text=text) if "dtype" in text or "dev" not in text.lower():
            return DType.UNKNOWN
    return None


_UNKNOWN_ARGUMENTS: Final = ("unknown dtype", "unknown device", "unknown other")  # that may be another one's


@op("to type asarray as_tensor")
def to(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `.to(dtype)`, `.to(other)`, `.to(device)` and `.to(device, dtype)`."""
    x = call.product("input", "data", "obj")
    if x is None:
        return None
    given = [call.values[name].value for name in ("dtype", "device", "other") if name in call.values]
    given = [v for v in given if not (isinstance(v, Opaque) and v.text in _UNKNOWN_ARGUMENTS)]
    targets = [t for t in map(_target, given) if t is not None]
    if call.flag("copy", False):
        x = replace(x, alias="")
    if targets:
        return cast(x, targets[0], call.span, ctx)
    unknown = any(isinstance(v, Product) for v in given)
    return cast(x, DType.UNKNOWN, call.span) if unknown else replace(x, span=call.span)


@of_input("type_as")
def type_as(ctx: Context, call: Bound, x: Product) -> Value | None:
    other = call.product("other")
    return cast(x, other.dtype if other else DType.UNKNOWN, call.span)


@op("promote_types result_type")
def promoted(ctx: Context, call: Bound) -> Value | None:
    found = [_target(given.value) for given in call.values.values()]
    known = [d for d in found if d not in (None, DType.UNKNOWN)]
    return Dtype(promote(known[0], known[1])) if len(known) == 2 else None


@of_input("detach stop_gradient")
def detach(ctx: Context, call: Bound, x: Product) -> Value | None:
    return replace(x, mono=x.mono.stepped(Step("detach", call.span)), span=call.span)


@of_input("item tolist")
def item(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `.item()` as a Python number, which has no gradient and no dtype."""
    return replace(x, mono=x.mono.stepped(Step("item", call.span)), tensor=False, dtype=DType.WEAK, span=call.span)


@of_input("numpy")
def array(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `.numpy()` as an array, which has numpy's methods and dtypes; unknown if x has a statistic."""
    return None if x.mono.has_stat else replace(x, mono=x.mono.stepped(Step("numpy", call.span)), span=call.span)
