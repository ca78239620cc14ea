"""Identify values that no operation of the table explains, by evaluating them with small arrays of numbers.

A recipe of each such value is kept. It is run with random inputs in two sizes, and the result is compared with powers,
products, sums and means of the inputs. An expression that agrees in every element, in both sizes, replaces the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Final, NamedTuple

from normlint.evaluate import algebra
from normlint.evaluate.algebra import HALF, TWO
from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import ONCE, Layout, Mono, Stat, Step
from normlint.evaluate.ops.arrays import Array, pointwise, reduced
from normlint.evaluate.ops.casts import cast
from normlint.evaluate.ops.executed import TABLE
from normlint.evaluate.ops.powers import raise_to
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.table import OPS, Bound, Given
from normlint.evaluate.ops.worlds import FAILS, MOST, Recipe, World, is_unclear, leaves, numbers_in, worlds
from normlint.evaluate.value import Constant, Opaque, Pieces, Product, Shape, Tup, Value, number, size_of
from normlint.text.finding import Span
from normlint.text.frozen import replace

_NEAR: Final = 1e-7
_MOST_LEAVES: Final = 4
_MOST_STEPS: Final = 4  # operations between a value and a comparison that it depends on
_COMPARISONS: Final = [TABLE[name] for name in ("eq", "ne", "lt", "le", "gt", "ge", "nan_to_num")]
_POWERS: Final = (ONCE, -ONCE, HALF, -HALF, TWO)

# --- recipes ---------------------------------------------------------------------------------------------------------


def note(ctx: Context, name: str, given: dict[str, Value], value: Value) -> Value:
    """Keep the recipe of an operation's result, and return the result, or the simpler value that the numbers show."""
    run = TABLE.get(name)
    if isinstance(value, Tup):
        for at, item in enumerate(value.items):
            _keep(ctx, run, given, item, at)
        return value
    kept = _keep(ctx, run, given, value, None)
    return known(ctx, value) if kept and isinstance(value, Product) else value


def of_call(ctx: Context, call: Bound, value: Value) -> Value:
    """Keep the recipe of a call that is bound to torch's parameters, and return its result as `note` does."""
    given = {name: g.value for name, g in call.values.items() if not (call.rest and isinstance(g.value, Opaque))}
    if call.rest:
        given["rest"] = Tup(tuple(g.value for g in call.rest))
    return note(ctx, call.name, given, value)


def _keep(ctx: Context, run: Callable[..., Any] | None, given: dict[str, Value], value: Value, at: int | None) -> bool:
    made = _created_at(value)
    if not isinstance(value, Product) or not (made or is_unclear(value)):
        return False
    key = made or (value.mono, value.layout)
    if any(isinstance(v, Product) and (v.mono, v.layout) == key for v in given.values()):
        return False  # the operation returned its argument unchanged
    same = tuple((name, _key(v)) for name, v in given.items())
    recipe = None if run is None else Recipe(run, same, tuple(given.items()), at)
    old = ctx.recipes.get(key, recipe)
    ctx.recipes[key] = recipe if old == recipe else None  # None where two recipes give equal values
    if recipe is not None and old == recipe and _dtypes(old) != _dtypes(recipe):
        ctx.shown.pop(key, None)  # it was found for the dtypes of another path
    return recipe is not None and value.tensor and value.mono.has_data


def _dtypes(recipe: Recipe) -> list[DType]:
    return [v.dtype for _, v in recipe.given if isinstance(v, Product)]


def _key(value: Value) -> object:
    """Return a key by which equal values compare equal, wherever they are written."""
    if isinstance(value, Product):
        return value.mono, value.layout
    if isinstance(value, Shape):
        return _key(value.of), value.start, value.stop
    if isinstance(value, Pieces):
        return _key(value.item)
    return tuple(map(_key, value.items)) if isinstance(value, Tup) else value


def _created_at(value: Value) -> Span | None:
    """Return the span where a tensor of constants was created; None for any other value."""
    param = value.param
    return param.span if param is not None and not param.name else None


# --- identification --------------------------------------------------------------------------------------------------


def known(ctx: Context, value: Product) -> Product:
    """Return the simpler value that the numbers show, or the value itself where they show nothing."""
    key: tuple[Mono, Layout] = value.mono, value.layout
    found = ctx.shown.get(key)
    if found is None:
        if key in ctx.unmatched or len(ctx.unmatched) + len(ctx.shown) >= MOST:
            return value
        ctx.unmatched.add(key)
        found = _identified(ctx, value)
        if found is None:
            return value
        if _depends_on_comparison(ctx, value):
            found = replace(found, mono=found.mono.stepped(Step("guard", value.span)))
        ctx.unmatched.discard(key)
        ctx.shown[key] = found
    dtype = found.dtype if value.dtype is DType.UNKNOWN else value.dtype
    return replace(found, span=value.span, dtype=dtype, alias=value.alias)


