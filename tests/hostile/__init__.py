"""Texts under 100 KB that ask for more time or memory than they look like: builders by name, each with its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.hostile import classes, files, paths, products, strange, syntax, unlikely
from tests.hostile.builder import MOST, Builder


class Hostile(NamedTuple):
    """A file: its name, and its bytes."""

    name: str
    data: bytes


GROWING = (products, paths, classes, files, syntax, unlikely)


def hostile() -> Iterator[Hostile]:
    """All of them; of a text that grows beyond MOST, as many repetitions as fit."""
    for family in (*GROWING, strange):
        for name, (build, *sizes) in family.TEXTS.items():
            yield from (_hostile(name, build, size) for size in sizes)


def small() -> Iterator[Hostile]:
    """Of what grows the first size alone; of the characters, one in two."""
    for family in GROWING:
        yield from (_hostile(name, build, size) for name, (build, size, *_) in family.TEXTS.items())
    for name, (build, *sizes) in strange.TEXTS.items():
        yield from (_hostile(name, build, size) for size in sizes[len(name) % 2 :: 2] or sizes)


def _hostile(name: str, build: Builder, size: int) -> Hostile:
    """The largest that fits, where the size asked for doesn't."""
    data = _encoded(build(size))
    while len(data) > MOST:
        size = size * MOST // len(data) - 1
        data = _encoded(build(size))
    notebook = data.startswith(b'{"cells')
    ending = "ipynb" if notebook else "md" if data.startswith(b"```") else "py"
    return Hostile(f"{name} {size}.{ending}", data)


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
