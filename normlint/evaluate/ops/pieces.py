"""Evaluate splitting, unbinding, iterating over and concatenating tensors.

A part is an atom that holds the tensor it was cut out of and the `Cut`. Where all parts are concatenated or stacked
along the axis of the cut after the same operations, the result is those operations on the whole tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeAlias

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dims import without
from normlint.evaluate.monomial import (
    ALL,
    NOWHERE,
    ONCE,
    Apply,
    Atom,
    Cut,
    Factor,
    Mono,
    Param,
    Scalar,
    Size,
    Stat,
    atoms_of,
    cut_of,
    cuts_in,
    mono_of,
    raised,
    whole_of,
)
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.shapes import with_axis
from normlint.evaluate.ops.shaping import is_param
from normlint.evaluate.ops.table import Bound, Given, op
from normlint.evaluate.truth import describe
from normlint.evaluate.value import Constant, Pieces, Product, Tup, Value, number
from normlint.text.finding import Span
from normlint.text.frozen import replace

MOST_ITEMS: Final = 8


Whole: TypeAlias = "Callable[[Atom], Mono | None]"  # returns the product that a part was cut out of


# --- splitting -------------------------------------------------------------------------------------------------------


@op("chunk split tensor_split split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes unbind unbind_copy "
    "split_copy split_with_sizes_copy")  # fmt: skip
def taken_apart(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a split as one value that stands for the tuple of all parts."""
    x, axis = call.product("input", "tensor"), call.axis(0)
    if x is None or not x.tensor or axis is None:
        return None
    into = tuple(describe(g.value) for name, g in call.values.items() if name not in ("input", "tensor", "dim"))
    cut = Cut(axis, call.name.startswith("unbind"), (call.name, *into), x.layout)
    return replace(algebra.opaque(call.name, (x.mono, cut), call.span), dtype=x.dtype, layout=x.layout)


def each(ctx: Context, value: Value, span: Span) -> Value | None:
    """Return the item of a loop over a value: a part of a split tensor, or an element along the first axis; or None."""
    if isinstance(value, Pieces):
        return value.item
    if not isinstance(value, Product) or not value.tensor:
        return None
    atom = value.sole.atom if value.sole else None
    parts = isinstance(atom, Apply) and atom.name != "item" and cut_of(atom) is not None
    args = atom.args if parts and isinstance(atom, Apply) else (value.mono, Cut(0, True, (), value.layout))
    one = algebra.opaque("item", args, span)
    return replace(one, dtype=value.dtype, layout=value.layout, shape=without(ctx.dims(value), (0,)))


def rows(ctx: Context, value: Value, span: Span) -> Value | None:
    """Return the item of an iteration over a tensor: its part along the first axis, with statistics over other axes."""
    if not isinstance(value, Product) or not value.tensor:
        return None
    cut = Cut(0, True, (), value.layout)
    mono = _in_rows(value.mono, cut)
    if mono is None:
        return each(ctx, value, span)
    return replace(value, mono=mono, shape=without(ctx.dims(value), (0,)), span=span)


def _in_rows(mono: Mono, cut: Cut) -> Mono | None:
    """Return the product of the parts that `cut` takes from its tensors; None where a statistic mixes the parts."""
    found = Mono(mono.coef)
    for f in mono.factors:
        changes = {field.name: getattr(f.atom, field.name) for field in fields(f.atom)}
        inner = {name: _in_rows(v, cut) for name, v in changes.items() if isinstance(v, Mono) and v.factors}
        stats = [a for a in (f.atom, *changes.values()) if isinstance(a, Stat)]
        mixed = any(not isinstance(a.axes, tuple) or max(a.axes) >= 0 or not a.keepdim for a in stats)
        if mixed or None in inner.values() or isinstance(f.atom, Param):
            return None
        atom = replace(f.atom, **inner) if inner and not isinstance(f.atom, Apply) else f.atom  # type: ignore[arg-type]
        if not inner and not isinstance(f.atom, Size | Scalar):
            atom = Apply("item", (mono_of(f.atom), cut), data=Mono(1.0, (f,)).has_data)
        found = found.times(Mono(1.0, (replace(f, atom=atom),)))
    return found


def stacked_again(one: Value) -> Value | None:
    """Return the tensor of which `one` is the part along the first axis; None if it is no such part."""
    return _rejoined(one, 0, stacked=True) if isinstance(one, Product) else None


