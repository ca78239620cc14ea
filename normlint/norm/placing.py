"""Place a norm's axes by the shapes: the reduced axes, the gain, the counts, and the statistic against its input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from normlint.evaluate.context import Context
from normlint.evaluate.dims import ONE_LONG, Dims, Gone, Shapes, is_symbol
from normlint.evaluate.monomial import ALL, Centred, Mono, Scalar, Stat, mono_of
from normlint.norm.norm import Gain, Placing
from normlint.text.frozen import replace

MOST_AXES = 5  # most axes that are looked at from either end, if the rank is unknown


def settled(stat: Stat, shapes: Shapes) -> Stat:
    """Return the statistic with its axes counted from the end, if the path tells the rank of its tensor."""
    rank = shapes.rank(stat.over) if stat.over is not None else None
    if rank is None:
        return stat
    axes = tuple(a - rank if a >= 0 else a for a in stat.axes) if isinstance(stat.axes, tuple) else stat.axes
    return replace(stat, axes=axes, rank=rank)


def placing(stat: Stat, centre: Stat | None, gains: tuple[Gain, ...], context: Context, *, learned: bool) -> Placing:
    """Return where the axes of a norm lie, as far as shapes tell."""
    shapes, over = context.shapes, stat.over
    if over is None or not isinstance(stat.axes, tuple):
        return Placing(single=stat.axes == ALL and _is_single(stat, shapes))
    single = stat.axes[0] if len(stat.axes) == 1 else None
    along = [_along(shapes, over, stat.axes, gain) for gain in gains]
    return Placing(
        _names(shapes, over),
        None if single is None else shapes.meets(over, single, -1),
        None if single is None or None in along or not along else all(along),
        _over_tokens(shapes, over, stat.axes),
        centre is not None and _centred_apart(shapes, over, stat, centre, learned=learned),
        _broadcasts(shapes, stat),
        _broadcasts(shapes, centre) if centre is not None else None,
    )


def _is_single(stat: Stat, shapes: Shapes) -> bool:
    """Return whether the reduced tensor may be one row: its batch axis was indexed away, or tested to be 1 long."""
    inner = (a for f in stat.inner.factors for a in (f.atom.base.factors if isinstance(f.atom, Centred) else (f,)))
    whole = [shapes.held.get((mono_of(f.atom), ())) for f in inner]
    return any(dims is not None and _is_row(dims, shapes) for dims in (stat.over, *whole))


def _is_row(dims: Dims, shapes: Shapes) -> bool:
    unsure = isinstance(dims, Gone) and any(a >= 0 for a in dims.axes) and shapes.rank(dims) is None
    return unsure or shapes.equal(shapes.axis(dims, 0), ONE_LONG)


def of_features(length: Mono, stat: Stat, shapes: Shapes) -> bool | None:
    """Return whether a number is the length of the one reduced axis (True) or of another axis of the tensor (False)."""
    if stat.over is None or not isinstance(stat.axes, tuple) or len(stat.axes) != 1:
        return None
    return _on_axis(shapes, stat.over, stat.axes, length)


def _along(shapes: Shapes, over: Dims, axes: tuple[int, ...], gain: Gain) -> bool | None:
    """Return whether the gain lies along a reduced axis; None if that isn't known."""
    lengths = [n for n in gain.param.shape or _documented_shape(shapes, gain) if not shapes.equal(n, ONE_LONG)]
    if len(lengths) != 1 or lengths[0] is None:
        return None
    return _on_axis(shapes, over, axes, lengths[0])


def _documented_shape(shapes: Shapes, gain: Gain) -> tuple[Mono | None, ...]:
    """Return the shape that a docstring or an annotation gives a gain that is passed."""
    dims = shapes.held.get((mono_of(gain.param), ()))
    return (shapes.lengths(dims) if dims is not None else None) or ()


def _on_axis(shapes: Shapes, over: Dims, axes: tuple[int, ...], length: Mono) -> bool | None:
    """Return whether a length is that of one of these axes; False if it is another axis's, None if neither is known."""
    if any(shapes.equal(shapes.axis(over, a), length) for a in axes):
        return True
    others = (i for i in _indices(shapes, over) if all(shapes.meets(over, i, a) is False for a in axes))
    return False if any(shapes.equal(shapes.axis(over, i), length) for i in others) else None


