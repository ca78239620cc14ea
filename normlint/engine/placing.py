"""From edits of a unit to edits of the file it stands in: cells, prefixes of a page's lines, line ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from normlint.engine.report import Hunk, PlacedEdit, PlacedFix
from normlint.engine.selection import Safety
from normlint.engine.width import broken, width
from normlint.text.edit import apply, checked, loses_comment
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass
from normlint.text.raw import NOTEBOOK
from normlint.text.source import Source, Unit, line_starts, split_lines

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class HomeEdit:
    """An edit of the source's text, or of the code of one of its cells."""

    cell: int | None
    edit: Edit


def with_line_ends(text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits with the line ends of the lines they are made in."""
    return tuple(replace(edit, text=_ended_as(text, edit)) for edit in edits)


def fitted(source: Source, text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits as they are written: with the line ends of their lines, and no line longer than the project has it."""
    ended = with_line_ends(text, edits)
    most = width(source.path)
    return ended if most is None else tuple(_within(text, ended, most))


def _within(text: str, edits: Iterable[Edit], most: int) -> Iterator[Edit]:
    starts = (*line_starts(text), len(text))
    for first, last, some in _regions(starts, edits):
        start = starts[first]
        region = text[start : starts[last + 1]]
        after = apply(region, [replace(edit, span=edit.span.shift(-start)) for edit in some])
        short = broken(region, after, most)
        yield from some if short == after else [Edit(Span(start, start + len(region)), short)]


def home_edits(source: Source, unit: Unit, edits: Iterable[Edit]) -> tuple[HomeEdit, ...] | None:
    """The edits where they are made; None where one can't be: across cells, or in what isn't the user's Python."""
    placed = [_placed(source, unit, edit) for edit in edits]
    found = tuple(one for one in placed if one is not None)
    return found if len(found) == len(placed) else None


def edited(source: Source, edits: Iterable[HomeEdit]) -> Source:
    """The source with the edits made; ValueError where they overlap."""
    by_cell: dict[int | None, list[Edit]] = defaultdict(list)
    for one in edits:
        by_cell[one.cell].append(one.edit)
    if source.kind != NOTEBOOK:
        return replace(source, text=apply(source.text, by_cell[None]))
    from normlint.text.cells import with_cells_edited
    from normlint.text.notebooks import code_cells

    text = with_cells_edited(source.text, {cell: own for cell, own in by_cell.items() if cell is not None})
    return replace(source, text=text, cells=code_cells(text))


def placed_fix(source: Source, unit: Unit, code: str, fix: Fix, safety: Safety) -> PlacedFix | None:
    """A unit's fix as the file's, trusted as far as the user's settings say; None if it can't be made there."""
    edits = fitted(source, unit.text, fix.edits)
    homes = home_edits(source, unit, edits)
    if homes is None:
        return None
    trusted = safety.judged(code, fix.applicability)
    if trusted is Applicability.SAFE and loses_comment(unit.text, edits):
        trusted = Applicability.UNSAFE
    placed = tuple(map(partial(_shown, source), homes))
    return PlacedFix(trusted, fix.message, placed, tuple(_hunks(source, homes)), safety.makes(trusted))


def _shown(source: Source, one: HomeEdit) -> PlacedEdit:
    start, end = one.edit.span
    return PlacedEdit(source.place(one.cell, start), source.place(one.cell, end), one.edit.text)


def _hunks(source: Source, edits: Iterable[HomeEdit]) -> Iterator[Hunk]:
    """The lines that change, edits of neighbouring lines together."""
    by_cell: dict[int | None, list[Edit]] = defaultdict(list)
    for one in edits:
        by_cell[one.cell].append(one.edit)
    for cell, own in by_cell.items():
        home = source.home(cell)
        starts = (*line_starts(home), len(home))
        for first, last, some in _regions(starts, own):
            region = home[starts[first] : starts[last + 1]]
            moved = [replace(edit, span=edit.span.shift(-starts[first])) for edit in some]
            before, old, new = _differing(split_lines(region), split_lines(apply(region, moved)))
            yield Hunk(cell, first + before + 1, _bare(old), _bare(new))


def _regions(starts: Sequence[int], edits: Iterable[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Edits by the lines they touch, from the first to the last one, counted from 0."""
    regions: list[tuple[int, int, list[Edit]]] = []
    most = len(starts) - 2
    for edit in checked(edits):
        first, last = (min(bisect_right(starts, at) - 1, most) for at in edit.span)
        if regions and first <= regions[-1][1]:
            regions[-1] = regions[-1][0], max(last, regions[-1][1]), [*regions[-1][2], edit]
        else:
            regions.append((first, last, [edit]))
    return regions


def _differing(old: list[str], new: list[str]) -> tuple[int, list[str], list[str]]:
    """How many lines are the same at the start, and what lies between these and the same lines at the end."""
    before, shorter = 0, min(len(old), len(new))
    while before < shorter and old[before] == new[before]:
        before += 1
    after = 0
    while after < shorter - before and old[-1 - after] == new[-1 - after]:
        after += 1
    return before, old[before : len(old) - after], new[before : len(new) - after]


def _bare(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line.rstrip("\r\n") for line in lines)


def _placed(source: Source, unit: Unit, edit: Edit) -> HomeEdit | None:
    edit = _without_last_line_end(unit.text, edit)
    (start, end), text = edit.span, edit.text
    cell, first = unit.origin(start)
    if source.kind == NOTEBOOK:
        return _in_cell(source, unit, edit)
    last = unit.origin(end - 1)[1] + 1 if end > start else first
    prefix = _prefix(source, unit, start)
    if prefix:
        text = _LINE_END.sub(lambda found: found[0] + prefix, text)
    if end > start and unit.text[end - 1] in "\r\n":
        margin = _line_start(source, first)
        whole = first == margin + len(prefix) and (not text or end == len(unit.text))
        if whole:
            first = margin  # whole lines go, with their prefixes
        elif first != margin and end < len(unit.text):  # a blank line has no prefix that would stay
            last = unit.origin(end)[1]  # the prefix of the line that moves up goes with the line end
    return HomeEdit(cell, Edit(Span(first, last), text))


def _in_cell(source: Source, unit: Unit, edit: Edit) -> HomeEdit | None:
    """In a notebook the unit's text may differ from the cell's: magics are blanked, a last line end is added."""
    start, end = edit.span
    cell, first = unit.origin(start)
    if end > start and unit.origin(end - 1)[0] != cell:
        return None
    home = source.home(cell)
    span = Span(min(first, len(home)), min(first + end - start, len(home)))
    if home[span.start : span.end] != unit.text[start:end].removesuffix("\n" * (first + end - start > len(home))):
        return None
    return HomeEdit(cell, Edit(span, edit.text))


def _without_last_line_end(text: str, edit: Edit) -> Edit:
    """A line end that goes and comes again at the end of an edit stays where it is."""
    start, end = edit.span
    found = list(_LINE_END.finditer(text, start, end))
    if found and found[-1].end() == end and edit.text.endswith(found[-1][0]):
        return Edit(Span(start, found[-1].start()), edit.text.removesuffix(found[-1][0]))
    return edit


def _prefix(source: Source, unit: Unit, offset: int) -> str:
    """What stands on the page in front of the unit's line: an indent, the marks of quotes."""
    at = bisect_right(unit.segments, offset, key=lambda segment: segment.start) - 1
    origin = unit.segments[max(at, 0)].origin
    return source.text[_line_start(source, origin) : origin]


def _line_start(source: Source, offset: int) -> int:
    starts: Sequence[int] = line_starts(source.text)
    return starts[bisect_right(starts, offset) - 1]


def _ended_as(text: str, edit: Edit) -> str:
    """A bare line feed becomes what ends the line of the edit, or the first line if that one has no end."""
    found = _LINE_END.search(text, edit.span.start) or _LINE_END.search(text)
    if found is None or found[0] == "\n" or "\n" not in edit.text:
        return edit.text
    return re.sub(r"(?<!\r)\n", found[0], edit.text)
