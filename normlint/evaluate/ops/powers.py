"""Evaluate elementwise arithmetic: powers, roots, products, quotients, sums, clamps and selections."""

from __future__ import annotations

from fractions import Fraction

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.counted import nonzero
from normlint.evaluate.monomial import Apply, Atom, Centred, Mono, Scalar, Size, Through
from normlint.evaluate.ops.table import Bound, of_input, op
from normlint.evaluate.value import Product, Value
from normlint.text.frozen import replace

MOST_POWER = 64
_FIXED = {
    "sqrt": (algebra.HALF, "sqrt"),
    "rsqrt": (-algebra.HALF, "rsqrt"),
    "reciprocal": (algebra.INVERSE, "recip"),
    "square": (algebra.TWO, "square"),
}


def elementwise(ctx: Context, call: Bound) -> Value | None:
    """Evaluate an elementwise operation without a rule, which keeps dtype and layout."""
    return algebra.apply(call.name, call.products, call.span) if call.products else None


@of_input("sqrt rsqrt reciprocal square")
def fixed_power(ctx: Context, call: Bound, base: Product) -> Value | None:
    exponent, step = _FIXED[call.name]
    return algebra.power(base, exponent, step, call.span)


@of_input("pow float_power")
def general_power(ctx: Context, call: Bound, base: Product) -> Value | None:
    exponent = call.product("exponent", "y", "exp")
    return raise_to(base, exponent, call) if exponent else None


def raise_to(base: Product, exponent: Product, call: Bound) -> Product | None:
    """Return base ** exponent for a constant or an argument's default; None for any other or a large one."""
    held = algebra.held(exponent) or exponent.mono
    value = _by_default(held) if not held.factors or all(f.power == 1 for f in base.mono.factors) else None
    if value is None or abs(value) > MOST_POWER:
        return None
    fraction = Fraction(value).limit_denominator(64)
    return algebra.power(base, fraction, dict(_FIXED.values()).get(fraction, "pow"), call.span)


def _by_default(mono: Mono) -> float | None:
    """Return the number that a product is by its arguments' defaults: 1 / self.p is 0.5 if p=2 is the default."""
    value = mono.coef
    for f in mono.factors:
        default = f.atom.default if isinstance(f.atom, Scalar) else None
        if not default or not 0 < default <= MOST_POWER:
            return None
        value *= default**f.power
    return value


def _pair(call: Bound) -> tuple[Product, Product] | None:
    left, right = call.get("input"), call.get("other")
    if left is None or right is None or not (isinstance(left, Product) or isinstance(right, Product)):
        return None
    return algebra.as_product(left, call.span_of("input")), algebra.as_product(right, call.span_of("other"))


_COMBINE = {
    "mul": algebra.multiply, "multiply": algebra.multiply, "div": algebra.divide, "divide": algebra.divide,
    "true_divide": algebra.divide, "add": algebra.add, "sub": algebra.subtract, "subtract": algebra.subtract,
}  # fmt: skip


