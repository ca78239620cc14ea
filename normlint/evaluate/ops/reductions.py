"""Reductions: mean, sum, var, std, norms, einsum. Each becomes a `Stat`, whatever its spelling."""

from __future__ import annotations

from fractions import Fraction

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.counted import nonzero
from normlint.evaluate.dims import without
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import (
    ALL,
    ONCE,
    TRAILING,
    Apply,
    Axes,
    Centred,
    Factor,
    Layout,
    Mono,
    Plus,
    Scalar,
    Size,
    Stat,
    bears_stat,
    is_row,
    raised,
    stats_of,
)
from normlint.evaluate.ops import resizing
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.value import AxesOf, Constant, Opaque, Product, Tup, Value, number, of_atom
from normlint.text.finding import Span
from normlint.text.frozen import replace

TWO = Fraction(2)


def axes_of(value: Value | None, rank: int | None) -> Axes:
    """The axes an argument names; counted from the end where the rank is known."""
    match value:
        case None | Constant(value=None):
            return ALL
        case AxesOf(of=of):
            return TRAILING if of is None else None  # whether it is the tensor at hand, `reduce` knows
        case Tup(items=()):
            return ALL
        case Tup(items=items):
            parts = [axes_of(i, rank) for i in items]
            known = [p for p in parts if isinstance(p, tuple)]
            return tuple(a for p in known for a in p) if len(known) == len(parts) else None
        case Product():
            return _single_axis(value, rank)
    return None


def _single_axis(value: Product, rank: int | None) -> Axes:
    axis = value.number
    if axis is None:
        sole = value.sole
        axis = sole.atom.default if sole and isinstance(sole.atom, Scalar) and sole.power == 1 else None
    if axis is None or not axis.is_integer():
        return None
    return (int(axis) - rank if rank is not None and axis >= 0 else int(axis),)


def _split(mono: Mono, axes: Axes) -> tuple[Mono, Mono]:
    """(what varies, what comes out of the reduction): numbers, sizes and kept statistics don't vary along the axes."""
    plain = tuple(f for f in mono.factors if isinstance(f.atom, Size | Scalar))
    varies = tuple(f for f in mono.factors if f not in plain)
    kept = tuple(f for f in varies if _is_constant(f, axes))
    if kept and len(kept) < len(varies) and all(f.power == 1 for f in varies if f not in kept):
        plain, varies = plain + kept, tuple(f for f in varies if f not in kept)
    return Mono(1.0, varies), Mono(mono.coef, plain)


def _is_constant(factor: Factor, axes: Axes) -> bool:
    """A statistic that was taken along these axes, which it keeps."""
    stats = list(stats_of(Mono(1.0, (factor,))))
    return bool(stats) and bears_stat(factor.atom) and all(s.axes == axes and s.keepdim for s in stats)


def _is_every(value: Value, x: Product) -> bool:
    """Every axis of x, or of what it was made of element by element."""
    of = value.of if isinstance(value, AxesOf) else None
    return (
        of is not None
        and of.layout == x.layout
        and {f.atom for f in of.mono.factors} == {f.atom for f in x.mono.factors}
    )


def reduce(ctx: Context, call: Bound, x: Product, kind: str, **changes: object) -> Product:
    """Return the mean or sum of x over the call's axes."""
    beside = _beside_eps(ctx, call, x) if kind == "mean" and not changes else None
    if beside is not None:
        return beside
    rank = ctx.rank(x)
    axes_rank, rank = rank, 1 if rank is None and _is_row(x) else rank
    given = call.values.get("dim")
    axes = ALL if given and _is_every(given.value, x) else axes_of(given.value if given else None, axes_rank)
    x = replace(x, mono=_in_order(x.mono, axes, kind))
    whole = None if changes else folded(x, axes, kind, call.span)
    if whole is not None or (not changes and is_reduced(x, axes)):
        return replace(whole or x, span=call.span)
    if not changes and x.layout and isinstance(axes, tuple) and x.layout[-1] == ("axis", *axes):
        kept = call.flag("keepdim", False) is not False  # an axis of length 1 that was added
        return replace(x, layout=x.layout if kept else x.layout[:-1], shape=None, span=call.span)
    inner, outside = _split(_centred_alike(x.mono, axes), axes)
    accumulate = call.dtype(x.dtype)
    viewed = any(token[0] == "view" for token in x.layout[-1:])
    if axes in ((-1,), (0,)) and axes_rank == 1 and viewed and not is_row(x.mono, x.layout):
        axes = ALL  # flattened to one axis
    x, axes, keepdim, layout = _before(ctx, x, axes, call.flag("keepdim", False) is not False)
    dim = call.get("dim")
    one_axis = isinstance(dim, Product) and not dim.tensor
    stat = Stat(
        inner, kind, axes, keepdim, True, x.layout,
        _square_dtype(x), accumulate, call.name, rank=rank, one_axis=one_axis, span=call.span, inner_span=x.span,
        no_grad=not ctx.grad, masked=_masked(inner), over=ctx.dims(x),
    )  # fmt: skip
    result = of_atom(replace(stat, **changes), accumulate, call.span)  # type: ignore[arg-type]
    return replace(result, mono=result.mono.times(outside), layout=layout)


