"""Define a file's text, the units of Python in it, and the way from a unit back to the file.

All offsets count characters of decoded text with the file's own line ends, so that an edit keeps every other byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from normlint.text.finding import Span
from normlint.text.frozen import dataclass
from normlint.text.raw import PYTHON

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Place(NamedTuple):
    """The cell of a notebook, the line and the column, all counted from 1."""

    cell: int | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a unit: from `start` on, its text is the source's (or that cell's) from `origin` on."""

    start: int
    origin: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of Python that is analysed on its own.

    `snippet`: names may be bound elsewhere. `segments` are in the order of `start`, the first starts at 0.
    """

    text: str
    snippet: bool = False
    segments: tuple[Segment, ...] = (Segment(0, 0),)

    def origin(self, offset: int) -> tuple[int | None, int]:
        """Return the cell (None outside notebooks) and the offset in it or in the source's text."""
        at = bisect_right(self.segments, offset, key=lambda segment: segment.start) - 1
        segment = self.segments[max(at, 0)]
        return segment.cell, segment.origin + offset - segment.start

    def origin_span(self, span: Span) -> tuple[int | None, Span]:
        """Return the cell and the span in it; the span ends behind its last character, not in the next segment."""
        cell, start = self.origin(span.start)
        if span.end <= span.start:
            return cell, Span(start, start)
        return cell, Span(start, self.origin(span.end - 1)[1] + 1)


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read, with all that is needed to name places in it and to write it back.

    `cells` holds a notebook's code cells by their number among all cells. `faithful`: encoding the text gives
    the bytes that were read, so that the file may be rewritten.
    """

    path: str
    text: str
    kind: str = PYTHON
    encoding: str = "utf-8"
    bom: bool = False
    faithful: bool = True
    cells: tuple[tuple[int, str], ...] = ()

    def home(self, cell: int | None) -> str:
        """Return the text in which lines and columns of that cell are counted."""
        return self.text if cell is None else dict(self.cells)[cell]

    def place(self, cell: int | None, offset: int) -> Place:
        """Return the line and column of an offset in the source's text, or in that cell's."""
        starts = line_starts(self.home(cell))
        line = bisect_right(starts, offset)
        return Place(cell, line, offset - starts[line - 1] + 1)

    def places(self, unit: Unit, span: Span) -> tuple[Place, Place]:
        """Return where a span of the unit starts and where it ends (the column after its last character)."""
        cell, (start, end) = unit.origin_span(span)
        return self.place(cell, start), self.place(cell, end)

    def lines(self, cell: int | None, first: int, last: int) -> tuple[str, ...]:
        """Return the existing lines from `first` to `last`, without their ends."""
        home = self.home(cell)
        starts = line_starts(home)
        count = len(starts) - (starts[-1] == len(home))  # nothing follows the last line end
        numbers = range(max(first, 1), min(last, count) + 1)
        return tuple(home[starts[n - 1] : _end_of_line(home, starts, n)].rstrip("\r\n") for n in numbers)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file that holds `text` and is otherwise like this one."""
        return (b"\xef\xbb\xbf" if self.bom else b"") + text.encode(self.encoding)


@lru_cache(maxsize=4)
def line_starts(text: str) -> tuple[int, ...]:
    """Return the offset of each line's first character; lines end as in Python, at LF, CR LF and CR alone."""
    if "\r" in text:
        return (0, *(end.end() for end in _LINE_END.finditer(text)))
    return (0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1]))


def split_lines(text: str) -> list[str]:
    """Return the lines with their ends as Python counts them: no split at a form feed or a Unicode separator."""
    starts = line_starts(text)
    return [text[start:end] for start, end in zip(starts, (*starts[1:], len(text)), strict=True) if start < end]


def _end_of_line(text: str, starts: tuple[int, ...], line: int) -> int:
    return starts[line] if line < len(starts) else len(text)
