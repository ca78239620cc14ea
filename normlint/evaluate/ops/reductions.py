"""Evaluate reductions such as mean, sum, var and std as `Stat` atoms, and sorting along an axis."""

from __future__ import annotations

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.counted import nonzero
from normlint.evaluate.dims import without
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import (
    ALL,
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
    mono_of,
    raised,
    stats_of,
)
from normlint.evaluate.ops import resizing
from normlint.evaluate.ops.powers import elementwise
from normlint.evaluate.ops.table import Bound, Given, of_input, op
from normlint.evaluate.value import AxesOf, Constant, Opaque, Product, Tup, Value, number, of_atom
from normlint.text.finding import Span
from normlint.text.frozen import replace


def axes_of(value: Value | None, rank: int | None) -> Axes:
    """Return the axes that an argument names, counted from the end where the rank is known; None if unknown."""
    match value:
        case None | Constant(value=None):
            return ALL
        case AxesOf(of=of):
            return TRAILING if of is None else None  # `reduce` compares `of` with the reduced tensor
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
        axis = value.atom.default if isinstance(value.atom, Scalar) else None
    if axis is None or not axis.is_integer():
        return None
    return (int(axis) - rank if rank is not None and axis >= 0 else int(axis),)


def _split(mono: Mono, axes: Axes) -> tuple[Mono, Mono]:
    """Return the factors that vary along the axes and those that can be taken out of the reduction over them."""
    plain = tuple(f for f in mono.factors if isinstance(f.atom, Size | Scalar))
    varies = tuple(f for f in mono.factors if f not in plain)
    kept = tuple(f for f in varies if _is_constant(f, axes))
    if kept and len(kept) < len(varies) and all(f.power == 1 for f in varies if f not in kept):
        plain, varies = plain + kept, tuple(f for f in varies if f not in kept)
    return Mono(1.0, varies), Mono(mono.coef, plain)


def _is_constant(factor: Factor, axes: Axes) -> bool:
    """Return whether a factor is a statistic over these axes with keepdim, and so constant along them."""
    stats = list(stats_of(Mono(1.0, (factor,))))
    return bool(stats) and bears_stat(factor.atom) and all(s.axes == axes and s.keepdim for s in stats)


def _is_all_axes(value: Value, x: Product) -> bool:
    """Return whether an argument names all axes of x, or of a tensor from which x was made element by element."""
    of = value.of if isinstance(value, AxesOf) else None
    atoms = {f.atom for f in x.mono.factors}
    return of is not None and of.layout == x.layout and {f.atom for f in of.mono.factors} == atoms


def reduce(ctx: Context, call: Bound, x: Product, kind: str, **changes: object) -> Product:
    """Return the mean or sum of x over the call's axes."""
    beside = _mean_beside_eps(ctx, call, x) if kind == "mean" and not changes else None
    if beside is not None:
        return beside
    rank = ctx.rank(x)
    axes_rank, rank = rank, 1 if rank is None and _is_row(x) else rank
    given = call.values.get("dim")
    axes = ALL if given and _is_all_axes(given.value, x) else axes_of(given.value if given else None, axes_rank)
    x = replace(x, mono=_unpermuted(x.mono, axes, kind))
    whole = None if changes else folded(x, axes, kind, call.span)
    if whole is not None or (not changes and is_reduced(x, axes)):
        return replace(whole or x, span=call.span)
    if not changes and x.layout and isinstance(axes, tuple) and x.layout[-1] == ("axis", *axes):
        kept = call.flag("keepdim", False) is not False  # the reduced axis was added by unsqueeze and has length 1
        return replace(x, layout=x.layout if kept else x.layout[:-1], shape=None, span=call.span)
    inner, outside = _split(_as_centred_square(x.mono, axes), axes)
    accumulate = call.dtype(x.dtype)
    viewed = any(token[0] == "view" for token in x.layout[-1:])
    if axes in ((-1,), (0,)) and axes_rank == 1 and viewed and not is_row(x.mono, x.layout):
        axes = ALL  # flattened to one axis
    x, axes, keepdim, layout = _before_relayout(ctx, x, axes, call.flag("keepdim", False) is not False)
    dim = call.get("dim")
    one_axis = isinstance(dim, Product) and not dim.tensor
    stat = Stat(
        inner, kind, axes, keepdim, True, x.layout,
        _square_dtype(x), accumulate, call.name, rank=rank, one_axis=one_axis, span=call.span, inner_span=x.span,
        no_grad=not ctx.grad, masked=_masked(inner), over=ctx.dims(x),
    )  # fmt: skip
    result = of_atom(replace(stat, **changes), accumulate, call.span)  # type: ignore[arg-type]
    return replace(result, mono=result.mono.times(outside), layout=layout)


