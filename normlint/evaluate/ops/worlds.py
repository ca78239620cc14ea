"""Evaluate values as small arrays of numbers: the inputs are random, in two sizes, and the operations run on them."""

from __future__ import annotations

import math
import operator
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, fields
from functools import lru_cache
from typing import Any, Final, TypeAlias

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import (
    ALL,
    ONCE,
    Abs,
    Apply,
    Atom,
    Centred,
    Cut,
    Input,
    Layout,
    Mono,
    Offset,
    Param,
    Plus,
    Scalar,
    Shifted,
    Size,
    Stat,
    atoms_of,
    bears_stat,
    is_clear,
    mono_of,
    stats_of,
)
from normlint.evaluate.ops import arrays
from normlint.evaluate.ops.arrays import Array, Unmeasured, pointwise, reduced
from normlint.evaluate.ops.executed import TABLE
from normlint.evaluate.value import Constant, Dtype, Pieces, Product, Shape, Tup, Value, size_of
from normlint.text.frozen import dataclass, replace

_ARRAY_NAMES: Final = {"min": "low", "max": "high"}
Key: TypeAlias = tuple[Mono, Layout]
FAILS: Final = (Unmeasured, RecursionError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError)
_SIZES: Final = (
    {0: (), 1: (8,), 2: (3, 8), 3: (2, 3, 8), 4: (2, 4, 3, 8)},
    {0: (), 1: (12,), 2: (2, 12), 3: (3, 2, 12), 4: (2, 6, 2, 4)},
)
SUPPOSED: Final = 3  # assumed rank of inputs of unknown rank
MOST: Final = 48  # values evaluated with numbers in one entry
_MOST_NUMBERS: Final = 60_000  # array elements computed in one entry
# Parameters that don't change the numbers of a result.
_IDLE: Final = frozenset(
    "dtype device out memory_format layout requires_grad pin_memory implicit sparse_grad stable sorted inplace training"
    " compute_mode copy non_blocking".split()
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a value was computed: the function and its arguments, compared without where they are written."""

    run: Callable[..., Any]
    same: tuple[object, ...]
    given: tuple[tuple[str, Value], ...] = field(compare=False)
    item: int | None = None  # the index if the function returns several results


# --- numbers for values ----------------------------------------------------------------------------------------------


_WITH_EPS: Final[dict[str, Callable[..., Any]]] = {"add": operator.add, "subtract": operator.sub, "clamp": max}


class World:
    """An evaluation of values with numbers, in which all inputs have one size."""

    def __init__(self, ctx: Context, size: int, rank: int) -> None:
        self.ctx, self.sizes, self.rank = ctx, _SIZES[size], rank
        self.memo: dict[Key, Any] = {}
        self.inputs: dict[Input, tuple[int, ...]] = {}
        self.turns: dict[Key, Array] = {}  # the current part of each tensor that a loop iterates over

    def value(self, value: Value) -> Any:
        """Return an argument as a number, an array, a constant or a list, as torch would get it."""
        match value:
            case Product(tensor=True):
                return self.made(value.mono, value.layout)
            case Product():
                (found,) = self.of_mono(value.mono, ()).data
                return _checked_length(int(found)) if float(found).is_integer() and value.dtype is DType.WEAK else found
            case Constant(value=held):
                return _checked_length(held) if isinstance(held, int) else held
            case Tup(items=items):
                return [part for one in items for part in self._spread(one)]
            case Shape(of=of, start=start, stop=stop):
                return list(self.made(of.mono, of.layout).shape[start:stop])
            case Pieces(item=item):
                return list(self._each(item))
        raise Unmeasured

    def _each(self, item: Value) -> Iterator[Any]:
        """Yield the value of a loop's item for each part of the tensor that the loop iterates over."""
        wholes = {key: self.made(*key) for key in _wholes_in(item)}
        if not wholes:
            raise Unmeasured
        rows = {key: w if isinstance(w, list) else TABLE["unbind"](w) for key, w in wholes.items()}
        memo, turns = self.memo, self.turns
        for at in range(min(map(len, rows.values()))):
            self.memo, self.turns = {}, turns | {key: row[at] for key, row in rows.items()}
            yield self.value(item)
        self.memo, self.turns = memo, turns

    def _spread(self, value: Value) -> list[Any]:
        found = self.value(value)
        return found if isinstance(value, Shape) else [found]

    def made(self, mono: Mono, layout: Layout) -> Any:
        """Return the numbers of a value: its recipe is run if there is one, else its product is evaluated."""
        key = mono, layout
        if key not in self.memo:
            recipe = self.ctx.recipes.get(key)
            self.memo[key] = self._follow(recipe) if recipe is not None else self.of_mono(mono, layout)
        return self.memo[key]

    def _follow(self, recipe: Recipe) -> Any:
        given = {name: self.value(v) for name, v in recipe.given if name not in _IDLE and not isinstance(v, Dtype)}
        first = "input" if "input" in given else "tensor"
        if self.ctx.numbers[0] > _MOST_NUMBERS:
            raise Unmeasured
        found = recipe.run(**{"x" if name == first else _ARRAY_NAMES.get(name, name): v for name, v in given.items()})
        found = found if recipe.item is None else found[recipe.item]
        self.ctx.numbers[0] += len(found.data) if isinstance(found, Array) else 1
        return found

    def of_mono(self, mono: Mono, layout: Layout) -> Array:
        whole = Array((), [mono.coef])
        for f in mono.factors:
            power = float(f.power)
            one = self.atom(f.atom, layout)
            whole = pointwise(lambda x, y, p=power: x * y**p, whole, one)
        if any(isinstance(x, complex) for x in whole.data):
            raise Unmeasured
        return whole

    def atom(self, atom: Atom, layout: Layout) -> Array:
        """Return the numbers of an atom."""
        alone = mono_of(atom)
        if self.ctx.recipes.get((alone, layout)) is not None and len(self.memo) < 200:
            return self.made(alone, layout)  # type: ignore[no-any-return]
        match atom:
            case Input() if not layout:
                return _random(f"{atom.name} {self.sizes[1]}", self._shape(atom))
            case Param():
                return self._param(atom)
            case Scalar(less=less):
                return Array((), [self._number(atom) - less])
            case Size(of=of, axis=axis, layout=within, less=less):
                shape = self.made(of, within).shape
                return Array((), [(math.prod(shape) if axis is None else shape[axis]) - less])
            case Stat():
                return self._stat(atom)
            case Apply(name="item", args=(Mono(), Cut())) if (key := _whole_of(atom)) in self.turns:
                return self.turns[key]
            case Apply(name="item", args=(Mono() as whole, int(at))):
                found = self.made(whole, layout)
                return found[at] if isinstance(found, list) else arrays.taken(found, 0, at)
        return self._around(atom, layout)

    def _around(self, atom: Atom, layout: Layout) -> Array:
        """Return the numbers of an atom that wraps a product."""
        match atom:
            case Centred(base=base, stat=stat):
                inner = self.of_mono(base, layout)
                return pointwise(float.__sub__, inner, self.atom(replace(stat, reduce="mean"), layout))
            case Plus(inner=inner, eps=eps, how=how):
                both = self.of_mono(inner, layout), self.of_mono(eps, ())
                return pointwise(_WITH_EPS[how], *both)
            case Offset(constant=constant, inner=inner):
                return pointwise(lambda x: constant + x, self.of_mono(inner, layout))
            case Shifted(inner=inner, bias=bias):
                return pointwise(float.__add__, self.of_mono(inner, layout), self.of_mono(bias, ()))
            case Abs(inner=inner):
                return pointwise(abs, self.of_mono(inner, layout))
        raise Unmeasured

    def _shape(self, atom: Input) -> tuple[int, ...]:
        dims = self.ctx.shapes.held.get((mono_of(atom), ()))
        rank = None if dims is None else self.ctx.shapes.rank(dims)
        shape = self.sizes[self.rank if rank is None else rank]
        self.inputs[atom] = shape
        return shape

    def _param(self, atom: Param) -> Array:
        recipe = self.ctx.recipes.get(atom.span)
        if not atom.name and recipe is not None:
            return self._follow(recipe)  # type: ignore[no-any-return]
        if not atom.name or atom.axis != "last":
            raise Unmeasured
        alone = atom.shape is None or len(atom.shape) == 1
        shape = [self.sizes[1][0]] if alone else [self._integer(length) for length in atom.shape or ()]
        return pointwise(abs, _random(f"{atom.name} {self.sizes[1]}", tuple(shape)))

    def _integer(self, length: Mono | None) -> int:
        if length is None:
            raise Unmeasured
        (found,) = self.of_mono(self.ctx.shapes.find(length), ()).data
        if not float(found).is_integer():
            raise Unmeasured
        return int(found)

    def _number(self, atom: Scalar) -> float:
        """Return the length of the axis that the scalar is known to equal, else an arbitrary number for its name."""
        shapes, alone = self.ctx.shapes, mono_of(replace(atom, less=False))
        for one, lengths in self.inputs.items():
            dims = shapes.held.get((mono_of(one), ()))
            for i in range(-len(lengths), 0) if dims is not None else ():
                if shapes.equal(alone, shapes.axis(dims, i)):  # type: ignore[arg-type]
                    return lengths[i]
        if atom.name.rstrip("]").endswith(tuple("0123456789")):
            raise Unmeasured
        return 0.1 + zlib.crc32(f"{atom.name} {self.sizes[1]}".encode()) % 1009 / 5000

    def _stat(self, stat: Stat) -> Array:
        inner = self.made(stat.inner, stat.layout)
        if not (isinstance(stat.axes, tuple) or stat.axes == ALL) or stat.masked:
            raise Unmeasured
        axes = list(stat.axes) if isinstance(stat.axes, tuple) else None
        less = 0 if stat.biased else 1
        f: Callable[[arrays.Row], float] = sum if stat.reduce == "sum" else lambda row: sum(row) / (len(row) - less)
        return reduced(f, inner, axes, stat.keepdim)


@lru_cache(maxsize=128)
def _random(seed: str, shape: tuple[int, ...]) -> Array:
    chance = random.Random(seed)  # noqa: S311
    return arrays.array(shape, (chance.uniform(0.3, 1.7) * chance.choice((-1, 1)) for _ in range(math.prod(shape))))


def _checked_length(whole: int) -> int:
    """Return an integer that is small enough to be the length of an axis; raise `Unmeasured` for a larger one."""
    if abs(whole) > arrays.MOST:
        raise Unmeasured
    return whole


# --- inputs ----------------------------------------------------------------------------------------------------------


def leaves(ctx: Context, value: Product) -> list[Product]:
    """Return the tensors with a known product from which a value was computed; raise `Unmeasured` if one is unknown."""
    found: dict[Mono, Product] = {}
    waiting: list[Value] = [value]
    done: set[Key] = set()
    while waiting:
        one = waiting.pop()
        waiting += inside(one)[1:]
        if not isinstance(one, Product) or not one.tensor or (one.mono, one.layout) in done:
            continue
        done.add((one.mono, one.layout))
        if len(done) > MOST or (one.mono, one.layout) in ctx.unmade:
            raise Unmeasured
        recipe = ctx.recipes.get((one.mono, one.layout))
        if recipe is not None:
            waiting += [v for _, v in recipe.given]
            continue
        one = replace(one, shape=None)  # its shape may come from another path
        if not is_unclear(one):
            for part in _with_axes(one):
                found.setdefault(part.mono, part)
        else:
            waiting += _parts(ctx, one)
    return [u for u in found.values() if not (isinstance(_atom(u), Abs) and _atom(u).inner in found)]  # type: ignore


def worlds(ctx: Context) -> list[World]:
    """Return an evaluation with numbers for each size of the inputs."""
    return [World(ctx, size, SUPPOSED) for size in range(len(_SIZES))]


def as_length(ctx: Context, seen: Sequence[World], of: Product, found: Sequence[Value]) -> Value | None:
    """Return the length of the tensor's axis that equals the found number in each world; None if there is none."""
    numbers = [v.number for v in found]
    shapes = [w.made(of.mono, of.layout).shape for w in seen]
    rank = len(shapes[0])
    for i in range(rank):
        if all(shape[i] == n for shape, n in zip(shapes, numbers, strict=True)):
            axis = i - rank if ctx.rank(of) is not None or i == rank - 1 else i
            return size_of(of, axis)
    return None


def parts(ctx: Context, value: Value) -> tuple[Value, ...] | None:
    """Return the parts of a tensor, or the items of a loop over them; None unless there are as many in each size."""
    try:
        counts = {len(w.value(value)) for w in worlds(ctx)} if isinstance(value, Product | Pieces) else set()
    except FAILS:
        return None
    if len(counts) != 1 or max(counts) > _MOST_PARTS or (isinstance(value, Product) and not value.tensor):
        return None
    if isinstance(value, Pieces):
        wholes = _wholes_in(value.item)
        one = value.item if len(wholes) == 1 and isinstance(value.item, Product) else None
        return tuple(replace(one, mono=_of_part(one.mono, i)) for i in range(max(counts))) if one else None
    assert isinstance(value, Product)
    items = [algebra.opaque("item", (value.mono, i), value.span) for i in range(max(counts))]
    return tuple(replace(item, dtype=value.dtype, shape=ctx.shapes.free()) for item in items)


_MOST_PARTS: Final = 8


def _of_part(mono: Mono, at: int) -> Mono:
    """Return the product of the part at index `at` for that of any part."""
    return Mono(mono.coef, tuple(replace(f, atom=_part_of(f.atom, at)) for f in mono.factors))


def _part_of(atom: Atom, at: int) -> Atom:
    key = _whole_of(atom) if isinstance(atom, Apply) and isinstance(atom.args[-1] if atom.args else None, Cut) else None
    if key is not None and isinstance(atom, Apply):
        return replace(atom, args=(key[0], at))
    inner = {f.name: v for f in fields(atom) if isinstance(v := getattr(atom, f.name), Mono)}
    return replace(atom, **{name: _of_part(v, at) for name, v in inner.items()}) if inner else atom  # type: ignore[arg-type]


def inside(value: Value) -> tuple[Value, ...]:
    """Return the value and, recursively, the items of a tuple or of a loop."""
    if isinstance(value, Tup | Pieces):
        items = value.items if isinstance(value, Tup) else (value.item,)
        return (value, *(one for item in items for one in inside(item)))
    return (value,)


def _atom(u: Product) -> Atom | None:
    return u.sole.atom if u.sole else None


def _parts(ctx: Context, value: Product) -> Iterator[Product]:
    """Yield the tensors in the factors of a value; raise `Unmeasured` if a factor is unknown."""
    for f in value.mono.factors:
        alone = Mono(1.0, (replace(f, power=ONCE),))
        inner = f.atom.base if isinstance(f.atom, Centred) else getattr(f.atom, "inner", None)
        if ctx.recipes.get((alone, value.layout)) is not None:
            yield replace(value, mono=alone)
        elif is_clear(f.atom) and (not value.layout or isinstance(f.atom, Param | Size | Scalar | Stat)):
            yield replace(value, mono=Mono(1.0, (f,)), layout=())
        elif isinstance(f.atom, Apply) and (key := _whole_of(f.atom)) is not None:
            yield replace(value, mono=key[0], layout=key[1])
        elif isinstance(inner, Mono):
            yield replace(value, mono=inner, layout=f.atom.layout if isinstance(f.atom, Stat) else value.layout)
        else:
            raise Unmeasured


def numbers_in(ctx: Context, value: Product) -> list[Product]:
    """Return the scalars such as eps from which a value was computed, also those with which a tensor was filled."""
    found: dict[Mono, Product] = {}
    waiting: list[Value] = [value]
    done: set[object] = set()
    while waiting:
        one = waiting.pop()
        waiting += inside(one)[1:]
        if not isinstance(one, Product) or (one.mono, one.layout) in done:
            continue
        done.add((one.mono, one.layout))
        recipe = ctx.recipes.get((one.mono, one.layout))
        atoms = [f.atom for f in one.mono.factors]
        made = next((ctx.recipes.get(a.span) for a in atoms if isinstance(a, Param) and not a.name), None)
        for source in (recipe, made):
            waiting += [v for _, v in source.given] if source is not None else []
        if not one.tensor and any(isinstance(a, Scalar) for a in atoms):
            found.setdefault(one.mono, one)
    return list(found.values())


def _with_axes(u: Product) -> Iterator[Product]:
    """Yield a tensor, by factors if it has a statistic, unless it is a constant; statistics also with keepdim."""
    bearing = [f for f in u.mono.factors if bears_stat(f.atom)]
    if bearing and len(bearing) < len(u.mono.factors):
        for f in u.mono.factors:
            yield from _with_axes(replace(u, mono=Mono(1.0, (f,)), shape=None))
        return
    if u.mono.has_data or any(isinstance(f.atom, Param) and f.atom.name for f in u.mono.factors):
        yield u
    lost = algebra.is_statistic(u) and not any(stat.keepdim for stat in stats_of(u.mono))
    if lost:
        kept = u.mono.map(lambda atom: replace(atom, keepdim=True) if isinstance(atom, Stat) else atom)
        yield replace(u, mono=kept, shape=None)


def _whole_of(atom: Apply) -> Key | None:
    """Return the tensor of which an atom is a part; None if the atom is no part."""
    if atom.name != "item" or len(atom.args) != 2 or not isinstance(atom.args[0], Mono):
        return None
    whole, cut = atom.args
    if not isinstance(cut, Cut):
        return whole, ()  # type: ignore[return-value]
    apart = Apply(str(cut.into[0]), (whole, cut)) if cut.into else None
    return (whole if apart is None else mono_of(apart)), cut.layout  # type: ignore[return-value]


def _wholes_in(item: Value) -> set[Key]:
    """Return the tensors whose parts occur in a loop's item."""
    if isinstance(item, Tup):
        return {key for one in item.items for key in _wholes_in(one)}
    atoms = atoms_of(item.mono) if isinstance(item, Product) else ()
    parts = [a for a in atoms if isinstance(a, Apply) and a.name == "item" and isinstance(a.args[-1], Cut)]
    return {key for a in parts if (key := _whole_of(a)) is not None}


def is_unclear(value: Product) -> bool:
    return bool(value.layout) or not value.mono.is_clear