@op(" ".join(_COMBINE))
def arithmetic(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a product, quotient, sum or difference; `alpha` scales what is added or subtracted."""
    pair, alpha = _pair(call), call.product("alpha")
    if pair is None or call.get("rounding_mode") is not None:
        return None
    left, right = pair
    return _COMBINE[call.name](left, algebra.multiply(right, alpha, call.span) if alpha else right, call.span)


@op("rsub")
def rsub(ctx: Context, call: Bound) -> Value | None:
    pair = _pair(call)
    return algebra.subtract(pair[1], pair[0], call.span) if pair else None


@of_input("abs absolute fabs")
def absolute(ctx: Context, call: Bound, value: Product) -> Value | None:
    return algebra.absolute(value, call.span)


@of_input("clamp clip clamp_min")
def clamp(ctx: Context, call: Bound, value: Product) -> Value | None:
    """Evaluate a clamp as a floor, like an eps under a root; as the input itself where the limits can't matter."""
    floor = call.product("min")
    if algebra.is_complete(value):
        return value  # the result of a norm, cut off where it would overflow fp16
    if floor is None or not value.tensor:
        return None
    if floor.number == 1 and value.sole and isinstance(value.sole.atom, Size):
        return value  # a number of elements, kept from zero for a division
    return algebra.clamp(value, floor, call.span)


@op("maximum fmax max")
def maximum(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the elementwise maximum of a statistic and a floor, or of x and −x; others are unknown."""
    pair = _pair(call)
    if pair is None:
        return None
    if pair[0].mono == pair[1].mono:
        return pair[0]
    if pair[0].mono == algebra.negate(pair[1], call.span).mono:
        return algebra.absolute(pair[0], call.span)
    pair = algebra.constant(pair[0]), algebra.constant(pair[1])
    for base, floor in (pair, pair[::-1]):
        if algebra.is_statistic(base) and not floor.mono.has_stat and not (floor.tensor and floor.mono.factors):
            return algebra.clamp(base, floor, call.span)
    return None


@op("addcmul addcdiv")
def added(ctx: Context, call: Bound) -> Value | None:
    """Evaluate input + value · tensor1 · tensor2, or input + value · tensor1 / tensor2."""
    base, one, two = call.product("input"), call.product("tensor1"), call.product("tensor2")
    if base is None or one is None or two is None or (call.get("value") and call.product("value") is None):
        return None
    joined = (algebra.multiply if call.name == "addcmul" else algebra.divide)(one, two, call.span)
    value = call.product("value")
    return algebra.add(base, algebra.multiply(joined, value, call.span) if value else joined, call.span)


@op("lerp")
def lerp(ctx: Context, call: Bound) -> Value | None:
    """Evaluate input + weight · (end − input)."""
    start, end, weight = call.product("input"), call.product("end"), call.product("weight")
    if start is None or end is None or weight is None:
        return None
    way = algebra.subtract(end, start, call.span)
    if way.mono.has_stat and (algebra.is_statistic(start) or algebra.is_statistic(end)):
        return None  # a running statistic
    return algebra.add(start, algebra.multiply(weight, way, call.span), call.span)


@op("where")
def where(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `where` as its first value if both are equal or only zeros are replaced by 0, else as opaque."""
    one, two = call.product("input"), call.product("other")
    if one is None or two is None:
        return None
    condition = call.product("condition")
    if condition is not None and algebra.constant(two).mono.coef == 0 and _is_or_deviates(one, nonzero(condition)):
        return replace(one, span=call.span)  # only elements that are zero become zero
    return one if one.mono == two.mono else algebra.apply("where", (one, two), call.span)


def _is_or_deviates(value: Product, base: Mono | None) -> bool:
    """Return whether a value is `base` or the deviation of `base` from its mean."""
    atom = value.sole.atom if value.sole else None
    return value.mono == base or (isinstance(atom, Centred) and atom.base == base)


_INVERSE = {"exp": "log", "exp2": "log2"}


@of_input("exp exp2")
def exponential(ctx: Context, call: Bound, value: Product) -> Value | None:
    """Evaluate exp(k · log(s)) as s to the power k."""
    factor = value.mono.factors[0] if len(value.mono.factors) == 1 else None
    inner = _logarithm_of(factor.atom, _INVERSE[call.name]) if factor and factor.power == 1 else None
    if inner is None or abs(value.mono.coef) > MOST_POWER:
        return algebra.apply(call.name, (value,), call.span)
    exponent = Fraction(value.mono.coef).limit_denominator(64)
    return algebra.power(replace(value, mono=inner), exponent, "pow", call.span)


def _logarithm_of(atom: Atom, name: str) -> Mono | None:
    if isinstance(atom, Through) and atom.name == name:
        return atom.inner
    if isinstance(atom, Apply) and atom.name == name and len(atom.args) == 1 and isinstance(atom.args[0], Mono):
        return atom.args[0]
    return None


@op("relu leaky_relu elu celu threshold")
def rectified(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a rectifier of a value that is never negative as that value."""
    value, limit = call.product("input"), call.product("threshold")
    above = "threshold" not in call.values or (limit is not None and limit.number is not None and limit.number <= 0)
    return value if value and algebra.is_positive(value) and above else elementwise(ctx, call)


@op("dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout")
def dropped(ctx: Context, call: Bound) -> Value | None:
    """Evaluate dropout with a probability of 0, or outside training, as the input."""
    x, p = call.product("input"), call.product("p")
    idle = (p is not None and p.number == 0) or call.flag("training", True) is False
    return replace(x, span=call.span) if x and idle else elementwise(ctx, call)


@op("nan_to_num")
def finite(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `nan_to_num` of a value that an eps keeps from zero as that value."""
    value = call.product("input")
    return value if value and algebra.is_kept_from_zero(value) else elementwise(ctx, call)
