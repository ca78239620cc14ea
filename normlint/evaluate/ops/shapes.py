"""Evaluate views and permutations: they change the layout of a value, and the keepdim of a statistic."""

from __future__ import annotations

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.monomial import Layout, Mono, Param, Stat, bears_stat, stats_of
from normlint.evaluate.ops import resizing
from normlint.evaluate.ops.reductions import axes_of
from normlint.evaluate.ops.resizing import sizes
from normlint.evaluate.ops.shaping import is_param, swapped
from normlint.evaluate.ops.table import Bound, of_input, op
from normlint.evaluate.value import Constant, Product, Shape, Value
from normlint.text.frozen import replace

_OF_ROWS = 2  # lengths of a matrix (B, D)


def _with_keepdim(mono: Mono, keepdim: bool) -> Mono:
    """Return the product with `keepdim` set in all of its statistics."""
    return mono.map(lambda atom: replace(atom, keepdim=keepdim) if isinstance(atom, Stat) else atom)


def with_axis(x: Product, position: int | None) -> Product:
    """Return x with a new axis of length 1 at `position`, which may be unknown (None)."""
    if algebra.is_statistic(x) or (position == -1 and _has_other_factors(x)):
        return replace(x, mono=_with_keepdim(x.mono, True)) if _restores(x, position) else x
    if is_param(x):
        return placed(x, "last" if position == 0 else "other")
    return replace(x, layout=(*x.layout, ("axis", position)), shape=None)


def _has_other_factors(x: Product) -> bool:
    """Return whether x is a statistic times other tensors, such as a mask, that aren't factors of what it reduces."""
    plain = {f.atom for f in x.mono.factors if not bears_stat(f.atom)}
    return x.mono.has_stat and all(plain.isdisjoint(f.atom for f in t.inner.factors) for t in stats_of(x.mono))


def _restores(x: Product, position: int | None) -> bool:
    """Whether a new axis at `position` can be the one that the reduction dropped."""
    axes = [f.atom.axes for f in x.mono.factors if isinstance(f.atom, Stat)]
    return not (position == 0 and axes == [(-1,)])


def placed(x: Product, axis: str) -> Product:
    """Return x with its parameters along the axis "last" or "other"."""
    mono = x.mono.map(lambda atom: replace(atom, axis=axis) if isinstance(atom, Param) else atom)
    return replace(x, mono=mono, shape=None)


@of_input("unsqueeze")
def unsqueeze(ctx: Context, call: Bound, x: Product) -> Value | None:
    dim = call.product("dim")
    at = dim.number if dim else None
    return with_axis(x, None if at is None else int(at))


@of_input("view reshape", tensor=True)
def view(ctx: Context, call: Bound, x: Product) -> Value | None:
    lengths = sizes(call.sequence("size", "shape"))
    if not lengths:
        return None
    if len(lengths) == 1 and isinstance(lengths[0], Shape) and lengths[0].start is lengths[0].stop is None:
        return replace(x, layout=lengths[0].of.layout, shape=None, span=call.span)
    return _reshaped(x, lengths, call)


def _reshaped(x: Product, lengths: tuple[Value, ...], call: Bound) -> Product:
    trailing_one = bool(lengths) and lengths[-1].number == 1
    if algebra.is_statistic(x):
        rows = len(lengths) == _OF_ROWS and lengths[-1].number == -1 and all(t.axes == (1,) for t in stats_of(x.mono))
        kept = trailing_one or rows  # (B, −1) of the (B,) that dim 1 of an input (B, D) gives
        return replace(x, mono=_with_keepdim(x.mono, True), span=call.span) if kept else x
    if is_param(x):
        return placed(x, "other" if trailing_one and len(lengths) > 1 else "last")
    return replace(x, layout=(*x.layout, ("view", call.span)), shape=None, span=call.span)


@op("view_as reshape_as")
def view_as(ctx: Context, call: Bound) -> Value | None:
    x, other = call.product("input"), call.product("other")
    return replace(x, layout=other.layout, shape=other.shape, span=call.span) if x and other else None


@of_input("flatten unflatten swapdims ravel", tensor=True)
def relayout(ctx: Context, call: Bound, x: Product) -> Value | None:
    if algebra.is_statistic(x):
        return None
    if call.name == "flatten" and resizing.is_from_end(call.product("start_dim")):
        return x
    return replace(x, layout=(*x.layout, ("view", call.span)), shape=None, span=call.span)


