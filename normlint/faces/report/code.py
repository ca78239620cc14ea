"""Source as a page shows it: which lines show a norm, highlighted, numbered, those with findings marked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from normlint.engine.report import Diagnostic, ListedNorm
from normlint.faces.render import harmless
from normlint.faces.report import Html, element
from normlint.text.source import Place, Source, Unit, line_starts

MOST: Final = 60
AROUND: Final = 8
NEAR: Final = 2
_Node: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Runs = tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function: where it begins and ends in the file."""

    start: Place
    end: Place

    def holds(self, place: Place) -> bool:
        """Is the place in it?"""
        return place.cell == self.start.cell and self.start.line <= place.line <= self.end.line

    @property
    def length(self) -> int:
        """In lines."""
        return self.end.line - self.start.line + 1


def definitions(source: Source, unit: Unit) -> tuple[Definition, ...]:
    """Those of a unit; none where it doesn't parse, or one stands in several cells."""
    try:
        tree = ast.parse(unit.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = (_definition(source, unit, node) for node in ast.walk(tree) if isinstance(node, _DEFINITIONS))
    return tuple(one for one in found if one is not None)


def _definition(source: Source, unit: Unit, node: _Node) -> Definition | None:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    starts = line_starts(unit.text)
    begin, end = (source.place(*unit.origin(starts[line - 1])) for line in (first, node.end_lineno or first))
    return Definition(begin, end) if begin.cell == end.cell else None


def runs(source: Source, norm: ListedNorm, found: Iterable[Diagnostic], known: tuple[Definition, ...]) -> Runs:
    """The lines to show, in stretches: the widest definition around the norm that isn't long, and the findings."""
    around = sorted((one for one in known if one.holds(norm.place)), key=lambda one: one.length)
    fitting = [one for one in around if one.length <= MOST]
    line = norm.place.line
    whole = fitting[-1] if fitting else None
    spans = [(whole.start.line, whole.end.line) if whole else (line - AROUND, line + AROUND)]
    spans += [
        (one.start.line - NEAR, min(one.end.line, one.start.line + MOST) + NEAR)
        for one in found
        if one.start.cell == norm.place.cell and not (whole and whole.holds(one.start))
    ]
    return tuple(_stretches(source, norm.place.cell, spans))


def _stretches(source: Source, cell: int | None, spans: list[tuple[int, int]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted((max(first, 1), last) for first, last in spans):
        if joined and first <= joined[-1][1] + NEAR:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    for first, last in joined:
        lines = source.lines(cell, first, last)
        if lines:
            yield first, lines


_LONGEST: Final = 400


def listing(runs: Runs, hits: Iterable[int], label: str) -> Html:
    """Runs of lines, highlighted and numbered, those with `hits` marked; where lines are left out, it shows."""
    marked = set(hits)
    shown = [_highlighted(first, lines, marked) for first, lines in runs]
    return element("div", *shown, class_="code", tabindex="0", role="region", aria_label=label)


def _highlighted(first: int, lines: tuple[str, ...], marked: set[int]) -> Html:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    text = "\n".join(harmless(line[:_LONGEST] + "…" * (len(line) > _LONGEST)) for line in lines)
    rows = [number - first + 1 for number in marked if first <= number < first + len(lines)]
    form = HtmlFormatter(linenos="inline", linenostart=first, hl_lines=rows)
    return Html(highlight(text, PythonLexer(stripnl=False), form))
