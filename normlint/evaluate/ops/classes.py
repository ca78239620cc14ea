"""Evaluate operations of which only the class is known (see `normlint.text.operations`).

Their results depend on the operands, and keep dtype and layout as far as the class allows.
"""

from __future__ import annotations

from typing import Final

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.ops.casts import cast
from normlint.evaluate.ops.powers import elementwise
from normlint.evaluate.ops.shapes import relayout
from normlint.evaluate.ops.table import OPS, Bound, Run
from normlint.evaluate.truth import describe
from normlint.evaluate.value import Product, Value
from normlint.text.frozen import replace
from normlint.text.operations import CLASSES


def gathered(ctx: Context, call: Bound) -> Value | None:
    """Evaluate an operation that rearranges or combines elements, with the operands' promoted dtype."""
    result = elementwise(ctx, call)
    if not isinstance(result, Product) or algebra.is_statistic(result):
        return result
    given = (*call.values.values(), *call.rest)
    words = (g.value.mono if isinstance(g.value, Product) else describe(g.value) for g in given)
    return replace(algebra.opaque(call.name, tuple(words), call.span), dtype=result.dtype)


def same(ctx: Context, call: Bound) -> Value | None:
    """Evaluate an operation that returns its input."""
    x = call.product("input")
    return replace(x, span=call.span) if x else None


def converted(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a cast to an unknown dtype."""
    x = call.product("input")
    return cast(x, DType.UNKNOWN, call.span) if x else None


def made(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the creation of a tensor that depends on no other."""
    return replace(algebra.opaque(call.name, (), call.span, pure=False), dtype=call.dtype(DType.UNKNOWN))


_RUNS: Final[dict[str, Run]] = {
    "scaling": elementwise, "sum": elementwise, "contraction": gathered, "power": elementwise, "statistic": gathered,
    "reduction": gathered, "distance": gathered, "layout": relayout, "same": same, "selection": gathered,
    "degree 1": elementwise, "degree 0": elementwise, "pointwise": elementwise, "cast": converted, "creation": made,
}  # fmt: skip

for _class, _run in _RUNS.items():
    for _word in CLASSES[_class].split():
        OPS.setdefault(_word, _run)
UNFOLLOWED: Final = CLASSES.keys() - _RUNS.keys() - {"fused norm"}  # classes whose operations have no row
