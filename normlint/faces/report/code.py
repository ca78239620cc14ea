"""Show the source of a norm in the HTML report: highlighted, numbered, with the lines of findings marked."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final, TypeAlias

from normlint.engine.report import ListedNorm
from normlint.faces.render import harmless
from normlint.faces.report import Html, element
from normlint.text.source import Source, Unit, line_starts

MOST: Final = 60
AROUND: Final = 8
_Node: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Lines = tuple[int, tuple[str, ...]]  # the number of the first line, and the lines
Definition = tuple[int | None, int, int]  # of a class or function: its cell, and its first and last line


def definitions(source: Source, unit: Unit) -> tuple[Definition, ...]:
    """Return the classes and functions of a unit that lie in one cell; none if it doesn't parse."""
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
    return (begin.cell, begin.line, end.line) if begin.cell == end.cell else None


def shown(source: Source, norm: ListedNorm, known: tuple[Definition, ...]) -> Lines:
    """Return the lines to show: the largest definition of at most MOST lines around the norm, else nearby lines."""
    cell, line = norm.place.cell, norm.place.line
    around = ((first, last) for home, first, last in known if home == cell and first <= line <= last)
    fitting = [(last - first, first, last) for first, last in around if last - first < MOST]
    _, first, last = max(fitting, default=(0, max(line - AROUND, 1), line + AROUND))
    return first, source.lines(cell, first, last)


_LONGEST: Final = 400


def listing(lines: Lines, hits: Iterable[int], label: str) -> Html:
    """Return the lines highlighted and numbered, with the line numbers in `hits` marked."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    first, texts = lines
    text = "\n".join(harmless(line[:_LONGEST] + "…" * (len(line) > _LONGEST)) for line in texts)
    rows = [number - first + 1 for number in set(hits) if first <= number < first + len(texts)]
    form = HtmlFormatter(linenos="inline", linenostart=first, hl_lines=rows)
    code = Html(highlight(text, PythonLexer(stripnl=False), form))
    return element("div", code, class_="code", tabindex="0", role="region", aria_label=label)
