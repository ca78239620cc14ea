"""Reductions written as patterns, einsum and einops, and the product of a tensor with itself."""

from __future__ import annotations

from dataclasses import replace

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.monomial import NOWHERE, Mono
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.shapes import is_param, placed
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.value import Constant, Product, Tup, Value
from normlint.text.finding import Span


@op("einsum")
def einsum(ctx: Context, call: Bound) -> Value | None:
    """`einsum("...d,...d->...", x, x)` is a sum of squares."""
    given = [g.value for g in call.rest]
    equation = next((v for v in given if isinstance(v, Constant)), None)
    operands = [v for g in given for v in (g.items if isinstance(g, Tup) else (g,)) if isinstance(v, Product)]
    if equation is None or len(operands) != 2:
        return None
    x, y = operands
    if x.mono != y.mono:
        return _scaled(str(equation.value).replace(" ", ""), x, y, call.span)
    axes = _einsum_axes(str(equation.value))
    if axes is None:
        return None
    values = {"dim": Given(Tup(tuple(Product(Mono(float(a))) for a in axes)), call.span)}
    return reduce(ctx, replace(call, values=values), algebra.multiply(x, y, call.span), "sum")


def _scaled(equation: str, x: Product, y: Product, span: Span) -> Product | None:
    """`einsum("b c ..., c -> b c ...", x, w)`: no letter is summed, so it is x·w along the letters of w."""
    left, _, out = equation.partition("->")
    one, _, two = left.partition(",")
    if one != out or not two or not set(two) <= set(one) or len(set(two)) < len(two.replace("...", "")):
        return None
    if not is_param(y):
        return None
    return algebra.multiply(x, placed(y, "last" if one.endswith(two) else "other"), span)


def _einsum_axes(equation: str) -> tuple[int, ...] | None:
    left, arrow, out = equation.replace(" ", "").partition("->")
    one, comma, two = left.partition(",")
    if not arrow or not comma or one != two:
        return None
    letters = one.replace("...", "")
    if "..." in one and not one.startswith("..."):
        return None
    gone = tuple(i - len(letters) for i, c in enumerate(letters) if c not in out)
    return gone if out.replace("...", "") == "".join(c for c in letters if c in out) else None


@op("reduce")
def einops_reduce(ctx: Context, call: Bound) -> Value | None:
    """einops.reduce(x * x, "b n d -> b n 1", "mean")."""
    x, pattern, reduction = call.product("input"), call.get("pattern"), call.get("reduction")
    kind = reduction.value if isinstance(reduction, Constant) else None
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
