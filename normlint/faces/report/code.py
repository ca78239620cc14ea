"""Source as a page shows it: which lines show a norm, highlighted, numbered, with findings marked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from normlint.engine.report import Diagnostic, ListedNorm
from normlint.faces.report import Html, element, join
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


@dataclass(frozen=True, slots=True)
class Mark:
    """What is marked, from one place up to the other, and what it is called."""

    start: Place
    end: Place
    label: str

    def on(self, line: int, length: int, indent: int) -> tuple[int, int] | None:
        """The columns of a line that are marked, counted from 0; later lines without their indent."""
        if not self.start.line <= line <= self.end.line:
            return None
        first = self.start.column - 1 if line == self.start.line else indent
        last = self.end.column - 1 if line == self.end.line else length
        return (first, max(last, first + 1)) if first < length else None


def listing(runs: Iterable[tuple[int, tuple[str, ...]]], marks: tuple[Mark, ...], label: str) -> Html:
    """Runs of lines, each from its first line's number on; where lines are left out between two, it shows."""
    rows: list[Html] = []
    for first, lines in runs:
        if rows:
            rows.append(element("span", "⋯\n", class_="gap"))
        rows += _rows(first, lines, marks)
    code = element("code", rows)
    return element("pre", code, class_="code", tabindex="0", role="region", aria_label=label)


def highlighted(lines: tuple[str, ...]) -> list[list[tuple[str, str]]]:
    """The tokens of each line: class and text."""
    from pygments.lexers.python import PythonLexer

    out: list[list[tuple[str, str]]] = [[]]
    shown = (line[:_LONGEST] + "…" * (len(line) > _LONGEST) for line in lines)
    source = "\n".join(line.replace("\r", "␍").replace("\n", "␊") for line in shown)
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        for number, piece in enumerate(value.split("\n")):
            if number:
                out.append([])
            if piece:
                out[-1].append((_class_of(str(kind)), piece))
    return out


def _class_of(kind: str) -> str:
    """A few colours are enough: what a token is called in Pygments begins with what it is."""
    return next((short for name, short in _CLASSES if kind.startswith(f"Token.{name}")), "")


_CLASSES: Final = (
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Decorator", "d"),
    ("Name.Builtin", "b"),
)


def _rows(first: int, lines: tuple[str, ...], marks: tuple[Mark, ...]) -> Iterator[Html]:
    for number, tokens in enumerate(highlighted(lines), first):
        line = "".join(piece for _, piece in tokens)
        marked = [one for mark in marks if (one := mark.on(number, len(line), len(line) - len(line.lstrip())))]
        gutter = element("span", str(number), class_="no", aria_hidden="true")
        yield element("span", gutter, _tokens(tokens, marked), "\n", class_="row hit" if marked else "row")


def _tokens(tokens: list[tuple[str, str]], marked: list[tuple[int, int]]) -> Html:
    """The line, cut where tokens and marks begin and end."""
    out: list[Html] = []
    at = 0
    held: list[Html] = []
    inside = False
    for kind, piece in tokens:
        for start, end in _cut(at, at + len(piece), marked):
            within = any(first <= start < last for first, last in marked)
            if within != inside:
                out.append(_closed(held, marked=inside))
                held, inside = [], within
            text = piece[start - at : end - at]
            held.append(element("span", text, class_=kind) if kind else join(text))
        at += len(piece)
    return join([*out, _closed(held, marked=inside)])


def _cut(start: int, end: int, marked: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    edges = sorted({start, end, *(edge for one in marked for edge in one if start < edge < end)})
    yield from pairwise(edges)


def _closed(held: list[Html], *, marked: bool) -> Html:
    return element("mark", held) if marked and held else join(held)
