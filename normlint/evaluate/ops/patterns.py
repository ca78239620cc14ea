"""Evaluate reductions and repetitions written as einops patterns."""

from __future__ import annotations

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.monomial import NOWHERE, Mono
from normlint.evaluate.ops import shapes
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.shapes import with_axis
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.value import Constant, Path, Product, Tup, Value
from normlint.text.frozen import replace


@op("reduce")
def einops_reduce(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a mean or sum like `einops.reduce(x * x, "b n d -> b n 1", "mean")`."""
    x, pattern, reduction = call.product("input"), call.get("pattern"), call.get("reduction")
    kind = reduction.value if isinstance(reduction, Constant) else None
    kind = reduction.dotted.rpartition(".")[2] if isinstance(reduction, Path) else kind
    if x is None or not isinstance(pattern, Constant) or kind not in ("mean", "sum"):
        return None
    found = _einops_axes(str(pattern.value))
    if found is None:
        return None
    axes, keepdim = found
    everything = len(axes) == len(str(pattern.value).partition("->")[0].split())
    named = Constant(None) if everything else Tup(tuple(Product(Mono(float(a))) for a in axes))
    values = {"dim": Given(named, call.span_of("pattern")), "keepdim": Given(Constant(keepdim), NOWHERE)}
    return reduce(ctx, replace(call, values=values), x, str(kind))


def _einops_axes(pattern: str) -> tuple[tuple[int, ...], bool] | None:
    left, arrow, right = pattern.partition("->")
    names, out = left.split(), right.split()
    if not arrow or "(" in pattern or "..." in names[1:]:
        return None
    gone = tuple(i - len(names) for i, n in enumerate(names) if n not in out)
    kept = [n if n in out else "1" for n in names]
    if out == kept:
        return gone, True
    return (gone, False) if out == [n for n in names if n in out] else None


@op("repeat")
def repeated(ctx: Context, call: Bound) -> Value | None:
    """Evaluate einops.repeat(s, "... -> ... d", d=n) as a new last axis of a statistic; others as Tensor.repeat."""
    x, pattern = call.product("input"), call.get("pattern")
    left, _, right = str(pattern.value).partition("->") if isinstance(pattern, Constant) else ("", "", "")
    if x is not None and right.split()[:-1] == left.split() and algebra.is_statistic(x):
        return with_axis(x, -1)
    return shapes.repeated(ctx, call)