def _mean_beside_eps(ctx: Context, call: Bound, x: Product) -> Product | None:
    """Return mean(a) + eps for x = a + eps, or None for any other x."""
    atom = x.atom
    if not isinstance(atom, Plus) or atom.how != "add" or atom.inner.has_stat:
        return None
    mean = reduce(ctx, call, replace(x, mono=atom.inner), "mean")
    return replace(mean, mono=mono_of(replace(atom, inner=mean.mono), atom.span))


def _as_centred_square(mono: Mono, axes: Axes) -> Mono:
    """Return (x − mean)² for x·(x − mean), which has the same mean over the axes; any other product unchanged."""
    centred = next((f for f in mono.factors if isinstance(f.atom, Centred) and f.power == 1), None)
    rest = Mono(1.0, tuple(f for f in mono.factors if f is not centred))
    if centred is None or not isinstance(centred.atom, Centred) or centred.atom.stat.axes != axes:
        return mono
    return Mono(mono.coef, (replace(centred, power=algebra.TWO),)) if rest == centred.atom.base else mono


def _before_relayout(ctx: Context, x: Product, axes: Axes, keepdim: bool) -> tuple[Product, Axes, bool, Layout]:
    """Return the reduced tensor, axis and keepdim as before axes were added or moved, and the layout of the result."""
    name, *places = x.layout[-1] if x.layout and isinstance(axes, tuple) and len(axes) == 1 else ("",)
    if not isinstance(axes, tuple) or not places or not all(isinstance(p, int) for p in places):
        return x, axes, keepdim, x.layout
    axis, place = axes[0], int(str(places[-1]))
    added = name == "axis" and place < 0 and axis < 0 and axis != place
    before = axis + (axis < place) if added else int(str(places[0]))
    stands = added and (keepdim or place + (place < axis) == before)  # the added axis replaces the reduced one
    if not stands and not (name == "move" and axis == place and before < 0):
        return x, axes, keepdim, x.layout
    base = replace(x, layout=x.layout[:-1], shape=without(ctx.dims(x), (place,)) if added else None)
    base, found, kept, layout = _before_relayout(ctx, base, (before,), keepdim or added)
    return base, found, kept, (*layout, x.layout[-1]) if keepdim else layout


def folded(x: Product, axis: object, kind: str, span: Span) -> Product | None:
    """Return the sum, mean or product over the axis along which tensors were stacked; None for any other x or axis."""
    atom = x.sole.atom if x.sole else None
    args = atom.args if isinstance(atom, Apply) and atom.name == "stacked" else ()
    if axis != args[:1]:
        return None
    items = [item for item in args if isinstance(item, Product)]
    whole = items[0]
    for item in items[1:]:
        whole = (algebra.multiply if kind == "prod" else algebra.add)(whole, item, span)
    return algebra.divide(whole, number(float(len(items))), span) if kind == "mean" else whole


