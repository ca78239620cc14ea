"""Patterns of einops and einsum: letters for axes, read as shapes."""

from __future__ import annotations

import re

from normlint.evaluate.dims import Changed, Dims, Exact, Shapes, with_new, without
from normlint.evaluate.monomial import Mono
from normlint.evaluate.ops.resizing import quotient

Letters = dict[str, "Mono | None"]
_ITEM = re.compile(r"\(([^()]*)\)|(\.\.\.|\w+)|(\S)")


def _items(side: str) -> list[tuple[str, ...]] | None:
    """Each axis as the names that it is made of."""
    found: list[tuple[str, ...]] = []
    for group, name, other in _ITEM.findall(side):
        if other:
            return None
        found.append((name,) if name else tuple(group.split()))
    return found


def rearranged(shapes: Shapes, dims: Dims, pattern: str, sizes: dict[str, Mono]) -> Dims | None:
    """What `b (h d) ... -> b h ... d` makes of a shape; einops.rearrange, reduce and repeat agree in that."""
    before, arrow, after = pattern.partition("->")
    left, right = _items(before), _items(after)
    if not arrow or left is None or right is None or ("...",) in left[1:]:
        return None
    letters: Letters = dict(sizes)
    _read(shapes, dims, left, letters)
    lengths = [_whole(letters, item) for item in right if item != ("...",)]
    if ("...",) not in left:
        return Exact(tuple(lengths))
    return _behind(dims, len(left) - 1, lengths) if right[:1] == [("...",)] else None


def _read(shapes: Shapes, dims: Dims, items: list[tuple[str, ...]], letters: Letters) -> None:
    """The letters' lengths; without an ellipsis the pattern tells the rank."""
    if ("...",) not in items:
        shapes.learn_rank(dims, len(items))
    for i, item in enumerate(items):
        length = shapes.axis(dims, i - len(items)) if item != ("...",) else None
        open_ = [name for name in item if letters.get(name) is None and not name.isdigit()]
        if len(open_) == 1 and item != ("...",):
            known = _whole(letters, tuple(name for name in item if name != open_[0]))
            letters[open_[0]] = quotient(length, known) if len(item) > 1 else length
        elif len(item) == 1 and item[0] in letters:
            shapes.unite(length, letters[item[0]])


def _whole(letters: Letters, item: tuple[str, ...]) -> Mono | None:
    whole = Mono()
    for name in item:
        part = Mono(float(name)) if name.isdigit() else letters.get(name)
        if part is None:
            return None
        whole = whole.times(part)
    return whole


def _behind(dims: Dims, gone: int, lengths: list[Mono | None]) -> Dims:
    """All axes but the last ones, and others in their place."""
    result = without(dims, tuple(range(-gone, 0)))
    for _ in lengths:
        result = with_new(result, -1)
    return Changed(result, tuple((i - len(lengths), length) for i, length in enumerate(lengths))) if lengths else result


def einsum_dims(shapes: Shapes, equation: str, operands: list[Dims]) -> Dims | None:
    """`bnd,dk->bnk`; dots only in front of the first operand and of the result."""
    before, arrow, after = equation.replace(" ", "").partition("->")
    sides = before.split(",")
    if not arrow or len(sides) != len(operands) or any("." in s.removeprefix("...") for s in (*sides, after)):
        return None
    letters: Letters = {}
    for side, dims in zip(sides, operands, strict=True):
        plain = side.removeprefix("...")
        if plain == side:
            shapes.learn_rank(dims, len(plain))
        for i, letter in enumerate(plain):
            length = shapes.axis(dims, i - len(plain))
            if letters.get(letter) is not None and not shapes.differ(letters[letter], length):
                shapes.unite(letters[letter], length)
            letters.setdefault(letter, length)
    lengths = [letters.get(letter) for letter in after.removeprefix("...")]
    dotted = [(s, d) for s, d in zip(sides, operands, strict=True) if s.startswith("...")]
    if not dotted:
        return Exact(tuple(lengths))
    side, dims = dotted[0]
    if not after.startswith("...") or any(one != (side, dims) for one in dotted):
        return None
    return _behind(dims, len(side) - 3, lengths)
