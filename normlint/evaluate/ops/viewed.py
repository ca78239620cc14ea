"""Run torch's views, indexing and tensor creation on small arrays of numbers; `executed` adds the other functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from normlint.evaluate.ops import arrays as a
from normlint.evaluate.ops.arrays import Array, Row, Unmeasured, along, as_array, pointwise
from normlint.evaluate.ops.table import registers

TABLE: Final[dict[str, Callable[..., Any]]] = {}
runs: Final = registers(TABLE)
Given = Any


def flat(*given: Any) -> list[int]:
    """Return sizes or axes, given one by one or in (nested) tuples, as one flat list."""
    return [n for one in given for n in (flat(*one) if isinstance(one, list | tuple) else [one])]


def _index(length: int) -> list[int]:
    return list(range(length))


# --- views -----------------------------------------------------------------------------------------------------------


@runs("flatten")
def flatten(x: Given, start_dim: int = 0, end_dim: int = -1) -> Array:
    one, two = (a.axis_of(i, len(x.shape)) for i in (start_dim, end_dim))
    return a.reshaped(x, [*x.shape[:one], -1, *x.shape[two + 1 :]])


@runs("unflatten")
def unflatten(x: Given, dim: int, sizes: Given) -> Array:
    at, known = a.axis_of(dim, len(x.shape)), math.prod(n for n in flat(sizes) if n != -1)
    lengths = [x.shape[at] // known if n == -1 else n for n in flat(sizes)]
    return a.reshaped(x, [*x.shape[:at], *lengths, *x.shape[at + 1 :]])


@runs("transpose swapaxes swapdims")
def transpose(x: Given, **dims: int) -> Array:
    order = _index(len(x.shape))
    one, two = (a.axis_of(i, len(order)) for i in dims.values())
    order[one], order[two] = order[two], order[one]
    return a.permuted(x, order)


@runs("squeeze")
def squeeze(x: Given, dim: Given = None, rest: Given = ()) -> Array:
    axes = a.axes_of(rest or dim, len(x.shape))
    return Array(tuple(n for i, n in enumerate(x.shape) if n != 1 or i not in axes), x.data)


@runs("repeat tile")
def repeat(x: Given, **times: Any) -> Array:
    numbers = flat(*times.values())
    numbers = [1] * (len(x.shape) - len(numbers)) + numbers
    found = a.reshaped(x, [1] * (len(numbers) - len(x.shape)) + list(x.shape))
    for axis, number in enumerate(numbers):
        found = a.sliced(found, axis, _index(found.shape[axis]) * number)
    return found


@runs("repeat_interleave")
def repeat_interleave(x: Given, repeats: int, dim: Given = None) -> Array:
    found, axis = (a.reshaped(x, [-1]), 0) if dim is None else (x, dim)
    return a.sliced(found, axis, [i for i in range(found.shape[axis]) for _ in range(repeats)])


@runs("unfold")
def unfold(x: Given, dimension: int, size: int, step: int) -> Array:
    at, steps = a.axis_of(dimension, len(x.shape)), a.steps_of(x.shape)
    shape = [*x.shape, size]
    shape[at] = (x.shape[at] - size) // step + 1
    return a.strided(x, shape, [s * step if i == at else s for i, s in enumerate(steps)] + [steps[at]])


@runs("diagonal")
def diagonal(x: Given, dim1: int = 0, dim2: int = 1) -> Array:
    rank, steps = len(x.shape), a.steps_of(x.shape)
    one, two = a.axis_of(dim1, rank), a.axis_of(dim2, rank)
    kept = [i for i in range(rank) if i not in (one, two)]
    shape = [*(x.shape[i] for i in kept), min(x.shape[one], x.shape[two])]
    return a.strided(x, shape, [*(steps[i] for i in kept), steps[one] + steps[two]])


@runs("diag_embed")
def diag_embed(x: Given) -> Array:
    return pointwise(lambda v, i: v * i, a.with_axis(x, -1), eye(x.shape[-1]))


@runs("flip")
def flip(x: Given, **dims: Any) -> Array:
    for axis in flat(*dims.values()):
        x = along(lambda row: row[::-1], x, axis)
    return x  # type: ignore[no-any-return]


@runs("roll")
def roll(x: Given, shifts: Given, dims: Given = ()) -> Array:
    if not flat(dims):
        return a.reshaped(roll(a.reshaped(x, [-1]), shifts, 0), x.shape)
    for shift, axis in zip(flat(shifts), flat(dims), strict=True):
        x = a.sliced(x, axis, [(i - shift) % x.shape[axis] for i in _index(x.shape[axis])])
    return x  # type: ignore[no-any-return]


@runs("pad")
def pad(x: Given, pad: Given, mode: str = "constant", value: Given = 0) -> Array:
    if mode != "constant":
        raise Unmeasured
    for at, ends in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        axis = len(x.shape) - 1 - at
        sizes = [[n if i != axis else more for i, n in enumerate(x.shape)] for more in ends]
        before, after = ([a.expanded(as_array(value or 0), size)] if size[axis] else [] for size in sizes)
        x = a.cat([*before, x, *after], axis)
    return x  # type: ignore[no-any-return]


TABLE.update(
    {
        "movedim": a.moved,  # as `a.with_axis` and `a.taken`, with torch's names for the parameters
        "unsqueeze": a.with_axis,
        "select": a.taken,
        "view": lambda x, **sizes: a.reshaped(x, flat(*sizes.values())),
        "view_as": lambda x, other: a.reshaped(x, other.shape),
        "ravel": lambda x: a.reshaped(x, [-1]),
        "permute": lambda x, **dims: a.permuted(x, flat(*dims.values())),
        "t": lambda x: a.permuted(x, _index(len(x.shape))[::-1]),
        "mT": lambda x: transpose(x, dim0=-2, dim1=-1),
        "expand": lambda x, **sizes: a.expanded(x, flat(*sizes.values())),
        "expand_as": lambda x, other: a.expanded(x, other.shape),
        "as_strided": lambda x, size, stride, storage_offset=0: a.strided(x, flat(size), flat(stride), storage_offset),
        "diag": lambda x: diag_embed(x) if len(x.shape) == 1 else diagonal(x),
        "narrow": lambda x, dim, start, length: a.sliced(x, dim, list(range(start, start + length))),
        "atleast_3d": lambda rest: a.reshaped(rest[0], [1] * (3 - len(rest[0].shape)) + list(rest[0].shape)),
        ".values": lambda x: x[0],
        ".indices": lambda x: x[1],
    }
)
TABLE.update({
    "reshape": TABLE["view"], "reshape_as": TABLE["view_as"], "T": TABLE["t"], ".H": TABLE["t"], "adjoint": TABLE["mT"],
    "broadcast_to": TABLE["expand"], "moveaxis": TABLE["movedim"],
})  # fmt: skip


# --- parts -----------------------------------------------------------------------------------------------------------


@runs("split split_with_sizes")
def split(x: Given, dim: int = 0, **sizes: Any) -> list[Array]:
    (size,), length = sizes.values(), x.shape[dim]
    if isinstance(size, int):
        if size > length:
            raise Unmeasured
        size = [min(size, length - at) for at in range(0, length, size)]
    ends = list(accumulate(flat(size), initial=0))
    return [a.sliced(x, dim, list(range(one, two))) for one, two in pairwise(ends) if two > one]


@runs("tensor_split")
def tensor_split(x: Given, dim: int = 0, **given: Any) -> list[Array]:
    (how,), length = given.values(), x.shape[dim]
    if isinstance(how, int):
        if how > length:
            raise Unmeasured
        return split(x, dim, sizes=[length // how + (i < length % how) for i in range(how)])  # type: ignore[no-any-return]
    return split(x, dim, sizes=[two - one for one, two in pairwise([0, *flat(how), length])])  # type: ignore[no-any-return]


def _places(index: Array) -> list[int]:
    if not all(float(i).is_integer() for i in index.data):
        raise Unmeasured
    return [int(i) for i in index.data]


@runs("gather take_along_dim")
def gather(x: Given, dim: int, **given: Any) -> Array:
    (index,) = map(as_array, given.values())
    axis = a.axis_of(dim, len(x.shape))
    length = index.shape[dim] if len(index.shape) == len(x.shape) else index.shape[-1]
    index = a.expanded(index, [length if i == axis else n for i, n in enumerate(x.shape)])
    return along(lambda row: [row[int(i)] for i in row[x.shape[axis] :]], a.cat([x, index], axis), axis)


@runs("argsort")
def argsort(x: Given, dim: int = -1, descending: bool = False) -> Array:
    return along(lambda row: sorted(_index(len(row)), key=lambda i: row[i], reverse=descending), x, dim)


@runs("sort")
def sort(x: Given, dim: int = -1, descending: bool = False) -> list[Array]:
    return [along(lambda row: sorted(row, reverse=descending), x, dim), argsort(x, dim, descending)]


@runs("index_add scatter_add")
def index_add(x: Given, dim: int, index: Given, source: Given = None, src: Given = None, alpha: Given = 1) -> Array:
    given = source if src is None else src
    axis, rank = a.axis_of(dim, len(given.shape)), len(given.shape)
    places = a.reshaped(index, [-1 if i == axis else 1 for i in range(rank)]) if src is None else index
    rows = [a.expanded(places, given.shape), given]
    size, count = x.shape[axis], given.shape[axis]
    before = [n if i != axis else size for i, n in enumerate(given.shape)]
    whole = a.cat([a.expanded(x, before), *rows], axis)

    def added(row: Row) -> list[float]:
        found = list(row[:size])
        for at, value in zip(row[size : size + count], row[size + count :], strict=True):
            found[int(at)] += alpha * value
        return found

    return along(added, whole, axis)


@runs("index")
def index(x: Given, index: Given) -> Array:
    """Return `x[index]`; a slice in the index is a list that begins with "slice"."""
    several = sum(isinstance(one, Array) or (isinstance(one, list) and one[0] != "slice") for one in index) > 1
    axis, left = 0, len(x.shape) - sum(one is not None and one is not ... for one in index)
    for one in index if any(one is ... for one in index) else [*index, ...]:
        if one is None:
            x = a.with_axis(x, axis)
        elif one is ...:
            axis += left - 1
        elif isinstance(one, int):
            x, axis = a.taken(x, axis, one), axis - 1
        elif isinstance(one, Array) and len(one.shape) == 1 and not several:
            x = a.sliced(x, axis, _places(one))
        elif isinstance(one, list) and one[:1] == ["slice"]:
            if any(abs(end or 0) > x.shape[axis] for end in one[1:]):
                raise Unmeasured  # a real tensor may be longer
            x = a.sliced(x, axis, _index(x.shape[axis])[slice(*one[1:])])
        elif isinstance(one, list) and not several:
            x = a.sliced(x, axis, one)
        else:
            raise Unmeasured
        axis += 1
    return x  # type: ignore[no-any-return]


def _chunk(x: Given, chunks: int, dim: int = 0) -> Any:
    if chunks > x.shape[dim]:
        raise Unmeasured
    return split(x, dim, size=-(-x.shape[dim] // chunks))


def _cat(tensors: Sequence[Given], dim: int = 0) -> Array:
    return a.cat([as_array(one) for one in tensors], dim)


def _as_rows(tensors: Sequence[Array]) -> list[Array]:
    return [a.with_axis(x, 0) if len(x.shape) < 2 else x for x in tensors]


TABLE.update({
    "cat": _cat, "concat": _cat, "concatenate": _cat, "unsafe_split": split,
    "stack": lambda tensors, dim=0: a.stack([as_array(one) for one in tensors], dim),
    "hstack": lambda tensors: _cat(tensors, 1 if len(tensors[0].shape) > 1 else 0),
    "vstack": lambda tensors: _cat(_as_rows(tensors)),
    "chunk": _chunk,
    "unbind": lambda x, dim=0: [a.taken(x, dim, i) for i in _index(x.shape[dim])],
    "index_select": lambda x, dim, index: a.sliced(x, dim, _places(index)),
    "msort": lambda x: sort(x, 0)[0],
    "topk": lambda x, k, dim=-1, largest=True: [a.sliced(one, dim, _index(k)) for one in sort(x, dim, largest)],
})  # fmt: skip


# --- creation --------------------------------------------------------------------------------------------------------


def _filled(value: float) -> Callable[..., Array]:
    return lambda **size: a.expanded(as_array(value), flat(*(n for name, n in size.items() if name != "x")))


@runs("eye")
def eye(n: int, m: Given = None) -> Array:
    return a.array([n, m or n], (float(i == j) for i in range(n) for j in range(m or n)))


@runs("arange")
def arange(end: int, start: int = 0, step: int = 1) -> Array:
    numbers = list(range(start, end, step))
    return a.array([len(numbers)], numbers)


TABLE.update({
    "ones": _filled(1.0), "new_ones": _filled(1.0), "zeros": _filled(0.0), "new_zeros": _filled(0.0),
    "empty": _filled(0.0), "new_empty": _filled(0.0),
    "full": lambda size, fill_value, **_: a.expanded(as_array(fill_value), flat(size)),
    "linspace": lambda start, end, steps: a.array(
        [steps], (start + (end - start) * i / max(steps - 1, 1) for i in range(steps))
    ),
    "tensor": as_array, "as_tensor": as_array,
})  # fmt: skip
TABLE["new_full"] = TABLE["full"]