@of_input("prod")
def multiplied(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `prod` over the axis along which tensors were stacked, as their product."""
    return folded(x, axes_of(call.get("dim"), None), "prod", call.span)


@of_input("sort msort argsort", tensor=True)
def ordered(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate sorting along an axis as a permutation of the elements along it."""
    axis = call.axis(-1)
    if axis is None:
        return None
    places = replace(algebra.opaque("argsort", (x.mono, (axis,)), call.span), dtype=DType.INT)
    moved = x if is_reduced(x, (axis,)) else _reordered(x, (axis,), call.name, call.span)
    return places if call.name == "argsort" else moved if call.name == "msort" else Tup((moved, places))


def _reordered(x: Product, axes: Axes, how: object, span: Span) -> Product:
    moved = Apply("permuted", (x.mono, axes, how), data=x.mono.has_data)
    return replace(x, mono=mono_of(moved, span), span=span)


@op("gather take_along_dim")
def gathered_along(ctx: Context, call: Bound) -> Value | None:
    """Evaluate gathering by the indices of an argsort as a permutation of the elements along the axis."""
    x, dim, index = call.product("input"), call.product("dim"), call.product("index", "indices")
    atom = index.sole.atom if index is not None and index.sole else None
    axis = dim.whole if dim is not None else None
    ordering = isinstance(atom, Apply) and atom.name == "argsort" and atom.args[1:] == ((axis,),)
    if x is None or axis is None or not ordering:
        return elementwise(ctx, call)
    return _reordered(x, (axis,), call.name, call.span)


def _unpermuted(mono: Mono, axes: Axes, kind: str) -> Mono:
    """Return the product without a permutation, or for a mean a repetition, along the reduced axes."""
    atom = mono.only
    undone = ("permuted", "repeated") if kind == "mean" else ("permuted",)
    if not isinstance(atom, Apply) or atom.name not in undone or not isinstance(axes, tuple):
        return mono
    whole, along = atom.args[:2]
    assert isinstance(whole, Mono)
    inner = raised(whole, mono.factors[0].power, mono.factors[0].steps)
    within = isinstance(along, tuple) and set(along) <= set(axes)
    return Mono(mono.coef).times(inner) if within and inner is not None else mono


@op("cosine_similarity")
def cosine(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the similarity of a tensor to itself as 1 (rows of zeros aside); any other is unknown."""
    one, two = call.product("input", "x1"), call.product("other", "x2")
    if one is None or two is None or one.mono != two.mono:
        return None
    return Product(Mono(1.0), one.dtype, tensor=True, span=call.span)


def _is_row(x: Product) -> bool:
    """Return whether x is indexed like x[i, j] by two or more single indices, and so is at most one token's vector."""
    applied = [f.atom for f in x.mono.factors if isinstance(f.atom, Apply)]
    index = [a.args[1] for a in applied if a.name == "index" and len(a.args) > 1]
    return bool(index) and all(map(_is_place, index))


def _is_place(key: object) -> bool:
    return isinstance(key, tuple) and len(key) > 1 and all(isinstance(i, tuple) and i[0] == "at" for i in key)


def is_reduced(x: Product, axes: Axes) -> bool:
    """Return whether x is a statistic with one element along these axes, so that its mean or maximum over them is x."""
    if not algebra.is_statistic(x) or not isinstance(axes, tuple):
        return False
    return all(stat.keepdim and stat.axes == axes and stat.layout == x.layout for stat in stats_of(x.mono))


def _square_dtype(x: Product) -> DType:
    """Return the dtype in which the last square in x was computed."""
    steps = [s for f in x.mono.factors for s in f.steps if s.op == "square" and s.dtype is not None]
    return max(steps, key=lambda s: s.span.end).dtype or x.dtype if steps else x.dtype


def _masked(mono: Mono) -> bool:
    def mask(f: Factor) -> bool:
        name = getattr(f.atom, "name", "")
        return isinstance(name, str) and "mask" in name.lower()

    return any(mask(f) or (isinstance(f.atom, Apply) and "masked" in f.atom.name) for f in mono.factors)


@of_input("amax amin median nanmedian mode aminmax topk")
def extreme(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate the maximum, median and the like of a tensor with one element along the axes as that tensor."""
    given = call.values.get("dim")
    if given is None or not is_reduced(x, axes_of(given.value, ctx.rank(x))):
        return None
    return x if call.name in ("amax", "amin") else Tup((x, x))


@of_input("mean nanmean average", tensor=True)
def mean(ctx: Context, call: Bound, x: Product) -> Value | None:
    return _mean_of_mean(ctx, call, x) or reduce(ctx, call, x, "mean")


def _mean_of_mean(ctx: Context, call: Bound, x: Product) -> Product | None:
    """Return the mean of a mean as one mean over the axes of both; None if x is no mean or the axes are unknown."""
    stat = x.atom
    if not isinstance(stat, Stat) or stat.reduce != "mean" or not isinstance(stat.axes, tuple):
        return None
    axes = axes_of(call.get("dim"), ctx.rank(x))
    if isinstance(axes, tuple):
        signs = {axis < 0 for axis in (*axes, *stat.axes)}
        if len(signs) > 1 or (signs == {False} and not stat.keepdim):
            return None
        axes = tuple(sorted({*stat.axes, *(axes if stat.keepdim else _before_removal(stat.axes, axes))}))
    keepdim = stat.keepdim and call.flag("keepdim", False) is not False
    found = replace(stat, axes=axes, keepdim=keepdim, span=call.span)
    return replace(of_atom(found, call.dtype(x.dtype), call.span), layout=x.layout)


def _before_removal(gone: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of a tensor as numbered before the axes `gone` were removed, all counted from the end."""
    left = [-i for i in range(1, len(gone) - min(axes) + 1) if -i not in gone]
    return tuple(left[-a - 1] for a in axes)


@of_input("sum nansum", tensor=True)
def total(ctx: Context, call: Bound, x: Product) -> Value | None:
    same, asked = algebra.held(x), nonzero(x)
    counted = _count_nonzero(ctx, call, x, asked) if asked else None
    return (same and _sum_of_constant(ctx, call, x, same)) or counted or reduce(ctx, call, x, "sum")


@of_input("count_nonzero", tensor=True)
def count(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate the number of elements that aren't zero: the product of the axes' lengths if x holds one number."""
    call, same = with_dim(call), algebra.held(x)
    if same is None or same.factors:
        return _count_nonzero(ctx, call, x, nonzero(x) or x.mono)
    found = _sum_of_constant(ctx, call, x, Mono(float(same.coef != 0)))
    return replace(found, dtype=DType.INT) if found else None


def with_dim(call: Bound) -> Bound:
    """Return the call with the arguments of `*dim` as one argument `dim`."""
    if not call.rest:
        return call
    dim = Given(Tup(tuple(given.value for given in call.rest)), call.rest[0].span)
    return replace(call, values={**call.values, "dim": dim}, rest=())


@of_input("sum_to_size", tensor=True)
def to_size(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `sum_to_size` as the sum with keepdim over the axes that are 1 in the size, or over unknown axes."""
    axes = resizing.ones(ctx, ctx.dims(x), resizing.sizes(call.sequence("size")))
    if axes == ():
        return replace(x, span=call.span)
    dim = Opaque("size") if axes is None else Tup(tuple(number(float(axis)) for axis in axes))
    keepdim = Opaque("size") if axes is None else Constant(True)
    values = {**call.values, "dim": Given(dim, call.span), "keepdim": Given(keepdim, call.span)}
    return reduce(ctx, replace(call, values=values), x, "sum")


def _count_nonzero(ctx: Context, call: Bound, x: Product, base: Mono) -> Product:
    """Return the number of elements of `base` along the call's axes that aren't zero."""
    axes = axes_of(call.get("dim"), ctx.rank(x))
    counted = Apply("nonzero", (base, axes, call.flag("keepdim", False) is not False, x.layout))
    return of_atom(Size(mono_of(counted), None), DType.INT, call.span)


def _sum_of_constant(ctx: Context, call: Bound, x: Product, same: Mono) -> Product | None:
    """Return the sum of a tensor that holds the number `same` everywhere; None if a length is unknown."""
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
    """Return whether a variance has no Bessel's correction; an unknown argument counts as no correction."""
    correction = call.product("correction") or call.product("ddof")
    if correction is not None:
        return correction.number in (0, None)
    unbiased = call.get("unbiased")
    if isinstance(unbiased, Product) or (unbiased is None and "correction" in call.values):
        return True
    return call.flag("unbiased", True) is not True


def _variance(ctx: Context, call: Bound, x: Product) -> tuple[Product, Product] | None:
    """Return the variance and mean that a call computes; None if they are unknown, as along axes of one element."""
    mean_ = reduce(ctx, call, x, "mean")
    stat = next((f.atom for f in mean_.mono.factors if isinstance(f.atom, Stat)), None)
    if stat is None:
        return None
    centred = x.atom if isinstance(x.atom, Centred) else None
    steps = x.sole.steps if x.sole and centred else ()
    inner = Mono(1.0, (Factor(centred or Centred(x.mono, stat, call.span), algebra.TWO, steps, x.span),))
    variance = replace(stat, inner=inner, biased=_biased(call), square=x.dtype)
    return replace(of_atom(variance, mean_.dtype, call.span), layout=x.layout), mean_


@of_input("var std var_mean std_mean", tensor=True)
def spread(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate a variance, or its root, perhaps as a pair with the mean."""
    found = _variance(ctx, call, x)
    if found is None:
        return None
    variance, mean_ = found
    root = algebra.power(variance, algebra.HALF, "std", call.span) if call.name.startswith("std") else variance
    return Tup((root, mean_)) if root and call.name.endswith("_mean") else root