def _beside_eps(ctx: Context, call: Bound, x: Product) -> Product | None:
    """Return mean(a) + eps for x = a + eps, or None for any other x."""
    atom = x.sole.atom if x.sole is not None and x.sole.power == 1 else None
    if not isinstance(atom, Plus) or atom.how != "add" or atom.inner.has_stat:
        return None
    mean = reduce(ctx, call, replace(x, mono=atom.inner), "mean")
    return replace(mean, mono=Mono(1.0, (Factor(replace(atom, inner=mean.mono), ONCE, span=atom.span),)))


def _centred_alike(mono: Mono, axes: Axes) -> Mono:
    """x·(x − mean) as (x − mean)²: over the axes of the mean, they have one mean."""
    centred = next((f for f in mono.factors if isinstance(f.atom, Centred) and f.power == 1), None)
    rest = Mono(1.0, tuple(f for f in mono.factors if f is not centred))
    if centred is None or not isinstance(centred.atom, Centred) or centred.atom.stat.axes != axes:
        return mono
    return Mono(mono.coef, (replace(centred, power=TWO),)) if rest == centred.atom.base else mono


def _before(ctx: Context, x: Product, axes: Axes, keepdim: bool) -> tuple[Product, Axes, bool, Layout]:
    """What is reduced as it was before axes were added to it or moved, and what is left of that afterwards."""
    name, *places = x.layout[-1] if x.layout and isinstance(axes, tuple) and len(axes) == 1 else ("",)
    if not isinstance(axes, tuple) or not places or not all(isinstance(p, int) for p in places):
        return x, axes, keepdim, x.layout
    axis, place = axes[0], int(str(places[-1]))
    added = name == "axis" and place < 0 and axis < 0 and axis != place
    before = axis + (axis < place) if added else int(str(places[0]))
    stands = added and (keepdim or place + (place < axis) == before)  # the new axis, where the reduced one was
    if not stands and not (name == "move" and axis == place and before < 0):
        return x, axes, keepdim, x.layout
    base = replace(x, layout=x.layout[:-1], shape=without(ctx.dims(x), (place,)) if added else None)
    base, found, kept, layout = _before(ctx, base, (before,), keepdim or added)
    return base, found, kept, (*layout, x.layout[-1]) if keepdim else layout


def folded(x: Product, axis: object, kind: str, span: Span) -> Product | None:
    """The sum, mean or product over the axis along which tensors were stacked."""
    atom = x.sole.atom if x.sole else None
    args = atom.args if isinstance(atom, Apply) and atom.name == "stacked" else ()
    if axis != args[:1]:
        return None
    items = [item for item in args if isinstance(item, Product)]
    whole = items[0]
    for item in items[1:]:
        whole = (algebra.multiply if kind == "prod" else algebra.add)(whole, item, span)
    return algebra.divide(whole, number(float(len(items))), span) if kind == "mean" else whole


@op("prod")
def multiplied(ctx: Context, call: Bound) -> Value | None:
    """Of tensors that were stacked, their product."""
    x = call.product("input")
    return folded(x, axes_of(call.get("dim"), None), "prod", call.span) if x else None


@op("sort msort argsort")
def ordered(ctx: Context, call: Bound) -> Value | None:
    """The elements along an axis in another order, and where they were before."""
    x, axis = call.product("input"), call.axis(-1)
    if x is None or not x.tensor or axis is None:
        return None
    places = replace(algebra.opaque("argsort", (x.mono, (axis,)), call.span), dtype=DType.INT)
    moved = x if is_reduced(x, (axis,)) else _reordered(x, (axis,), call.name, call.span)
    return places if call.name == "argsort" else moved if call.name == "msort" else Tup((moved, places))


def _reordered(x: Product, axes: Axes, how: object, span: Span) -> Product:
    moved = Apply("permuted", (x.mono, axes, how), data=x.mono.has_data)
    return replace(x, mono=Mono(1.0, (Factor(moved, ONCE, span=span),)), span=span)


@op("gather take_along_dim")
def gathered_along(ctx: Context, call: Bound) -> Value | None:
    """The elements along an axis in the order of an argsort."""
    x, dim, index = call.product("input"), call.product("dim"), call.product("index", "indices")
    atom = index.sole.atom if index is not None and index.sole else None
    if (
        x is None
        or dim is None
        or dim.whole is None
        or not isinstance(atom, Apply)
        or atom.name != "argsort"
        or atom.args[1:] != ((dim.whole,),)
    ):
        return algebra.apply(call.name, call.products, call.span) if call.products else None
    return _reordered(x, (dim.whole,), call.name, call.span)


