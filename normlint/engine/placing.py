"""Turn edits of a unit into edits of its file, with the file's cells, line prefixes, line ends and line lengths."""

from __future__ import annotations

import ast
import configparser
import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Final

from normlint.engine.config import read_toml
from normlint.engine.report import Hunk, PlacedEdit, PlacedFix
from normlint.engine.selection import Demand
from normlint.engine.settings import ConfigError
from normlint.text.edit import apply, checked, loses_comment
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass
from normlint.text.raw import NOTEBOOK
from normlint.text.source import Source, Unit, line_starts, split_lines

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class HomeEdit:
    """An edit of the source's text or of the code of one of its cells."""

    cell: int | None
    edit: Edit


def fitted(source: Source, text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits with the line ends of their lines and long lines broken at the project's line length."""
    ended = tuple(replace(edit, text=_with_line_ends_of(text, edit)) for edit in edits)
    most = width(source.path)
    return ended if most is None else tuple(_broken_lines(text, ended, most))


def _broken_lines(text: str, edits: Iterable[Edit], most: int) -> Iterator[Edit]:
    for first, before, after, some in _regions(text, edits):
        start = line_starts(text)[first]
        short = broken(before, after, most)
        yield from some if short == after else [Edit(Span(start, start + len(before)), short)]


def home_edits(source: Source, unit: Unit, edits: Iterable[Edit]) -> tuple[HomeEdit, ...] | None:
    """Return the edits in the file; None if one would span cells or change text that isn't the user's Python."""
    placed = [_placed(source, unit, edit) for edit in edits]
    found = tuple(one for one in placed if one is not None)
    return found if len(found) == len(placed) else None


def edited(source: Source, edits: Iterable[HomeEdit]) -> Source:
    """Return the source with the edits made; ValueError if they overlap."""
    by_cell: dict[int | None, list[Edit]] = defaultdict(list)
    for one in edits:
        by_cell[one.cell].append(one.edit)
    if source.kind != NOTEBOOK:
        return replace(source, text=apply(source.text, by_cell[None]))
    from normlint.text.notebooks import code_cells, with_cells_edited

    text = with_cells_edited(source.text, {cell: own for cell, own in by_cell.items() if cell is not None})
    return replace(source, text=text, cells=code_cells(text))


def placed_fix(source: Source, unit: Unit, fix: Fix, demand: Demand) -> PlacedFix | None:
    """Return a unit's fix as a fix of its file; None if it can't be made there."""
    edits = fitted(source, unit.text, fix.edits)
    homes = home_edits(source, unit, edits)
    if homes is None:
        return None
    trusted = fix.applicability
    if trusted is Applicability.SAFE and loses_comment(unit.text, edits):
        trusted = Applicability.UNSAFE
    placed = tuple(map(partial(_placed_edit, source), homes))
    return PlacedFix(trusted, fix.message, placed, tuple(_hunks(source, homes)), demand.makes(trusted))


def _placed_edit(source: Source, one: HomeEdit) -> PlacedEdit:
    start, end = one.edit.span
    return PlacedEdit(source.place(one.cell, start), source.place(one.cell, end), one.edit.text)


def _hunks(source: Source, edits: Iterable[HomeEdit]) -> Iterator[Hunk]:
    """Yield the changed lines before and after the edits; edits that share a line share a hunk."""
    by_cell: dict[int | None, list[Edit]] = defaultdict(list)
    for one in edits:
        by_cell[one.cell].append(one.edit)
    for cell, own in by_cell.items():
        home = source.home(cell)
        for first, before, after, _ in _regions(home, own):
            same, old, new = _changed_lines(split_lines(before), split_lines(after))
            at = first + same  # counted from 0
            above = split_lines(home)[at - 1] if at and not old else ""
            yield Hunk(cell, at + 1, _without_line_ends(old), _without_line_ends(new), above.rstrip("\r\n"))


def _regions(text: str, edits: Iterable[Edit]) -> Iterator[tuple[int, str, str, list[Edit]]]:
    """Group edits that share a line; yield a group's first line, from 0, its text before and after, and its edits."""
    starts = (*line_starts(text), len(text))
    regions: list[tuple[int, int, list[Edit]]] = []
    most = len(starts) - 2
    for edit in checked(edits):
        first, last = (min(bisect_right(starts, at) - 1, most) for at in edit.span)
        if regions and first <= regions[-1][1]:
            regions[-1] = regions[-1][0], max(last, regions[-1][1]), [*regions[-1][2], edit]
        else:
            regions.append((first, last, [edit]))
    for first, last, some in regions:
        start, before = starts[first], text[starts[first] : starts[last + 1]]
        yield first, before, apply(before, [replace(edit, span=edit.span.shift(-start)) for edit in some]), some


def _changed_lines(old: list[str], new: list[str]) -> tuple[int, list[str], list[str]]:
    """Return how many lines are equal at the start, and the lines between these and the equal lines at the end."""
    before, shorter = 0, min(len(old), len(new))
    while before < shorter and old[before] == new[before]:
        before += 1
    after = 0
    while after < shorter - before and old[-1 - after] == new[-1 - after]:
        after += 1
    return before, old[before : len(old) - after], new[before : len(new) - after]


def _without_line_ends(lines: Sequence[str]) -> tuple[str, ...]:
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
            first = margin  # whole lines are removed with their prefixes
        elif first != margin and end < len(unit.text):  # a blank line has no prefix to keep
            last = unit.origin(end)[1]  # the line that moves up loses its prefix
    return HomeEdit(cell, Edit(Span(first, last), text))


def _in_cell(source: Source, unit: Unit, edit: Edit) -> HomeEdit | None:
    """Return the edit in its cell; None if it spans cells or the unit's text isn't the cell's (blanked magics)."""
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
    """Return the edit without a line end that it would remove and write again at its end."""
    start, end = edit.span
    found = list(_LINE_END.finditer(text, start, end))
    if found and found[-1].end() == end and edit.text.endswith(found[-1][0]):
        return Edit(Span(start, found[-1].start()), edit.text.removesuffix(found[-1][0]))
    return edit


def _prefix(source: Source, unit: Unit, offset: int) -> str:
    """Return what precedes the unit's line in the file, such as an indent or the `>` of a Markdown quote."""
    at = bisect_right(unit.segments, offset, key=lambda segment: segment.start) - 1
    origin = unit.segments[max(at, 0)].origin
    return source.text[_line_start(source, origin) : origin]


def _line_start(source: Source, offset: int) -> int:
    starts: Sequence[int] = line_starts(source.text)
    return starts[bisect_right(starts, offset) - 1]


def _with_line_ends_of(text: str, edit: Edit) -> str:
    """Return the edit's text with line feeds replaced by the line end of the edited line, or else of the first line."""
    found = _LINE_END.search(text, edit.span.start) or _LINE_END.search(text)
    if found is None or found[0] == "\n" or "\n" not in edit.text:
        return edit.text
    return re.sub(r"(?<!\r)\n", found[0], edit.text)


_DEFAULT_LENGTH: Final = 88  # the default of ruff and black
_INI: Final = ((".flake8", "flake8"), ("setup.cfg", "flake8"), ("tox.ini", "flake8"))
_BREAKABLE: Final = (ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign)


def width(path: str) -> int | None:
    """Return the line length configured for ruff, black, flake8 or the editor; None if there is none."""
    return _width(os.path.dirname(os.path.abspath(path)))


@lru_cache(maxsize=256)
def _width(folder: str) -> int | None:
    """Return the line length configured in a folder or in one above it in the same repository."""
    found = next((n for n in _configured_lengths(folder) if isinstance(n, int) and n > 0), None)
    above = os.path.dirname(folder)
    if found is not None or above == folder or os.path.exists(os.path.join(folder, ".git")):
        return found
    return _width(above)


def _configured_lengths(folder: str) -> Iterable[Any]:
    """Yield the line length in each configuration file of a directory; it may be missing or of a wrong type."""
    for name in ("ruff.toml", ".ruff.toml"):
        if (table := _read_toml(os.path.join(folder, name))) is not None:
            yield table.get("line-length", _DEFAULT_LENGTH)
    tool = (_read_toml(os.path.join(folder, "pyproject.toml")) or {}).get("tool")
    tables = [tool.get(one) for one in ("ruff", "black")] if isinstance(tool, dict) else []
    yield from (table.get("line-length", _DEFAULT_LENGTH) for table in tables if isinstance(table, dict))
    for name, section in _INI:
        yield _ini_number(os.path.join(folder, name), (section,), "max-line-length")
    yield _ini_number(os.path.join(folder, ".editorconfig"), ("*.py", "*.{py,pyi}", "*"), "max_line_length")


def _read_toml(path: str) -> Mapping[str, Any] | None:
    try:
        return read_toml(path)
    except (ConfigError, ValueError):
        return None


def _ini_number(path: str, sections: Iterable[str], key: str) -> int | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        with open(path, encoding="utf-8") as opened:
            parser.read_string("[root]\n" + opened.read())
    except (OSError, ValueError, configparser.Error):
        return None
    values = (parser.get(section, key, fallback="") for section in sections)
    return next((int(value) for value in values if value.isdecimal()), None)


def broken(before: str, after: str, most: int) -> str:
    """Break the new lines that are longer than `most` after an opening parenthesis or before operators.

    A line stays as it is inside open brackets, with a comment, or if the text before the fix has a longer line.
    """
    old = before.splitlines()
    if any(len(line) > most for line in old):
        return after  # the file doesn't keep to the limit
    step = "\t" if re.search(r"^\t", after, re.MULTILINE) else "    "
    lines = after.splitlines(keepends=True)
    return "".join(
        line if len(line.rstrip()) <= most or line in old else _break_line(line, most, step) for line in lines
    )


def _break_line(line: str, most: int, step: str) -> str:
    """Break a line that is too long into several; return it unchanged if no break fits."""
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
    """Yield the text before, inside and after the brackets of a call, or of the expression that a call is made on.

    The inside is yielded as one part and then as several. A chain of calls isn't broken.
    """
    node = value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_plain(node):
        node = node.func.value
    start, end = node.col_offset, node.end_col_offset or 0
    if isinstance(node, ast.Call) and not any(isinstance(n, ast.Call | ast.GeneratorExp) for n in _call_nodes(node)):
        start, end = text.index("(", node.func.end_col_offset) + 1, end - 1
        parts = _arguments(node, text, start, end)
    elif node is not value and text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        parts = _operands(node, text)
    else:
        return
    yield from (
        (text[:start], several, text[end:]) for several in ([text[start:end].strip()], parts) if text[start:end]
    )


def _call_nodes(call: ast.Call) -> list[ast.AST]:
    """Return the nodes of the called function and the positional arguments."""
    return [*ast.walk(call.func), *call.args]


def _arguments(call: ast.Call, text: str, start: int, end: int) -> list[str]:
    """Return the text of each argument of the call, with a comma."""
    last = sorted(one.end_col_offset or 0 for one in (*call.args, *(k.value for k in call.keywords)))
    cuts = [text.index(",", at) for at in last[:-1]]
    bounds = zip((start, *(cut + 1 for cut in cuts)), (*cuts, end), strict=True)
    return [f"{text[a:b].strip().rstrip(',')}," for a, b in bounds]


def _is_plain(call: ast.Call) -> bool:
    """Return whether the arguments are only names and attributes, too short for lines of their own."""
    return not call.keywords and all(isinstance(one, ast.Name | ast.Attribute) for one in call.args)


def _statement(text: str) -> ast.stmt | None:
    """Parse the text as one assignment or return; None if it is anything else."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], _BREAKABLE) else None


def _operands(value: ast.expr, text: str) -> list[str]:
    """Return the text of the operands of the outermost operators, each with the operator in front of it."""
    cuts: list[int] = []
    node = value
    kinds = (ast.Mult, ast.Div) if isinstance(getattr(value, "op", None), ast.Mult | ast.Div) else (ast.Add, ast.Sub)
    while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        left, right = node.left.end_col_offset or 0, node.right.col_offset
        cuts.append(left + (re.search(r"[-+*/]", text[left:right]) or re.match("", "")).start())  # type: ignore[union-attr]
        node = node.left
    at = [value.col_offset, *reversed(cuts), value.end_col_offset or len(text)]
    return [text[a:b].strip() for a, b in pairwise(at)] if cuts else []