def _depends_on_comparison(ctx: Context, value: Value, far: int = 0) -> bool:
    """Return whether a value was computed with a comparison, which may be about a zero: none is among the numbers."""
    recipe = ctx.recipes.get(_created_at(value) or (value.mono, value.layout)) if isinstance(value, Product) else None
    if recipe is None or far > _MOST_STEPS:
        return False
    return recipe.run in _COMPARISONS or any(_depends_on_comparison(ctx, one, far + 1) for _, one in recipe.given)


def _identified(ctx: Context, value: Product) -> Product | None:
    try:
        given = leaves(ctx, value)
        if value.dtype.wide:  # the cast is somewhere in between: before all that halves would spoil
            given = [g if g.dtype.wide else cast(g, value.dtype, value.span) for g in given]
        reduced_again = any(isinstance(f.atom, Stat) for f in value.mono.factors)
        if not 0 < len(given) <= _MOST_LEAVES or (reduced_again and any(map(algebra.is_statistic, given))):
            return None  # for example x − 2·mean(x), which is as long as x but is no x
        seen = worlds(ctx)
        # Few values fit in any size, so both sizes are compared only where something fits in the first.
        return _fitting(ctx, value, given, seen) if _fitting(ctx, value, given, seen[:1]) else None
    except FAILS:
        ctx.unmade.add((value.mono, value.layout))
        return None


def _fitting(ctx: Context, value: Product, given: list[Product], seen: Sequence[World]) -> Product | None:
    """Return the expression of the given tensors that equals the value in all worlds; None if none does."""
    targets = [w.made(value.mono, value.layout) for w in seen]
    if not all(isinstance(t, Array) and len(t.data) > 1 for t in targets):
        return None
    numbers = [tuple(w.of_mono(u.mono, ()) for w in seen) for u in given]
    return _Search(ctx, value, targets, list(zip(given, numbers, strict=True)), seen).found()


class Base(NamedTuple):
    """A candidate for a value, up to a factor and a power: its numbers in each world, and a function that builds it."""

    numbers: tuple[Array, ...]
    build: Callable[[], Value | None]