def _in_order(mono: Mono, axes: Axes, kind: str) -> Mono:
    """The reduced product, without a permutation along the reduced axes or a repetition under a mean."""
    atom = mono.factors[0].atom if len(mono.factors) == 1 else None
    if (
        not isinstance(atom, Apply)
        or atom.name not in ("permuted", "repeated"[: 8 * (kind == "mean")])
        or not isinstance(axes, tuple)
    ):
        return mono
    whole, along = atom.args[:2]
    assert isinstance(whole, Mono)
    inner = raised(whole, mono.factors[0].power, mono.factors[0].steps)
    kept = inner is None or not isinstance(along, tuple) or not set(along) <= set(axes)
    return mono if kept or inner is None else Mono(mono.coef).times(inner)


@op("cosine_similarity")
def cosine(ctx: Context, call: Bound) -> Value | None:
    """Of a tensor with itself 1, but for rows of zeros; else not followed."""
    one, two = call.product("input", "x1"), call.product("other", "x2")
    if one is None or two is None or one.mono != two.mono:
        return None
    return Product(Mono(1.0), one.dtype, tensor=True, span=call.span)


def _is_row(x: Product) -> bool:
    """x[i, j] is one token's vector, or less."""
    applied = [f.atom for f in x.mono.factors if isinstance(f.atom, Apply)]
    index = [a.args[1] for a in applied if a.name == "index" and len(a.args) > 1]
    return bool(index) and all(map(_is_place, index))


def _is_place(key: object) -> bool:
    """Two or more single indices."""
    return isinstance(key, tuple) and len(key) > 1 and all(isinstance(i, tuple) and i[0] == "at" for i in key)


def is_reduced(x: Product, axes: Axes) -> bool:
    """A statistic that has one element along these axes: its mean, sum or maximum over them is itself."""
    if not algebra.is_statistic(x) or not isinstance(axes, tuple):
        return False
    return all(stat.keepdim and stat.axes == axes and stat.layout == x.layout for stat in stats_of(x.mono))


def _square_dtype(x: Product) -> DType:
    """The dtype in which the last square was taken."""
    steps = [s for f in x.mono.factors for s in f.steps if s.op == "square" and s.dtype is not None]
    return max(steps, key=lambda s: s.span.end).dtype or x.dtype if steps else x.dtype


def _masked(mono: Mono) -> bool:
    def mask(f: Factor) -> bool:
        name = getattr(f.atom, "name", "")
        return isinstance(name, str) and "mask" in name.lower()

    return any(mask(f) or (isinstance(f.atom, Apply) and "masked" in f.atom.name) for f in mono.factors)


@op("amax amin median nanmedian mode aminmax topk")
def extreme(ctx: Context, call: Bound) -> Value | None:
    """Of what has one element along the axes, itself."""
    x = call.product("input")
    given = call.values.get("dim")
    if x is None or given is None or not is_reduced(x, axes_of(given.value, ctx.rank(x))):
        return None
    return x if call.name in ("amax", "amin") else Tup((x, x))


@op("mean nanmean average")
def mean(ctx: Context, call: Bound) -> Value | None:
    x = call.product("input")
    if x is None or not x.tensor:
        return None
    return _of_mean(call, x) or reduce(ctx, call, x, "mean")


def _of_mean(call: Bound, x: Product) -> Product | None:
    """The mean of a mean is one over the axes of both."""
    stat = x.sole.atom if x.sole and x.sole.power == 1 else None
    if not isinstance(stat, Stat) or stat.reduce != "mean" or not isinstance(stat.axes, tuple):
        return None
    axes = axes_of(call.get("dim"), None)
    if isinstance(axes, tuple):
        if min((*axes, *stat.axes)) >= 0 or max((*axes, *stat.axes)) >= 0:
            return None
        axes = tuple(sorted({*stat.axes, *(axes if stat.keepdim else _without(stat.axes, axes))}))
    keepdim = stat.keepdim and call.flag("keepdim", False) is not False
    found = replace(stat, axes=axes, keepdim=keepdim, span=call.span)
    return replace(of_atom(found, call.dtype(x.dtype), call.span), layout=x.layout)


