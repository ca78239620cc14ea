"""From edits of a unit to edits of its file: cells, prefixes of a page's lines, line ends, line lengths."""

from __future__ import annotations

import ast
import configparser
import os
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Final

from normlint.engine.report import Hunk, PlacedEdit, PlacedFix
from normlint.engine.selection import Demand
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
    from normlint.text.notebooks import code_cells, with_cells_edited

    text = with_cells_edited(source.text, {cell: own for cell, own in by_cell.items() if cell is not None})
    return replace(source, text=text, cells=code_cells(text))


def placed_fix(source: Source, unit: Unit, fix: Fix, demand: Demand) -> PlacedFix | None:
    """A unit's fix as the file's; None if it can't be made there."""
    edits = fitted(source, unit.text, fix.edits)
    homes = home_edits(source, unit, edits)
    if homes is None:
        return None
    trusted = fix.applicability
    if trusted is Applicability.SAFE and loses_comment(unit.text, edits):
        trusted = Applicability.UNSAFE
    placed = tuple(map(partial(_shown, source), homes))
    return PlacedFix(trusted, fix.message, placed, tuple(_hunks(source, homes)), demand.makes(trusted))


def _shown(source: Source, one: HomeEdit) -> PlacedEdit:
    start, end = one.edit.span
    return PlacedEdit(source.place(one.cell, start), source.place(one.cell, end), one.edit.text)


def _hunks(source: Source, edits: Iterable[HomeEdit]) -> Iterator[Hunk]:
    """The changed lines before and after the edits; edits in neighbouring lines share a hunk."""
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
            at = first + before  # counted from 0
            above = home[starts[at - 1] : starts[at]] if at and not old else ""
            yield Hunk(cell, at + 1, _bare(old), _bare(new), above.rstrip("\r\n"))


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
    """The edit in its cell; None where it spans cells or the unit's text isn't the cell's (blanked magics)."""
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
    """The edit without the line end that it would remove and write again at its end."""
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


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_USUAL: Final = 88  # ruff's and black's own
_INI: Final = ((".flake8", "flake8"), ("setup.cfg", "flake8"), ("tox.ini", "flake8"))
_BROKEN: Final = (ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign)


def width(path: str) -> int | None:
    """The line length that ruff, black, flake8 or the editor is configured with; None where none is."""
    return _width(os.path.dirname(os.path.abspath(path)))


@lru_cache(maxsize=256)
def _width(folder: str) -> int | None:
    """The configured line length for files in a folder, from there or from a folder above in the same repository."""
    found = next((n for n in _configured(folder) if isinstance(n, int) and n > 0), None)
    above = os.path.dirname(folder)
    if found is not None or above == folder or os.path.exists(os.path.join(folder, ".git")):
        return found
    return _width(above)


def _configured(folder: str) -> Iterable[Any]:
    """What each configuration in a directory says."""
    for name in ("ruff.toml", ".ruff.toml"):
        if (table := _toml(os.path.join(folder, name))) is not None:
            yield table.get("line-length", _USUAL)
    tool = (_toml(os.path.join(folder, "pyproject.toml")) or {}).get("tool")
    tables = [tool.get(one) for one in ("ruff", "black")] if isinstance(tool, dict) else []
    yield from (table.get("line-length", _USUAL) for table in tables if isinstance(table, dict))
    for name, section in _INI:
        yield _number(os.path.join(folder, name), (section,), "max-line-length")
    yield _number(os.path.join(folder, ".editorconfig"), ("*.py", "*.{py,pyi}", "*"), "max_line_length")