class _Search(NamedTuple):
    """A search for a value among expressions of the tensors that it was computed from."""

    ctx: Context
    value: Product
    targets: list[Array]
    given: list[tuple[Product, tuple[Array, ...]]]
    seen: Sequence[World]

    def found(self) -> Product | None:
        """Return the first expression that fits; None if none does."""
        for base, power in product(self._bases(), _POWERS):
            factor = _common_ratio(_ratio(t, b, power) for t, b in zip(self.targets, base.numbers, strict=True))
            if factor is not None:
                return self._power(base.build(), power, factor)
        ways = (self._as_statistic, self._as_sum)
        return next((found for way in ways for u, n in self.given if (found := way(u, n)) is not None), None)

    def _bases(self) -> Iterator[Base]:
        """Yield each tensor, its absolute value, and the products and quotients of two tensors."""
        for u, numbers in self.given:
            yield Base(numbers, lambda u=u: u)  # type: ignore[misc]
            yield Base(tuple(pointwise(abs, n) for n in numbers), lambda u=u: self._apply("abs", u))  # type: ignore[misc]
        for (u, one), (v, two) in combinations(self.given, 2):
            for sign, combine in ((1, algebra.multiply), (-1, algebra.divide)):
                try:
                    both = [pointwise(lambda x, y, s=sign: x * y**s, *pair) for pair in zip(one, two, strict=True)]
                except FAILS:
                    continue
                yield Base(tuple(both), lambda u=u, v=v, combine=combine: combine(u, v, self.value.span))  # type: ignore[misc]

    def _apply(self, name: str, x: Product) -> Value | None:
        span = self.value.span
        return OPS[name](self.ctx, Bound(name, span, {"input": Given(x, span)}))

    def _power(self, base: Value | None, power: Fraction, factor: float = 1) -> Product | None:
        if not isinstance(base, Product):
            return None
        span = self.value.span
        found = base if power == 1 else raise_to(base, number(float(power)), Bound("pow", span, {}))
        if factor == 1 or not isinstance(found, Product):
            return found if isinstance(found, Product) else None
        return algebra.multiply(found, number(factor), span)

    def _as_statistic(self, u: Product, numbers: tuple[Array, ...]) -> Product | None:
        """Return the value as a power of a sum or mean of `u`, its square or its absolute value; None otherwise."""
        shape, left = numbers[0].shape, self.targets[0].shape
        rank = len(shape)
        kept = len(left) == rank
        for axes in _axes(rank):
            if left != tuple(1 if i in axes else n for i, n in enumerate(shape) if kept or i not in axes):
                continue
            counts = [math.prod(n.shape[i] for i in axes) for n in numbers]
            sums = {
                name: [reduced(lambda row, f=f: sum(map(f, row)), n, list(axes), kept) for n in numbers]  # type: ignore[misc]
                for name, f in _SUMMED.items()
            }
            for (name, summed), power in product(sums.items(), _POWERS[:4]):
                ratios = [_ratio(t, s, power) for t, s in zip(self.targets, summed, strict=True)]
                if None in ratios:
                    continue
                for of_count in (Fraction(0), -ONCE, -HALF, HALF, ONCE):
                    factor = _common_ratio(r and r / n ** float(of_count) for r, n in zip(ratios, counts, strict=True))
                    base = u if not name or factor is None else self._apply(name, u)
                    if factor is not None and isinstance(base, Product):
                        return self._as_reduction(base, axes, rank, kept, (power, of_count, factor))
        return None

    def _as_reduction(
        self, base: Product, axes: tuple[int, ...], rank: int, kept: bool, powers: tuple[Fraction, Fraction, float]
    ) -> Product | None:
        """Return a power of a sum or mean over axes as the value of the operations that compute it plainly."""
        (power, of_count, factor), span = powers, self.value.span
        sure = self.ctx.rank(base) is not None
        named = tuple(i - rank if sure or i == rank - 1 else i for i in axes)
        if not sure and (len(named) > 1 or 0 in named):
            return None
        mean = of_count == -power
        dim = Tup(tuple(number(float(i)) for i in named))
        given = {"dim": Given(dim, span), "keepdim": Given(Constant(kept), span)}
        kind = "mean" if mean else "sum"
        found = self._power(reduce(self.ctx, Bound(kind, span, given), base, kind), power, factor)
        for i in named if of_count and not mean else ():
            part = self._power(size_of(base, i), of_count)
            found = algebra.multiply(found, part, span) if found is not None and part is not None else None
        return found

    def _as_sum(self, u: Product, numbers: tuple[Array, ...]) -> Product | None:
        """Return the value as `(u**inner + eps)**outer`, with a statistic `u` and a small eps; None otherwise."""
        if not algebra.is_statistic(u):
            return None
        for outer, inner in product(_POWERS, _POWERS[:3]):
            pairs = zip(self.targets, numbers, strict=True)
            added = [pointwise(lambda t, s, p=float(1 / outer), q=float(inner): t**p - s**q, *pair) for pair in pairs]
            first = [a.data[0] for a in added]
            if any(abs(x - one) > _NEAR for a, one in zip(added, first, strict=True) for x in a.data) or not first[0]:
                continue
            eps = self._scalar(first)
            bearing = self._power(u, inner)
            if eps is not None and bearing is not None:
                return self._power(algebra.add(bearing, eps, self.value.span), outer)
        return None

    def _scalar(self, wanted: list[float]) -> Product | None:
        """Return a scalar input, its square or its root that equals `wanted` in each world; None if there is none."""
        for one in numbers_in(self.ctx, self.value):
            held = [w.of_mono(one.mono, ()).data[0] for w in self.seen]
            for power in (ONCE, TWO, HALF):
                if all(h > 0 and abs(h ** float(power) - x) < _NEAR for h, x in zip(held, wanted, strict=True)):
                    return self._power(one, power)
        return None


_SUMMED: Final[dict[str, Callable[[float], float]]] = {"": lambda x: x, "square": lambda x: x * x, "abs": abs}


def _axes(rank: int) -> Iterator[tuple[int, ...]]:
    """Yield each single axis, several last axes, and all axes, as tuples."""
    yield from ((i,) for i in reversed(range(rank)))
    yield from (tuple(range(i, rank)) for i in reversed(range(rank - 1)))


def _common_ratio(ratios: Iterator[float | None]) -> float | None:
    """Return the ratio that is the same in all worlds, rounded where it is nearly an integer; None if there is none."""
    first = next(ratios)
    if not first or any(r is None or abs(r - first) > _NEAR * abs(first) for r in ratios):
        return None
    return round(first) if abs(first - round(first)) < _NEAR else first


def _ratio(target: Array, base: Array, power: Fraction) -> float | None:
    """Return the ratio of the target to a power of the base if it is the same in all elements; None otherwise."""
    if target.shape != base.shape or (power.denominator > 1 and min(base.data) < 0) or 0 in base.data:
        return None
    p = float(power)
    first = target.data[0] / base.data[0] ** p
    near = abs(_NEAR * first)
    if all(abs(x / y**p - first) <= near for x, y in zip(target.data, base.data, strict=True)):
        return first or None
    return None
