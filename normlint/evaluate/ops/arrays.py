"""Compute views, sums and products of small arrays of numbers in plain Python, with torch's semantics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple, TypeAlias

MOST: Final = 6_000  # numbers in an array
Row: TypeAlias = "Sequence[float]"


class Array(NamedTuple):
    """An array of numbers in row-major order, so that the last axis varies fastest."""

    shape: tuple[int, ...]
    data: list[float]


class Unmeasured(Exception):  # noqa: N818  (nothing is wrong)
    """A result is unknown, or too large to be computed."""


def array(shape: Iterable[int], data: Iterable[float]) -> Array:
    lengths = tuple(shape)
    if math.prod(lengths) > MOST or min(lengths, default=1) < 1:
        raise Unmeasured
    found = Array(lengths, list(data))
    if len(found.data) != math.prod(lengths):
        raise Unmeasured
    return found


def as_array(data: object) -> Array:
    if isinstance(data, Array):
        return data
    if isinstance(data, bool | int | float):
        return Array((), [data])
    if isinstance(data, list | tuple) and data:
        return stack([as_array(one) for one in data], 0)
    raise Unmeasured


# --- views -----------------------------------------------------------------------------------------------------------


def steps_of(shape: Sequence[int]) -> list[int]:
    """Return the strides of a contiguous array."""
    steps = [1]
    for length in reversed(shape[1:]):
        steps.append(steps[-1] * length)
    return steps[::-1] if shape else []


def strided(a: Array, shape: Sequence[int], steps: Sequence[int], start: int = 0) -> Array:
    """Return the array of a shape with the strides `steps`, from the element `start` on."""
    if math.prod(shape) > MOST:
        raise Unmeasured
    places = [start]
    for length, step in zip(shape, steps, strict=True):
        places = [at + i * step for at in places for i in range(length)]
    if any(not 0 <= at < len(a.data) for at in (min(places), max(places))):
        raise Unmeasured
    return array(shape, (a.data[at] for at in places))


def axis_of(dim: int, rank: int) -> int:
    if not isinstance(dim, int) or not -max(rank, 1) <= dim < max(rank, 1):
        raise Unmeasured
    return dim % rank if rank else 0


def permuted(a: Array, order: Sequence[int]) -> Array:
    order = [axis_of(i, len(a.shape)) for i in order]
    if sorted(order) != list(range(len(a.shape))):
        raise Unmeasured
    steps = steps_of(a.shape)
    return strided(a, [a.shape[i] for i in order], [steps[i] for i in order])


def moved(x: Array, source: int, destination: int) -> Array:
    order = [i for i in range(len(x.shape)) if i != axis_of(source, len(x.shape))]
    order.insert(axis_of(destination, len(x.shape)), axis_of(source, len(x.shape)))
    return permuted(x, order)


def reshaped(a: Array, shape: Sequence[int]) -> Array:
    known = math.prod(n for n in shape if n != -1)
    return array((len(a.data) // max(known, 1) if n == -1 else n for n in shape), a.data)


def expanded(a: Array, shape: Sequence[int]) -> Array:
    more = len(shape) - len(a.shape)
    if more < 0:
        raise Unmeasured
    old = (1,) * more + a.shape
    new = [o if n == -1 else n for o, n in zip(old, shape, strict=True)]
    if any(o not in (1, n) for o, n in zip(old, new, strict=True)):
        raise Unmeasured
    steps = [0 if o == 1 else step for o, step in zip(old, steps_of(old), strict=True)]
    return strided(a, new, steps)


def sliced(a: Array, axis: int, places: Sequence[int]) -> Array:
    """Return the elements at some places along an axis, in any order."""
    axis = axis_of(axis, len(a.shape))
    inner = math.prod(a.shape[axis + 1 :])
    length = a.shape[axis]
    if any(not isinstance(p, int) or not -length <= p < length for p in places):
        raise Unmeasured
    starts = [(block * length + p % length) * inner for block in range(math.prod(a.shape[:axis])) for p in places]
    data = [x for at in starts for x in a.data[at : at + inner]]
    return array((*a.shape[:axis], len(places), *a.shape[axis + 1 :]), data)


def without_axis(a: Array, axis: int) -> Array:
    axis = axis_of(axis, len(a.shape))
    return Array(a.shape[:axis] + a.shape[axis + 1 :], a.data) if a.shape[axis : axis + 1] == (1,) else a


def with_axis(x: Array, dim: int) -> Array:
    axis = axis_of(dim, len(x.shape) + 1)
    return Array((*x.shape[:axis], 1, *x.shape[axis:]), x.data)


def taken(x: Array, dim: int, index: int) -> Array:
    return without_axis(sliced(x, dim, [index]), dim)


def cat(arrays: Sequence[Array], axis: int) -> Array:
    first = [moved(a, axis, 0) for a in arrays]
    if len({a.shape[1:] for a in first}) != 1:
        raise Unmeasured
    whole = array((sum(a.shape[0] for a in first), *first[0].shape[1:]), [x for a in first for x in a.data])
    return moved(whole, 0, axis)


def stack(arrays: Sequence[Array], axis: int) -> Array:
    return cat([with_axis(a, axis) for a in arrays], axis)


# --- element by element, along axes, and over shared axes ------------------------------------------------------------


def broadcast(arrays: Sequence[Array]) -> list[Array]:
    """Return the arrays broadcast to their common shape."""
    rank = max(len(a.shape) for a in arrays)
    padded = [(1,) * (rank - len(a.shape)) + a.shape for a in arrays]
    shape = [max(lengths) for lengths in zip(*padded, strict=True)]
    return [a if a.shape == tuple(shape) else expanded(a, shape) for a in arrays]


def pointwise(f: Callable[..., float], *values: object) -> Array:
    arrays = broadcast([as_array(v) for v in values])
    return Array(arrays[0].shape, [f(*row) for row in zip(*(a.data for a in arrays), strict=True)])


def axes_of(dim: object, rank: int) -> list[int]:
    """Return the axes that `dim` names, counted from the start; all axes if it names none."""
    given = [dim] if isinstance(dim, int) and not isinstance(dim, bool) else dim
    if given in (None, [], ()):
        return list(range(rank))
    if not isinstance(given, list | tuple):
        raise Unmeasured
    return [axis_of(one, rank) for one in given]


def reduced(f: Callable[[Row], float], a: Array, dim: object = None, keepdim: object = False) -> Array:
    """Return the array of `f` over the elements along the axes `dim`."""
    axes = axes_of(dim, len(a.shape))
    kept = [i for i in range(len(a.shape)) if i not in axes]
    last = permuted(a, kept + axes)
    size = math.prod(a.shape[i] for i in axes)
    shape = [1 if i in axes else n for i, n in enumerate(a.shape)] if keepdim else [a.shape[i] for i in kept]
    return array(shape, (f(last.data[at : at + size]) for at in range(0, len(last.data), size)))


def along(f: Callable[[Row], Row], a: Array, axis: int) -> Array:
    """Return the array with each row along an axis replaced by `f` of it; the new rows have equal lengths."""
    last = moved(a, axis, -1)
    size = last.shape[-1]
    rows = [f(last.data[at : at + size]) for at in range(0, len(last.data), size)]
    whole = array((*last.shape[:-1], len(rows[0])), (x for row in rows for x in row))
    return moved(whole, -1, axis)


def einsum(operands: Sequence[tuple[str, Array]], out: str) -> Array:
    """Return the product of operands with a letter for each axis, summed over the letters that `out` lacks."""
    lengths = {letter: n for word, a in operands for letter, n in zip(word, a.shape, strict=True) if n > 1}
    lengths |= {letter: 1 for word, _ in operands for letter in word if letter not in lengths}
    letters = [*out, *(x for x in lengths if x not in out)]
    if math.prod(lengths.values()) > 4 * MOST:
        raise Unmeasured
    full = []
    for word, a in operands:
        steps = dict.fromkeys(letters, 0)
        for letter, length, step in zip(word, a.shape, steps_of(a.shape), strict=True):
            steps[letter] += step if length > 1 else 0
        full.append((a.data, [steps[x] for x in letters]))
    shape = [lengths[x] for x in out]
    count = math.prod(lengths[x] for x in letters[len(out) :])
    terms = list(_terms(full, [lengths[x] for x in letters]))
    return array(shape, (sum(terms[at : at + count]) for at in range(0, len(terms), count)))


def _terms(operands: Sequence[tuple[list[float], list[int]]], lengths: Sequence[int]) -> Iterator[float]:
    for places in product(*map(range, lengths)):
        yield math.prod(data[sum(map(int.__mul__, places, steps))] for data, steps in operands)


def matmul(a: Array, b: Array) -> Array:
    one, two = len(a.shape) == 1, len(b.shape) == 1
    a, b = with_axis(a, 0) if one else a, with_axis(b, 1) if two else b
    wide, tall = with_axis(a, -1), with_axis(b, len(b.shape) - 2)
    if a.shape[-1] != b.shape[-2]:
        raise Unmeasured
    found = reduced(sum, pointwise(float.__mul__, pointwise(float, wide), pointwise(float, tall)), -2)
    found = without_axis(found, -2) if one else found
    return without_axis(found, -1) if two else found
