"""Render a report as text: each format is a module with `render(report, display) -> str`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partialmethod
from importlib import import_module
from typing import Final

from normlint.engine.report import Report
from normlint.text.finding import ERROR
from normlint.text.source import Place


@dataclass(frozen=True, slots=True)
class Display:
    """How to show a report: with colour, and about which linted paths.

    `quiet`: only findings, without closing lines. `remaining`: count the findings that remain after fixing.
    """

    colour: bool = False
    paths: tuple[str, ...] = ()
    quiet: bool = False
    remaining: bool = True


def render(report: Report, output_format: str, display: Display) -> str:
    """Return the report in this format, with a final line end; "" if there is nothing to show."""
    text: str = import_module(f"normlint.faces.render.{output_format}").render(report, display)
    return text


def from_here(path: str) -> str:
    """Return the path relative to the working directory, which is the root of the checkout; unchanged if outside it."""
    if not os.path.isabs(path):
        return path
    try:
        relative = os.path.relpath(path)
    except ValueError:  # it is on another drive
        return path
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative


_CONTROL: Final = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
_CONTROL_TOO: Final = dict.fromkeys(
    [*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"
)


@dataclass(frozen=True)
class Style:
    """Wrap text in ANSI colours if `colour` is set."""

    colour: bool = False

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    bold = partialmethod(_wrap, "1")  # paths
    dim = partialmethod(_wrap, "36")  # frames and places
    gone = partialmethod(_wrap, "31")  # lines that a fix removes
    new = partialmethod(_wrap, "32")  # lines that a fix adds

    def located(self, path: str, place: Place) -> str:
        """Return `path:line:column:`."""
        return self.bold(in_one_line(path)) + self.dim(f":{position(place)}:")

    def grade(self, text: str, severity: str) -> str:
        """Return the code or the carets of a finding in the colour of its severity."""
        return self._wrap("1;31" if severity == ERROR else "1;33", text)


def position(place: Place) -> str:
    """Return `line:column`, in a notebook `cell 3:line:column`."""
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{cell}{place.line}:{place.column}"


def in_one_line(path: str) -> str:
    """Return a path as one line, with line feeds and control characters made visible."""
    return harmless(path).replace("\n", "\u240a")


def harmless(text: str) -> str:
    """Return the text with control characters made visible and those that change the writing direction replaced."""
    return text.translate(_CONTROL).translate(_CONTROL_TOO)
