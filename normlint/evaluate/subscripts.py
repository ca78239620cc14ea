"""Evaluate subscripts of tensors, shapes, tuples and dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from normlint.evaluate import algebra
from normlint.evaluate import syntax as s
from normlint.evaluate.containers import key_of
from normlint.evaluate.dims import is_symbol, without
from normlint.evaluate.monomial import Apply, Param
from normlint.evaluate.objects import Env
from normlint.evaluate.ops import measured, shapes, shaping
from normlint.evaluate.ops.reductions import axes_of
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    AxesOf,
    Constant,
    Defined,
    Dict,
    Opaque,
    Path,
    Product,
    Shape,
    Tup,
    Value,
    number,
    scalar,
    size_of,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


def subscript(m: Machine, env: Env, node: s.Subscript) -> Value:
    base = m.eval(env, node.base)
    if isinstance(base, Dict):
        key = key_of(m.eval(env, node.index[0]))
        return (base.get(key) if key is not None else None) or scalar(m.module.source(node.span)[:80])
    if isinstance(base, Shape | Tup):
        return _item(m, env, base, node.index, node.span)
    if isinstance(base, Product):
        m.flow(base, node.base.span)
        item = _tensor_item(m, env, base, node)
        return item if base.alias or not isinstance(item, Product) else replace(item, alias="")
    if isinstance(base, AxesOf) and _bound(m, env, node.index[0]) == -1:
        return number(-1.0, node.span)  # the last one of several last axes
    if isinstance(base, Constant | Defined | Path):
        return Opaque(m.module.source(node.span)[:80])
    return algebra.opaque(m.module.source(node.span)[:80], (), node.span)


def _bound(m: Machine, env: Env, node: s.Expr | None) -> int | None:
    """Return an index or bound of a slice as an integer; None if there is none or it is unknown."""
    return m.eval(env, node).whole if node is not None else None


def _item(m: Machine, env: Env, base: Shape | Tup, index: tuple[s.Expr, ...], span: Span) -> Value:
    first = index[0]
    if isinstance(first, s.Slice):
        return _slice(m, env, base, first) or Opaque(m.module.source(span)[:80])
    if isinstance(base, Shape):
        axes = axes_of(m.eval(env, first), None)  # an axis as a reduction takes it
        return size(m, base, axes[0]) if isinstance(axes, tuple) and axes else scalar(m.module.source(span)[:80])
    at = _bound(m, env, first)
    if at is None:
        return scalar(m.module.source(span)[:80])
    return base.items[at] if -len(base.items) <= at < len(base.items) else Opaque("item")


def _slice(m: Machine, env: Env, base: Shape | Tup, index: s.Slice) -> Value | None:
    """Return a slice of a tuple or shape; None if its bounds aren't known."""
    given = [m.eval(env, node) if node is not None else Constant(None) for node in index.parts]
    bounds = [value.whole for value in given]
    unknown = any(at is None and value != Constant(None) for at, value in zip(bounds, given, strict=True))
    if unknown or bounds[2] == 0:
        return None
    if isinstance(base, Tup):
        return Tup(base.items[slice(*bounds)])
    start, stop, step = bounds
    if step not in (None, 1) or base.stop is not None:
        return None
    if base.start in (None, 0):
        return replace(base, start=start, stop=stop)
    if start is not None and min(start, base.start) < 0:
        return None
    return replace(base, start=base.start + (start or 0), stop=stop) if stop is None else None


def size(m: Machine, shape: Shape, at: int) -> Value:
    """Return the length of an axis of a shape."""
    if shape.start is not None and at >= 0:
        at += shape.start
    if shape.stop is not None and at < 0:
        at += shape.stop
    length = m.ctx.shapes.axis(m.ctx.dims(shape.of), at)
    rank = m.ctx.rank(shape.of)
    if length is not None and not is_symbol(length) and all(isinstance(f.atom, Param) for f in shape.of.mono.factors):
        return Product(length)
    axis = at - rank if rank is not None and at >= 0 else at
    found = size_of(shape.of, axis)
    m.ctx.shapes.unite(length, found.mono)
    return found