def count_of(value: Product) -> tuple[Mono, int] | None:
    """Return the tensor and the axis along which it was taken apart into single elements; None for any other value."""
    cut = cut_of(value.sole.atom) if value.sole else None
    whole = value.sole.atom.args[0] if value.sole and isinstance(value.sole.atom, Apply) and cut else None
    return (whole, cut.axis) if cut is not None and cut.gone and isinstance(whole, Mono) else None


# --- concatenation ---------------------------------------------------------------------------------------------------


@op("cat concat concatenate stack")
def joined(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a concatenation as the whole tensor if its parts are joined, else as an atom that holds the tensors."""
    tensors, axis = call.get("tensors"), call.axis(0)
    if tensors is None or axis is None:
        return None
    if not isinstance(tensors, Tup):
        one = each(ctx, tensors, call.span)
        return _rejoined(one, axis, stacked=call.name == "stack") if isinstance(one, Product) else None
    items = [item for item in tensors.items if isinstance(item, Product) and item.tensor]
    if not items or len(items) < len(tensors.items) or len(items) > MOST_ITEMS:
        return None
    if len(items) == 1:
        return with_axis(items[0], axis) if call.name == "stack" else items[0]
    return _whole_of(items, axis, stacked=call.name == "stack") or _joined_atom(items, axis, call)


def repeated(x: Product, axis: int, span: Span) -> Product:
    """Return a tensor in which each element along an axis is repeated equally often."""
    atom = Apply("repeated", (x.mono, (axis,)), span, data=x.mono.has_data)
    return replace(x, mono=mono_of(atom, span), shape=None, span=span)


@op("repeat_interleave")
def interleaved(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `repeat_interleave` as x itself for a gain or a statistic, else as a repetition along the axis."""
    x, dim, times = call.product("input"), call.product("dim"), call.product("repeats")
    if x is None or is_param(x) or algebra.is_statistic(x):
        return x
    alike = dim is not None and dim.whole is not None and times is not None and not times.tensor
    return repeated(x, int(dim.whole or 0), call.span) if alike and dim is not None else None


def _joined_atom(items: Sequence[Product], axis: int, call: Bound) -> Product:
    data = any(item.mono.has_data for item in items)
    if call.name != "stack" and len({item.mono for item in items}) == 1:
        return repeated(items[0], axis, call.span)
    made = algebra.opaque("stacked" if call.name == "stack" else "cat", (axis, *items), call.span, data=data)
    return replace(made, dtype=algebra.promoted(tuple(items)), layout=items[0].layout)


def _rejoined(one: Product, axis: int, *, stacked: bool) -> Product | None:
    """Return the operations on one part as applied to the whole tensor; None where the result may differ."""
    cuts = set(cuts_in(one.mono))
    cut = cuts.pop() if len(cuts) == 1 else None
    if cut is None or cut.gone is not stacked or one.layout != cut.layout or (axis != cut.axis and not stacked):
        return None
    stats = [atom.inner for atom in atoms_of(one.mono) if isinstance(atom, Stat)]
    if not algebra.is_statistic(one) and any(set(cuts_in(inner)) for inner in stats):
        return None  # a norm of each part is no norm of the whole
    mono = _with_wholes(one.mono, whole_of, cut)
    layout = one.layout if axis == cut.axis else (*one.layout, ("move", cut.axis, axis))
    return None if mono is None else replace(one, mono=mono, layout=layout, shape=None)


def summed(ctx: Context, one: Product, span: Span) -> Product | None:
    """Return the sum of all parts of a tensor, a reduction over the axis of the cut; None where it isn't known."""
    cuts = set(cuts_in(one.mono))
    cut = cuts.pop() if len(cuts) == 1 else None
    if cut is None or one.layout != cut.layout:
        return None
    single = cut.into in (("split", "1"), ("unsafe_split", "1"))
    if cut.gone or (single and not one.mono.has_stat):
        mono = _with_wholes(one.mono, whole_of, cut)
        values = {"dim": Given(number(float(cut.axis)), NOWHERE), "keepdim": Given(Constant(single), NOWHERE)}
        whole = None if mono is None else replace(one, mono=mono, shape=None)
        return whole and reduce(ctx, Bound("sum", span, values), whole, "sum")
    factors = one.mono.factors
    stat = factors[0].atom if len(factors) == 1 and factors[0].power == 1 else None
    if not isinstance(stat, Stat) or stat.reduce != "sum" or stat.axes != (cut.axis,):
        return None
    inner = _with_wholes(stat.inner, whole_of, cut)
    if inner is None:
        return None
    again = Factor(replace(stat, inner=inner, over=None), ONCE, factors[0].steps, factors[0].span)
    return replace(one, mono=Mono(one.mono.coef, (again,)), shape=None)


# --- parts in a product ----------------------------------------------------------------------------------------------


def _with_wholes(mono: Mono, whole: Whole, cut: Cut) -> Mono | None:
    """Return the product with each part replaced by the whole tensor; None where the result may differ."""
    result = Mono(mono.coef)
    for f in mono.factors:
        cut_out_of = whole(f.atom)
        factor = raised(cut_out_of, f.power, f.steps) if cut_out_of is not None else _with_whole(f, whole, cut)
        if factor is None:
            return None
        result = result.times(factor)
    return result


def _with_whole(f: Factor, whole: Whole, cut: Cut) -> Mono | None:
    """Return a factor with the parts in its atom replaced by the whole tensor; None where the result may differ."""
    if isinstance(f.atom, Stat) and cut.gone and cut.axis == 0 and f.atom.axes == ALL and f.atom.rank == 1:
        f = replace(f, atom=replace(f.atom, axes=(-1,), rank=2))  # all axes of a row are the last axis of the whole
    if isinstance(f.atom, Stat) and cut.gone and cut.axis < 0:
        fits = f.atom.axes == (cut.axis,) and not f.atom.keepdim  # the parts have no such axis
        return Mono(1.0, (replace(f, atom=replace(f.atom, keepdim=True)),)) if fits else None
    changes: dict[str, Any] = {}
    for field in fields(f.atom):
        inner = getattr(f.atom, field.name)
        if isinstance(inner, Mono):
            changes[field.name] = _with_wholes(inner, whole, cut)
    held = [a for a in atoms_of(Mono(1.0, (f,))) if whole(a) is not None]
    if None in changes.values() or (held and (isinstance(f.atom, Apply) or not _commutes(f.atom, cut))):
        return None
    return Mono(1.0, (replace(f, atom=replace(f.atom, **changes)),)) if changes else Mono(1.0, (f,))


def _commutes(atom: Atom, cut: Cut) -> bool:
    """Whether an atom is no statistic, or one over other axes than the cut, so that it is that of the whole."""
    if not isinstance(atom, Stat):
        return True
    axes = atom.axes if isinstance(atom.axes, tuple) else (cut.axis,)
    return all((axis < 0) != (cut.axis < 0) or (axis != cut.axis and not cut.gone) for axis in axes)


# --- parts that are written one by one -------------------------------------------------------------------------------


def _whole_of(items: Sequence[Product], axis: int, *, stacked: bool) -> Product | None:
    """Return the whole for `cat((x[..., :n] * r, x[..., n:] * r), -1)` and for all unpacked parts in order; or None."""
    cut, end, found = Cut(axis, stacked), None, set()
    for at, item in enumerate(items):
        places = {place for atom in atoms_of(item.mono) if (place := _place(atom, at)) is not None}
        if len(places) != 1 or next(iter(places))[:3] != (axis, stacked, end):
            return None
        end = next(iter(places))[3]
        found.add(_with_wholes(item.mono, _cut_out_of, cut))
    mono = found.pop() if len(found) == 1 and end in (None, len(items)) else None
    return None if mono is None else replace(items[0], mono=mono, shape=None)


def _cut_out_of(atom: Atom) -> Mono | None:
    """Return the tensor that a slice or an unpacked part was cut out of; None for any other atom."""
    args = atom.args if isinstance(atom, Apply) and atom.name in ("index", "item") else ()
    parts = args[0].factors if args and isinstance(args[0], Mono) else ()
    if not isinstance(atom, Apply) or not parts or _place(atom, None) is None:
        return None
    inner = parts[0].atom
    return inner.args[0] if atom.name == "item" and isinstance(inner, Apply) else args[0]  # type: ignore[return-value]


def _place(atom: Atom, at: int | None) -> tuple[int, bool, object, object] | None:
    """Return the place of a part: (axis, whether the axis is removed, start, end); None if the atom is no part."""
    if not isinstance(atom, Apply) or atom.name not in ("index", "item") or len(atom.args) != 2:
        return None
    whole, key = atom.args
    if atom.name == "index" and isinstance(key, tuple):
        *others, last = key
        sliced = isinstance(last, tuple) and last[0] == "slice" and last[3] is None
        full = others == ["..."] or all(other == ("slice", None, None, None) for other in others)
        return (-1 if others == ["..."] else len(others), False, last[1], last[2]) if sliced and full else None
    sole = whole.factors[0].atom if isinstance(whole, Mono) and len(whole.factors) == 1 else None
    cut = cut_of(sole)
    if cut is None or not isinstance(key, int) or at not in (None, key):
        return None
    return cut.axis, cut.gone, key or None, key + 1
