"""Run torch's elementwise functions, reductions and contractions on small arrays of numbers.

The functions take torch's parameters by name, but the first tensor is `x`, and `min` and `max` are `low` and `high`.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, Final

from normlint.evaluate.ops import arrays as a
from normlint.evaluate.ops.arrays import Array, Row, Unmeasured, along, as_array, pointwise, reduced
from normlint.evaluate.ops.viewed import TABLE, flat, runs, unfold

__all__ = ["TABLE"]

Given = Any

# --- element by element ----------------------------------------------------------------------------------------------

_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "abs absolute": abs, "sqrt": math.sqrt, "rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x, "neg negative": operator.neg, "sign sgn": lambda x: (x > 0) - (x < 0),
    "relu": lambda x: max(x, 0.0), "exp": math.exp, "log": math.log, "exp2": lambda x: 2.0**x, "log2": math.log2,
    "log10": math.log10, "expm1": math.expm1, "log1p": math.log1p, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "asinh arcsinh": math.asinh, "acosh arccosh": math.acosh, "atanh arctanh": math.atanh,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "atan arctan": math.atan, "isnan": math.isnan,
    "isfinite": math.isfinite, "isinf": math.isinf, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "erf": math.erf,
    "frac": lambda x: x - math.trunc(x), "logical_not bitwise_not ~": operator.not_, "real .real": lambda x: x.real,
    "imag .imag": lambda x: x.imag, "angle": cmath.phase, "logit": lambda x: math.log(x / (1 - x)),
    "conj conj_physical resolve_conj resolve_neg": lambda x: x.conjugate(), "trunc fix": math.trunc,
    "softplus": lambda x: math.log1p(math.exp(x)), "deg2rad": math.radians, "rad2deg": math.degrees,
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x, "floor": math.floor, "ceil": math.ceil, "cholesky": math.sqrt,
    "positive clone contiguous detach alias to float double type_as dropout identity cpu data": lambda x: x,
    "nan_to_num": lambda x: x,
}  # fmt: skip
_BINARY: Final[dict[str, Callable[..., Any]]] = {
    "mul multiply *": lambda x, y: x * y, "div divide true_divide /": lambda x, y: x / y,
    "floor_divide //": lambda x, y: x // y, "remainder %": lambda x, y: x % y, "hypot": math.hypot,
    "copysign": math.copysign, "logical_and bitwise_and &": operator.and_,
    "logical_or bitwise_or |": operator.or_, "atan2 arctan2": math.atan2, "xlogy": lambda x, y: x * math.log(y),
    "logaddexp": lambda x, y: math.log(math.exp(x) + math.exp(y)), "complex": complex, "polar": cmath.rect,
    "logaddexp2": lambda x, y: math.log2(2.0**x + 2.0**y), "ldexp": lambda x, y: x * 2.0**y,
    "heaviside": lambda x, y: y if x == 0 else float(x > 0), "pow float_power **": math.pow,
}  # fmt: skip


_COMPARED: Final[dict[str, Callable[..., Any]]] = {
    "maximum fmax": max, "minimum fmin": min, "eq ==": operator.eq, "ne not_equal !=": operator.ne,
    "lt less <": operator.lt, "le less_equal <=": operator.le, "gt greater >": operator.gt,
    "ge greater_equal >=": operator.ge,
}  # fmt: skip


def _elementwise(f: Callable[..., Any], count: int, *, compared: bool = False) -> Callable[..., Array]:
    def run(**given: Any) -> Array:
        if len(given) != count:
            raise Unmeasured
        if compared:
            _refuse_bounds(*given.values())
        return pointwise(f, *given.values())

    return run


def _refuse_bounds(*operands: Given) -> None:
    """Raise `Unmeasured` for a bound other than 0, which the numbers tried here may not reach."""
    for one in operands:
        values = set(as_array(one).data)
        if len(values) == 1 and values != {0}:
            raise Unmeasured


for _names, _f in _UNARY.items():
    runs(_names)(_elementwise(_f, 1))
for _names, _f in _BINARY.items():
    runs(_names)(_elementwise(_f, 2))
for _names, _f in _COMPARED.items():
    runs(_names)(_elementwise(_f, 2, compared=True))
TABLE.update(
    {
        "add": lambda x, other, alpha=1: pointwise(lambda v, w, k: v + k * w, x, other, alpha),
        "sub": lambda x, other, alpha=1: pointwise(lambda v, w, k: v - k * w, x, other, alpha),
        "rsub": lambda x, other, alpha=1: pointwise(lambda v, w, k: w - k * v, x, other, alpha),
        "lerp": lambda x, end, weight: pointwise(lambda v, w, k: v + k * (w - v), x, end, weight),
        "addcmul": lambda x, tensor1, tensor2, value=1: pointwise(
            lambda v, y, z, k: v + k * y * z, x, tensor1, tensor2, value
        ),
        "addcdiv": lambda x, tensor1, tensor2, value=1: pointwise(
            lambda v, y, z, k: v + k * y / z, x, tensor1, tensor2, value
        ),
        "where": lambda condition, x, other: pointwise(lambda c, v, w: v if c else w, condition, x, other),
        "masked_fill": lambda x, mask, value: pointwise(lambda v, m, w: w if m else v, x, mask, value),
        "ones_like": lambda x: pointwise(lambda _: 1.0, x),
        "zeros_like": lambda x: pointwise(lambda _: 0.0, x),
        "full_like": lambda x, fill_value: pointwise(lambda _, v: v, x, fill_value),
    }
)
TABLE.update({"subtract": TABLE["sub"], "+": TABLE["add"], "-": TABLE["sub"], "empty_like": TABLE["zeros_like"]})


@runs("clamp clip clamp_min clamp_max")
def clamp(x: Given, low: Given = None, high: Given = None) -> Array:
    _refuse_bounds(*(one for one in (low, high) if one is not None))
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return pointwise(lambda v, one, two: min(max(v, one), two), x, low, high)


# --- reductions ------------------------------------------------------------------------------------------------------


def _mean(row: Row) -> float:
    return sum(row) / len(row)


def _squared_deviation(row: Row) -> float:
    return sum((x - _mean(row)) ** 2 for x in row)


def _norm_of(row: Row, p: float) -> float:
    return max(map(abs, row)) if p == math.inf else sum(abs(x) ** p for x in row) ** (1 / p)


_REDUCED: Final[dict[str, Callable[[Row], float]]] = {
    "mean nanmean": _mean, "sum nansum": sum, "amax": max, "amin": min, "prod": math.prod, "all": all, "any": any,
    "logsumexp": lambda row: math.log(sum(map(math.exp, row))), "count_nonzero": lambda row: sum(map(bool, row)),
}  # fmt: skip


def _reduction(f: Callable[[Row], float]) -> Callable[..., Array]:
    return lambda x, dim=None, keepdim=False, rest=(): reduced(f, x, rest or dim, keepdim)


for _names, _f in _REDUCED.items():
    runs(_names)(_reduction(_f))


@runs("var")
def var(x: Given, dim: Given = None, unbiased: bool = True, correction: Given = None, keepdim: bool = False) -> Array:
    less = int(unbiased) if correction is None else correction
    return reduced(lambda row: _squared_deviation(row) / (len(row) - less), x, dim, keepdim)


@runs("norm vector_norm frobenius_norm")
def norm(x: Given, p: Given = 2, ord: Given = None, dim: Given = None, keepdim: bool = False) -> Array:  # noqa: A002
    how = 2 if p in (None, "fro") else p
    return reduced(lambda row: _norm_of(row, float(how if ord is None else ord)), x, dim, keepdim)


@runs("diff")
def diff(x: Given, n: int = 1, dim: int = -1, prepend: Given = None, append: Given = None) -> Array:
    whole = a.cat([one for one in (prepend, x, append) if one is not None], dim)
    for _ in range(n):
        whole = along(lambda row: [w - v for v, w in pairwise(row)], whole, dim)
    return whole


TABLE.update(
    {
        "std": lambda **given: pointwise(math.sqrt, var(**given)),
        "matrix_norm": lambda x, keepdim=False: norm(x, dim=[-2, -1], keepdim=keepdim),
        "normalize": lambda x, p=2.0, dim=1, **_: pointwise(lambda v, n: v / n, x, norm(x, p, dim=dim, keepdim=True)),
        "cumsum": lambda x, dim: along(lambda row: list(accumulate(row)), x, dim),
        "cumprod": lambda x, dim: along(lambda row: list(accumulate(row, lambda v, w: v * w)), x, dim),
        "softmax": lambda x, dim: along(lambda row: [math.exp(v) / sum(map(math.exp, row)) for v in row], x, dim),
        "trapezoid": lambda y, dx=1, dim=-1: reduced(lambda row: dx * (sum(row) - (row[0] + row[-1]) / 2), y, dim),
        "quantile": lambda x, q, dim=None, keepdim=False: reduced({0: min, 1: max}[q], x, dim, keepdim),
        "trace": lambda x: reduced(sum, TABLE["diagonal"](x)),
        "builtins.sum": lambda x: reduced(sum, a.stack([as_array(one) for one in x], 0), 0),
    }
)
TABLE["trapz"] = TABLE["trapezoid"]


def _windows(x: Array, sizes: list[int], steps: list[int], f: Callable[[Row], float]) -> Array:
    """Return the array of `f` over each window of the given sizes and steps along the last axes."""
    for size, step in zip(sizes, steps, strict=True):
        x = unfold(x, -len(sizes), size, step)  # puts the windows on a new last axis
    return reduced(f, x, list(range(-len(sizes), 0)))


def _each_axis(value: Given, rank: int) -> list[Any]:
    return [value] * rank if isinstance(value, int) or value is None else flat(value)


def _pool(rank: int, f: Callable[[Row], float]) -> Callable[..., Array]:
    def run(x: Given, kernel_size: Given, stride: Given = None, **more: Any) -> Array:
        if any(v not in (0, False) for name, v in more.items() if name != "count_include_pad"):
            raise Unmeasured
        sizes = _each_axis(kernel_size, rank)
        return _windows(x, sizes, _each_axis(stride, rank) if stride else sizes, f)

    return run


def _adaptive(rank: int, f: Callable[[Row], float]) -> Callable[..., Array]:
    def run(x: Given, output_size: Given) -> Array:
        pairs = list(zip(x.shape[-rank:], _each_axis(output_size, rank), strict=True))
        if any(n % (want or n) for n, want in pairs):
            raise Unmeasured
        sizes = [n // (want or n) for n, want in pairs]
        return _windows(x, sizes, sizes, f)

    return run


for _rank in (1, 2, 3):
    for _word, _f in (("avg", _mean), ("max", max)):
        TABLE[f"{_word}_pool{_rank}d"] = _pool(_rank, _f)
        TABLE[f"adaptive_{_word}_pool{_rank}d"] = _adaptive(_rank, _f)


@runs("interpolate")
def interpolate(x: Given, size: Given = None, mode: str = "nearest") -> Array:
    if mode != "area" or size is None:
        raise Unmeasured
    return _adaptive(len(x.shape) - 2, _mean)(x, size)


# --- sums of products ------------------------------------------------------------------------------------------------


@runs("matmul mm bmm mv dot vdot @")
def matmul(**two: Any) -> Array:
    one, other = two.values()
    return a.matmul(one, other)


@runs("linear")
def linear(x: Given, weight: Given, bias: Given = 0) -> Array:
    found = a.matmul(x, a.permuted(weight, list(range(len(weight.shape)))[::-1]))
    return pointwise(lambda v, b: v + b, found, bias or 0)


@runs("tensordot")
def tensordot(dims: Given = 2, **two: Any) -> Array:
    one, other = two.values()
    ranks = len(one.shape), len(other.shape)
    pairs = [list(range(ranks[0] - dims, ranks[0])), list(range(dims))] if isinstance(dims, int) else map(flat, dims)
    first, second = ([a.axis_of(i, rank) for i in axes] for axes, rank in zip(pairs, ranks, strict=True))
    letters, others = ([chr(at + i) for i in range(rank)] for at, rank in zip((97, 65), ranks, strict=True))
    for i, j in zip(first, second, strict=True):
        others[j] = letters[i]
    out = [x for i, x in enumerate(letters) if i not in first] + [x for j, x in enumerate(others) if j not in second]
    return a.einsum([("".join(letters), one), ("".join(others), other)], "".join(out))


@runs("einsum")
def einsum(rest: Given) -> Array:
    equation, *operands = rest
    operands = operands[0] if isinstance(operands[0], list) else operands
    left, arrow, out = equation.replace(" ", "").partition("->")
    if not arrow:
        raise Unmeasured
    words, most = [], ""
    for word, one in zip(left.split(","), operands, strict=True):
        dots = "".join(chr(0x391 + i) for i in range(len(one.shape) - len(word.replace("...", ""))))[::-1]
        most = max(most, dots, key=len)
        words.append((word.replace("...", dots), one))
    return a.einsum(words, out.replace("...", most))


@runs("addmm addmv baddbmm addbmm")
def addmm(x: Given, beta: Given = 1, alpha: Given = 1, **both: Any) -> Array:
    one, two = both.values()
    return pointwise(lambda v, w, b, k: b * v + k * w, x, a.matmul(one, two), beta, alpha)


@runs("multi_dot chain_matmul")
def multi_dot(x: Given = None, tensors: Given = None, rest: Given = ()) -> Array:
    first, *others = tensors or rest or x
    for one in others:
        first = a.matmul(first, one)
    return first  # type: ignore[no-any-return]


@runs("cdist")
def cdist(p: Given = 2.0, **two: Any) -> Array:
    one, other = two.values()
    return norm(pointwise(lambda v, w: v - w, a.with_axis(one, -2), a.with_axis(other, -3)), p, dim=-1)  # type: ignore[no-any-return]


@runs("mse_loss")
def mse_loss(x: Given, target: Given, reduction: str = "mean") -> Array:
    found = pointwise(lambda v, w: (v - w) ** 2, x, target)
    return found if reduction == "none" else reduced(_mean if reduction == "mean" else sum, found)


@runs("inv inverse pinv")
def inverse(x: Given) -> Array:
    """Return the pseudoinverse of a row or column vector; raise `Unmeasured` for any other matrix."""
    if 1 not in x.shape[-2:]:
        raise Unmeasured
    square = reduced(lambda row: sum(v * v for v in row), x, [-2, -1], True)
    return TABLE["transpose"](pointwise(lambda v, n: v / n, x, square), dim0=-2, dim1=-1)  # type: ignore[no-any-return]


@runs("det")
def det(x: Given) -> Array:
    if x.shape[-2:] not in ((1, 1), (2, 2)):
        raise Unmeasured
    return reduced(lambda m: m[0] if len(m) == 1 else m[0] * m[3] - m[1] * m[2], x, [-2, -1])


TABLE.update(
    {
        "inner": lambda x, other: tensordot(x=x, other=other, dims=[[-1], [-1]]),
        "vecdot": lambda x, other=None, dim=-1, rest=(): reduced(  # type: ignore[misc]
            sum, pointwise(lambda v, w: v * w, x, rest[0] if rest else other), dim
        ),
    }
)