def _toml(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as opened:
            table: dict[str, Any] = tomllib.load(opened)
            return table
    except (OSError, ValueError, RecursionError):
        return None


def _number(path: str, sections: Iterable[str], key: str) -> int | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        with open(path, encoding="utf-8") as opened:
            parser.read_string("[root]\n" + opened.read())
    except (OSError, ValueError, configparser.Error):
        return None
    values = (parser.get(section, key, fallback="") for section in sections)
    return next((int(value) for value in values if value.isdecimal()), None)


def broken(before: str, after: str, most: int) -> str:
    """The lines `after` a fix, those that are new and too long broken after an opening parenthesis or before operators.

    Where that isn't natural they stay: in brackets that are open already, before a comment.
    """
    old = before.splitlines()
    if any(len(line) > most for line in old):
        return after  # nobody minds here
    step = "\t" if re.search(r"^\t", after, re.MULTILINE) else "    "
    lines = after.splitlines(keepends=True)
    return "".join(line if len(line.rstrip()) <= most or line in old else _parted(line, most, step) for line in lines)


def _parted(line: str, most: int, step: str) -> str:
    """A line that is too long broken into several; unchanged where no break fits."""
    text = line.strip()
    margin, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    stmt = _statement(text)
    value = getattr(stmt, "value", None)
    if value is None or "#" in text or not text.isascii() or value.end_col_offset != len(text):
        return line
    inner, head = text[value.col_offset :], f"{text[: value.col_offset]}("
    ways = [*_brackets(value, text), (head, [inner], ")"), (head, _operands(value, text), ")")]
    for first, parts, last in ways:
        lines = [margin + first, *(margin + step + part for part in parts), margin + last]
        if parts and max(map(len, lines)) <= most:
            return (end or "\n").join(lines) + end
    return line


def _brackets(value: ast.expr, text: str) -> Iterator[tuple[str, list[str], str]]:
    """What stands before, in and behind brackets of the expression: those of a call, or those that a call is made on.

    What is in them comes as one part and then as several. A chain of calls is better held together.
    """
    node = value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_plain(node):
        node = node.func.value
    start, end = node.col_offset, node.end_col_offset or 0
    if isinstance(node, ast.Call) and not any(isinstance(n, ast.Call | ast.GeneratorExp) for n in _head(node)):
        start, end = text.index("(", node.func.end_col_offset) + 1, end - 1
        parts = _arguments(node, text, start, end)
    elif node is not value and text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        parts = _operands(node, text)
    else:
        return
    yield from (
        (text[:start], several, text[end:]) for several in ([text[start:end].strip()], parts) if text[start:end]
    )


def _head(call: ast.Call) -> list[ast.AST]:
    """What is called, and the arguments."""
    return [*ast.walk(call.func), *call.args]


def _arguments(call: ast.Call, text: str, start: int, end: int) -> list[str]:
    """The arguments of the call, each with a comma."""
    last = sorted(one.end_col_offset or 0 for one in (*call.args, *(k.value for k in call.keywords)))
    cuts = [text.index(",", at) for at in last[:-1]]
    bounds = zip((start, *(cut + 1 for cut in cuts)), (*cuts, end), strict=True)
    return [f"{text[a:b].strip().rstrip(',')}," for a, b in bounds]


def _is_plain(call: ast.Call) -> bool:
    """Are the arguments only names and attributes, too short to get a line of their own?"""
    return not call.keywords and all(isinstance(one, ast.Name | ast.Attribute) for one in call.args)


def _statement(text: str) -> ast.stmt | None:
    """An assignment or a return that is all of the text; its columns are those of the text."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], _BROKEN) else None


def _operands(value: ast.expr, text: str) -> list[str]:
    """The operands of the outermost operators, each with the operator in front of it."""
    cuts: list[int] = []
    node = value
    kinds = (ast.Mult, ast.Div) if isinstance(getattr(value, "op", None), ast.Mult | ast.Div) else (ast.Add, ast.Sub)
    while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        left, right = node.left.end_col_offset or 0, node.right.col_offset
        cuts.append(left + (re.search(r"[-+*/]", text[left:right]) or re.match("", "")).start())  # type: ignore[union-attr]
        node = node.left
    at = [value.col_offset, *reversed(cuts), value.end_col_offset or len(text)]
    return [text[a:b].strip() for a, b in pairwise(at)] if cuts else []