def _without(gone: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Where axes of a tensor that lost some, counted from the end, were before."""
    left = [-i for i in range(1, len(gone) - min(axes) + 1) if -i not in gone]
    return tuple(left[-a - 1] for a in axes)


@op("sum nansum")
def total(ctx: Context, call: Bound) -> Value | None:
    x = call.product("input")
    if x is None or not x.tensor:
        return None
    same, asked = algebra.held(x), nonzero(x)
    counted = _nonzero(ctx, call, x, asked) if asked else None
    return (same and _times(ctx, call, x, same)) or counted or reduce(ctx, call, x, "sum")


@op("count_nonzero")
def count(ctx: Context, call: Bound) -> Value | None:
    """Of what holds one number everywhere, the lengths of the axes; else a number of elements of its own."""
    x, call = call.product("input"), with_dim(call)
    if x is None or not x.tensor:
        return None
    same = algebra.held(x)
    if same is None or same.factors:
        return _nonzero(ctx, call, x, nonzero(x) or x.mono)
    found = _times(ctx, call, x, Mono(float(same.coef != 0)))
    return replace(found, dtype=DType.INT) if found else None


def with_dim(call: Bound) -> Bound:
    """The axes of `*dim` as `dim`."""
    if not call.rest:
        return call
    dim = Given(Tup(tuple(given.value for given in call.rest)), call.rest[0].span)
    return replace(call, values={**call.values, "dim": dim}, rest=())


@op("sum_to_size")
def to_size(ctx: Context, call: Bound) -> Value | None:
    """The sum over the axes that are 1 in the size, which stay; over unknown ones where the size isn't known."""
    x = call.product("input")
    if x is None or not x.tensor:
        return None
    axes = resizing.ones(ctx, ctx.dims(x), resizing.sizes(call.sequence("size")))
    if axes == ():
        return replace(x, span=call.span)
    dim = Opaque("size") if axes is None else Tup(tuple(number(float(axis)) for axis in axes))
    keepdim = Opaque("size") if axes is None else Constant(True)
    values = {**call.values, "dim": Given(dim, call.span), "keepdim": Given(keepdim, call.span)}
    return reduce(ctx, replace(call, values=values), x, "sum")


def _nonzero(ctx: Context, call: Bound, x: Product, base: Mono) -> Product:
    """How many elements of the base along the axes aren't zero."""
    axes = axes_of(call.get("dim"), ctx.rank(x))
    counted = Apply("nonzero", (base, axes, call.flag("keepdim", False) is not False, x.layout))
    return of_atom(Size(Mono(1.0, (Factor(counted, ONCE),)), None), DType.INT, call.span)


def _times(ctx: Context, call: Bound, x: Product, same: Mono) -> Product | None:
    """The sum of what holds the same number everywhere, which is that many times the number."""
    axes = axes_of(call.get("dim"), None)
    if not isinstance(axes, tuple):
        return None
    for axis in axes:
        length = ctx.shapes.axis(ctx.dims(x), axis)
        if length is None:
            return None
        same = same.times(length)
    return replace(x, mono=same, span=call.span)


# --- variance --------------------------------------------------------------------------------------------------------


def _biased(call: Bound) -> bool:
    """Without Bessel's correction; an argument that isn't known counts as the right one."""
    correction = call.product("correction") or call.product("ddof")
    if correction is not None:
        return correction.number in (0, None)
    unbiased = call.get("unbiased")
    if isinstance(unbiased, Product) or (unbiased is None and "correction" in call.values):
        return True
    return call.flag("unbiased", True) is not True


def _variance(ctx: Context, call: Bound) -> tuple[Product, Product] | None:
    """The variance and the mean that a call computes; None if either isn't followed, as along axes of one element."""
    x = call.product("input")
    if x is None or not x.tensor:
        return None
    mean_ = reduce(ctx, call, x, "mean")
    stat = next((f.atom for f in mean_.mono.factors if isinstance(f.atom, Stat)), None)
    if stat is None:
        return None
    sole = x.sole
    centred = sole.atom if sole and isinstance(sole.atom, Centred) and sole.power == 1 else None
    steps = sole.steps if sole and centred else ()
    inner = Mono(1.0, (Factor(centred or Centred(x.mono, stat, call.span), TWO, steps, x.span),))
    variance = replace(stat, inner=inner, biased=_biased(call), square=x.dtype)
    return replace(of_atom(variance, mean_.dtype, call.span), layout=x.layout), mean_


@op("var")
def var(ctx: Context, call: Bound) -> Value | None:
    found = _variance(ctx, call)
    return found[0] if found else None


@op("std")
def std(ctx: Context, call: Bound) -> Value | None:
    found = _variance(ctx, call)
    return algebra.power(found[0], algebra.HALF, "std", call.span) if found else None


@op("var_mean std_mean")
def var_mean(ctx: Context, call: Bound) -> Value | None:
    found = _variance(ctx, call)
    if found is None:
        return None
    variance, mean_ = found
    if call.name == "std_mean":
        root = algebra.power(variance, algebra.HALF, "std", call.span)
        return Tup((root, mean_)) if root else None
    return Tup((variance, mean_))