def _tensor_item(m: Machine, env: Env, base: Product, node: s.Subscript) -> Value:
    """Return an item of a tensor: x with new axes for None, a part of a parameter, or an opaque tensor."""
    index = [m.eval(env, i) if not isinstance(i, s.Slice) else i for i in node.index]
    if len(index) == 1 and isinstance(index[0], Tup) and Constant(...) in index[0].items:
        index = list(index[0].items)  # x[(..., None)] is x[..., None], not a list of indices
    sole = base.sole
    if not base.tensor and sole is not None:
        return scalar(f"{describe(base)}[{m.module.source(node.span)[-12:]}]")
    plain = all(is_full(i) for i in index)
    effects = [_axis_effect(i) for i in index]
    dims = shaping.indexed(m.ctx, m.ctx.dims(base), effects)
    if dims is None:
        dims = m.ctx.shapes.free(unread=True)
        if all(map(_is_place, [i for i, effect in zip(index, effects, strict=True) if effect == "?"])):
            dims = without(dims, (0,))
    if plain and "new" in effects:
        at = effects.index("new") - (len(effects) if effects[0] == "..." else 0)
        return replace(shapes.with_axis(base, -1 if effects[-1] == "new" else at), shape=dims)
    if plain:
        return base
    single = _removed_axis(index) if algebra.is_statistic(base) else None
    if single is not None and (alone := shapes.dropped(base, single)):
        return alone
    part = _part_of_parameter(m, env, base, index, node.span)
    if part is not None:
        return part
    places = node.index if len(node.index) == len(index) else node.index * len(index)
    key = tuple(_index_key(m, env, i, e) for i, e in zip(index, places, strict=True))
    copied = "?" in effects or any(isinstance(i, Product) and isinstance(i.atom, Apply) for i in index)
    alias = "" if copied else base.alias  # a tensor of indices copies
    found = replace(algebra.opaque("index", (base.mono, key), node.span), dtype=base.dtype, alias=alias, shape=dims)
    return measured.note(m.ctx, "index", {"input": base, "index": _index_values(m, env, index)}, found)


def _is_place(item: object) -> bool:
    """Return whether an index is what a loop or an unpacking takes from numbers, and so may be that of one token."""
    if not isinstance(item, Product) or item.sole is None or item.mono.has_data:
        return False
    return isinstance(item.sole.atom, Apply) and item.sole.atom.name == "item"


def _index_values(m: Machine, env: Env, index: Sequence[object]) -> Value:
    """Return the index as a tuple of values, with a slice as a tuple that begins with "slice"."""
    none = Constant(None)

    def of(item: object) -> Value:
        if not isinstance(item, s.Slice):
            return item  # type: ignore[return-value]
        ends = (m.eval(env, p) if p is not None else none for p in item.parts)
        return Tup((Constant("slice"), *ends))

    return Tup(tuple(map(of, index)))


def _axis_effect(item: object) -> str:
    """Return what an index item does to the axes, as `shaping.indexed` takes it; "?" if unknown."""
    if isinstance(item, s.Slice):
        return ":" if item.parts == (None, None, None) else "part"
    if isinstance(item, Constant):
        return {None: "new", ...: "..."}.get(item.value, "?")  # type: ignore[call-overload, no-any-return]
    return "one" if isinstance(item, Product) and not item.tensor else "?"


def _removed_axis(index: Sequence[object]) -> float | None:
    """Return the axis that an index like `[..., 0]` or `[:, 0, :]` removes; None for any other index."""
    first = [at for at, i in enumerate(index) if isinstance(i, Product) and i.number in (0, -1)]
    others = [i for i in index if isinstance(i, Constant) or not is_full(i)]
    if others == [index[at] for at in first[:1]]:
        return float(first[0])
    behind = isinstance(index[0], Constant) and index[0].value is ... and len(others) == 2
    return float(first[0] - len(index)) if behind and len(first) == 1 else None


def _part_of_parameter(m: Machine, env: Env, base: Product, index: Sequence[object], span: Span) -> Product | None:
    """Return a parameter indexed by slices and numbers as a parameter; None for any other index."""
    param = base.param
    numbered = all(isinstance(i, s.Slice) or (isinstance(i, Product) and i.number is not None) for i in index)
    if param is None or not param.name or not numbered:
        return None
    within = ", ".join(_index_text(m, env, i) for i in index)
    return replace(base.with_atom(replace(param, name=f"{param.name}[{within}]", shape=None)), shape=None, span=span)


def _index_text(m: Machine, env: Env, item: object) -> str:
    """Return an index item as text for a parameter's name, such as "0", "1:" or ":size 1 of x"."""
    if isinstance(item, s.Slice):
        parts = (item.lower, item.upper, *((item.step,) if item.step else ()))
        return ":".join(describe(m.eval(env, p)) if p is not None else "" for p in parts)
    return describe(item) if isinstance(item, Product) else ""


def is_full(item: object) -> bool:
    """Return whether an index item selects everything: `:`, `...` or None."""
    item = item.value if isinstance(item, s.Literal) else item
    if item in (None, ...):
        return True
    if isinstance(item, s.Slice):
        return item.parts == (None, None, None)
    return isinstance(item, Constant) and item.value in (None, ...)


def _index_key(m: Machine, env: Env, item: object, node: s.Expr) -> object:
    if isinstance(item, s.Slice):
        return ("slice", *(describe(m.eval(env, p)) if p is not None else None for p in item.parts))
    if isinstance(item, Product):
        return item.mono if item.tensor else ("at", item.mono)
    return m.module.source(node.span)