@of_input("expand expand_as broadcast_to contiguous clone alias")
def same_elements(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate an operation that keeps elements as its input; None for copies in new rows (`expand` of data)."""
    if call.name[:2] in ("ex", "br"):
        lengths = sizes(call.sequence("size", "shape"))
        if lengths and x.mono.has_data and (not x.mono.has_stat or len(lengths) > (ctx.rank(x) or len(lengths))):
            return None  # copies in new rows, which the next operation may multiply, add or transpose
        x = _of_any_shape(x)
    return replace(x, alias="" if call.name == "clone" else x.alias, span=call.span)


@of_input("tile")
def repeated(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `tile` of a gain or a statistic as a broadcast; of anything else it is unknown."""
    return _of_any_shape(x) if (is_param(x) or algebra.is_statistic(x)) else None


def _of_any_shape(x: Product) -> Product:
    """Return x without a shape if it is a parameter, since it may be larger after a broadcast."""
    mono = x.mono.map(lambda atom: replace(atom, shape=None) if isinstance(atom, Param) and not atom.name else atom)
    return replace(x, mono=mono, shape=None) if is_param(x) else x


@of_input("squeeze")
def squeeze(ctx: Context, call: Bound, x: Product) -> Value | None:
    return _squeezed(x, call) if algebra.is_statistic(x) else relayout(ctx, call)


def _squeezed(x: Product, call: Bound) -> Product | None:
    """Return a statistic without its kept axes or an added axis of length 1; None for other axes."""
    gone = axes_of(call.get("dim"), None)
    if gone is None or isinstance(gone, str) or len(gone) == 1:
        return dropped(x, gone[0] if isinstance(gone, tuple) else None)
    return _without_kept(x, gone)


def _without_kept(x: Product, gone: tuple[int, ...]) -> Product | None:
    """Return a statistic without its kept axes if `gone` are these, counted from either end; None otherwise."""
    several = [(stat.axes, stat.rank) for stat in stats_of(x.mono)]
    own = [{axis % rank if rank else axis for axis in axes} for axes, rank in several if isinstance(axes, tuple)]
    same = [{axis % rank if rank else axis for axis in gone} for _, rank in several]
    return replace(x, mono=_with_keepdim(x.mono, False)) if len(several) == 1 and own == same else None


def dropped(x: Product, axis: float | None) -> Product | None:
    """Return a statistic without an axis of length 1, one that was added or its own; None for another axis."""
    name, place = x.layout[-1] if x.layout and len(x.layout[-1]) == 2 else ("", None)
    axes = [stat.axes for stat in stats_of(x.mono)]
    if name == "axis" and place in (-1, -2) and axis in (-1, -2, None) and axes in ([], [(-1,)]):  # x has both axes
        return replace(x, layout=x.layout[:-1])
    return _without_kept(x, (int(axis),)) if axis is not None else None


# --- permutations ----------------------------------------------------------------------------------------------------


def _permuted(layout: Layout, token: tuple[object, ...]) -> Layout:
    """Return the layout after a permutation, which cancels the last token if it is its inverse."""
    if layout and _undoes(layout[-1], token):
        return layout[:-1]
    return (*layout, token)


def _undoes(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    if before[0] != after[0]:
        return False
    if before[0] == "swap":
        return before == after
    if before[0] == "move":
        return before[1:] == after[:0:-1]
    one, two = before[1:], after[1:]
    return len(one) == len(two) and all(isinstance(i, int) and one[i] == k for k, i in enumerate(two))


@of_input("permute", tensor=True)
def permute(ctx: Context, call: Bound, x: Product) -> Value | None:
    dims = tuple(v.number for v in sizes(call.sequence("dims")))
    if any(d is None for d in dims):
        return relayout(ctx, call)
    order = tuple(int(d or 0) % max(len(dims), 1) for d in dims)
    return _moved(ctx, x, ("perm", *order), call)


def _moved(ctx: Context, x: Product, token: tuple[object, ...], call: Bound) -> Product:
    if is_param(x) or algebra.is_statistic(x):
        return replace(x, layout=x.layout[:-1]) if x.layout and _undoes(x.layout[-1], token) else x
    ctx.note("moved", call.span)
    return replace(x, layout=_permuted(x.layout, token), shape=None, span=call.span)


@of_input("transpose swapaxes", tensor=True)
def transpose(ctx: Context, call: Bound, x: Product) -> Value | None:
    one, two = call.product("dim0", "axis0"), call.product("dim1", "axis1")
    if one is None or two is None or one.whole is None or two.whole is None:
        return None
    pair = sorted((one.whole, two.whole))
    return _moved(ctx, x, ("swap", *pair), call)


@of_input("movedim moveaxis", tensor=True)
def moved(ctx: Context, call: Bound, x: Product) -> Value | None:
    one, two = call.product("source"), call.product("destination")
    if one is None or two is None or one.number is None or two.number is None:
        return relayout(ctx, call)
    return _moved(ctx, x, ("move", int(one.number), int(two.number)), call)


def transposed(ctx: Context, x: Product, name: str) -> Product:
    """Return x.T or x.mT: x with the last two axes swapped."""
    return replace(x, layout=_permuted(x.layout, ("swap", -2, -1)), shape=swapped(ctx, ctx.dims(x), -2, -1))


@of_input("rearrange", tensor=True)
def rearrange(ctx: Context, call: Bound, x: Product) -> Value | None:
    pattern = call.get("pattern")
    if not isinstance(pattern, Constant):
        return None
    left, _, right = str(pattern.value).partition("->")
    names, out = left.split(), right.split()
    if is_param(x) or algebra.is_statistic(x):
        return _reshaped(x, tuple(Product(Mono(1.0 if n == "1" else 2.0)) for n in out), call)
    if "(" not in left + right and "..." not in left and sorted(names) == sorted(out):
        return _moved(ctx, x, ("perm", *(names.index(n) for n in out)), call)
    moves = (_move(names, out, name) for name in names if name.isidentifier())
    return next((_moved(ctx, x, move, call) for move in moves if move), None) or relayout(ctx, call)


def _move(names: list[str], out: list[str], name: str) -> tuple[str, int, int] | None:
    """Return the move of one axis that turns the axes `names` into `out`, some of which an ellipsis stands for."""
    if "..." not in names or name not in out or [n for n in names if n != name] != [n for n in out if n != name]:
        return None
    source, target = _place(names, name), _place(out, name)
    return ("swap", -2, -1) if {source, target} == {-2, -1} else ("move", source, target)


def _place(names: list[str], name: str) -> int:
    """Return the index of a name, counted from the end behind an ellipsis."""
    at = names.index(name)
    return at - len(names) if "..." in names[:at] else at