def _indices(shapes: Shapes, dims: Dims) -> Iterator[int]:
    least = min(shapes.least(dims), MOST_AXES)
    yield from range(-least, 0)
    if shapes.rank(dims) is None:
        yield from range(least)


def _names(shapes: Shapes, dims: Dims) -> tuple[str, ...]:
    """Return the names of the axes in the text, or else their usual names; empty if the rank isn't known."""
    lengths = shapes.lengths(dims)
    if lengths is None:
        return ()
    found = tuple(_axis_name(shapes, length) for length in lengths)
    return found if all(found) else {2: ("N", "D"), 3: ("B", "L", "D")}.get(len(found), ())


def _axis_name(shapes: Shapes, length: Mono | None) -> str:
    if length is None:
        return ""
    whole = shapes.find(length)
    if whole in shapes.names:
        return shapes.names[whole]
    if not whole.factors:
        return f"{whole.coef:g}"
    sole = whole.factors[0].atom if len(whole.factors) == 1 and whole.coef == 1 else None
    return sole.name if isinstance(sole, Scalar) and not is_symbol(whole) and sole.name.isidentifier() else ""


_TOKENS = re.compile(r"[tlsn]|(?:.*_)?(?:seq|len|length|tok|tokens?|time|steps?|patches)(?:_.*)?|.*(?:seq|len)", re.I)
_PARTS = re.compile(r"[hgn]|.*(?:head|group|nh).*", re.I)
_FEATURES = re.compile(r"[dce]|.*(?:dim|hidden|hid|channels?|embed|emb|feat|features|model)(?:_size|_dim)?s?", re.I)


def _centred_apart(shapes: Shapes, over: Dims, stat: Stat, centre: Stat, *, learned: bool) -> bool:
    """Return whether the mean and the deviation are taken along other axes, which may be meant if there is no gain."""
    if not isinstance(stat.axes, tuple) or not isinstance(centre.axes, tuple) or stat.layout or centre.layout:
        return False
    if len(stat.axes) == len(centre.axes) == 1:
        same_axis = shapes.meets(over, stat.axes[0], centre.axes[0])
        batch = learned and 0 in (*stat.axes, *centre.axes)  # code that means the last axis doesn't call it 0
        mixed = learned and stat.axes[0] * centre.axes[0] < 0  # which are one axis of a single rank
        return same_axis is False or ((batch or mixed) and same_axis is None and stat.axes != centre.axes)
    one, two = ({*t.axes} if isinstance(t.axes, tuple) else set() for t in (stat, settled(centre, shapes)))
    return learned and len({a < 0 for a in one | two}) == 1 and one != two


def _over_tokens(shapes: Shapes, over: Dims, axes: tuple[int, ...]) -> bool:
    """Return whether tokens are reduced, and names or layers tell that the last axis has the features."""
    if shapes.least(over) < 3 or any(shapes.meets(over, a, -1) is not False for a in axes if len(axes) == 1):
        return False
    last, reduced = shapes.axis(over, -1), [shapes.axis(over, a) for a in axes if shapes.meets(over, a, -1) is False]
    features_last = shapes.are_features(last) or _FEATURES.fullmatch(_axis_name(shapes, last)) is not None
    whole = len(axes) > 1 and shapes.rank(over) == 3 and not shapes.equal(shapes.axis(over, 0), reduced[0])
    tokens = (
        not shapes.are_features(n)
        and (_reads_as_tokens(shapes, n, shapes.are_features(last)) or (whole and _is_own_axis(shapes, n)))
        for n in reduced
    )
    return features_last and bool(reduced) and all(tokens)


def _reads_as_tokens(shapes: Shapes, length: Mono | None, by_layers: bool) -> bool:
    name = _axis_name(shapes, length)
    return _TOKENS.fullmatch(name) is not None or (by_layers and (name.isdigit() or not name) and length is not None)


def _is_own_axis(shapes: Shapes, length: Mono | None) -> bool:
    """Return whether an axis between batch and features has a name of its own, neither of features nor of heads."""
    name = _axis_name(shapes, length)
    return bool(name) and not _FEATURES.fullmatch(name) and not _PARTS.fullmatch(name)


def _broadcasts(shapes: Shapes, stat: Stat) -> bool | None:
    """Return whether the statistic broadcasts against its operands as one with kept axes would; None if unknown."""
    found = [shapes.fits(small, large) for small, large in shapes.met.get(stat.span, ())]
    if False in found:
        return False
    return True if found and all(found) else None
