r"""Writing into a notebook: the strings that hold a cell's code are changed, and no other byte of the JSON.

A character that is kept keeps its spelling (`\u003c`, `\/`), the lines of a source keep their own strings, and a new
line gets the indent of its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from normlint.text.edit import checked
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\u(?:00[89a-fA-F]|0[1-9a-fA-F]|[1-9a-fA-F])")
_decoder: Final = json.JSONDecoder()

Pieces = list[str]  # one a character, as it is spelled in the JSON


def with_cells_edited(text: str, edits: Mapping[int, Sequence[Edit]]) -> str:
    """The notebook with edits in the code of the cells of these numbers; ValueError where they overlap."""
    sources = dict(enumerate(_sources(text), 1))
    done, at = [], 0
    for number in sorted(edits):
        span = sources[number]
        done += [text[at : span.start], _edited(text, span, edits[number])]
        at = span.end
    return "".join([*done, text[at:]])


# --- where the sources stand -----------------------------------------------------------------------------------------


def _sources(text: str) -> Iterator[Span]:
    """The place of each cell's source, an empty one at its start for a cell without one."""
    for cell in _elements(text, _values(text, _skip(text, 0))["cells"].start):
        yield _values(text, cell.start).get("source", Span(cell.start, cell.start))


def _values(text: str, at: int) -> dict[str, Span]:
    """The values of the object that starts here; of equal keys the last one holds, as it does for `json`."""
    found = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        end = _decoder.raw_decode(text, start)[1]
        found[key] = Span(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _elements(text: str, at: int) -> Iterator[Span]:
    """The values of the array that starts here."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _decoder.raw_decode(text, at)[1]
        yield Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


# --- one source ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """Strings `first` up to `last` that edits touch, and the characters that take their place."""

    first: int
    last: int
    pieces: Pieces


def _edited(text: str, span: Span, edits: Sequence[Edit]) -> str:
    whole = text[span.start : span.end]
    strings = [Span(*found.span()) for found in _STRING.finditer(whole)]
    pieces = [_CHARACTER.findall(whole[start + 1 : end - 1]) for start, end in strings]
    spelled = {_decoded(piece): piece for one in pieces for piece in one}
    groups = _groups(pieces, checked(edits), _Speller(text, spelled))
    if not whole.startswith("["):
        return f'"{"".join(groups[-1].pieces)}"' if groups else whole
    by_line = all(_is_line(one) for one in pieces)
    for group in reversed(groups):
        lines = list(_lines(group.pieces)) if by_line else [group.pieces] if group.pieces else []
        whole = _replaced(whole, strings, group, [f'"{"".join(line)}"' for line in lines])
    return whole


def _groups(pieces: Sequence[Pieces], edits: Sequence[Edit], speller: _Speller) -> list[_Group]:
    """Strings that one edit or several touch belong together."""
    starts = [0]
    for one in pieces:
        starts.append(starts[-1] + len(one))
    flat = [piece for one in pieces for piece in one]
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        loses_end = flat[edit.span.start : edit.span.end][-1:] == [r"\n"] and not edit.text.endswith("\n")
        first, last = _touched(starts, edit.span, loses_end)
        if groups and first < groups[-1][1]:
            groups[-1] = groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], edit]
        else:
            groups.append((first, last, [edit]))
    return [_Group(first, last, _apply(flat, starts[first], starts[last], own, speller)) for first, last, own in groups]


def _touched(starts: Sequence[int], span: Span, loses_end: bool) -> tuple[int, int]:
    """The strings from the one that holds the start up to the one that holds the end; a border belongs to the later.

    Where a line loses its end, the next one follows in the same line.
    """
    count = len(starts) - 1
    first = max((n for n in range(count) if starts[n] <= span.start), default=0)
    last = max((n + 1 for n in range(count) if starts[n] < span.end + loses_end), default=0)
    return first, max(last, min(first + 1, count))


def _apply(flat: Pieces, start: int, end: int, edits: Sequence[Edit], speller: _Speller) -> Pieces:
    done: Pieces = []
    at = start
    for edit in edits:
        done += flat[at : edit.span.start]
        done += speller.spell(edit.text)
        at = edit.span.end
    return done + flat[at:end]


def _replaced(whole: str, strings: Sequence[Span], group: _Group, new: Sequence[str]) -> str:
    """The array with other strings in the group's place, set apart as its neighbours are."""
    before = whole[1 : strings[0].start] if strings else ""
    between = whole[strings[0].end : strings[1].start] if len(strings) > 1 else f",{before or ' '}"
    if group.first == group.last:  # an empty array
        return f"[{between.join(new)}]"
    start, end = strings[group.first].start, strings[group.last - 1].end
    if not new and group.last < len(strings):
        end = strings[group.last].start
    elif not new and group.first > 0:
        start = strings[group.first - 1].end
    return whole[:start] + between.join(new) + whole[end:]


def _is_line(pieces: Pieces) -> bool:
    return all(piece != r"\n" for piece in pieces[:-1])


def _lines(pieces: Pieces) -> Iterator[Pieces]:
    line: Pieces = []
    for piece in pieces:
        line.append(piece)
        if piece == r"\n":
            yield line
            line = []
    if line:
        yield line


@dataclass(frozen=True, slots=True)
class _Speller:
    """Spells new characters as the cell spells them already, else in the notebook's way."""

    text: str
    spelled: Mapping[str, str]

    def spell(self, new: str) -> Pieces:
        plain = new.isascii() or not _escapes(self.text)
        return [self.spelled.get(one) or json.dumps(one, ensure_ascii=not plain)[1:-1] for one in new]


@lru_cache(maxsize=2)
def _escapes(text: str) -> bool:
    """Is every character beyond ASCII written by its number here, and is there one?"""
    return text.isascii() and _ESCAPED.search(text) is not None


def _decoded(piece: str) -> str:
    return str(json.loads(f'"{piece}"')) if piece.startswith("\\") else piece
