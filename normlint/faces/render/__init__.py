"""A report as text: one module a format, each with `render(report, display) -> str`; and the style that they share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partialmethod
from importlib import import_module
from typing import Final

from normlint.engine.report import Report
from normlint.text.finding import ERROR


@dataclass(frozen=True, slots=True)
class Display:
    """How a report is to be shown: with colour, and with which paths as they were given.

    `quiet`: findings alone. `remaining`: what remains is counted.
    """

    colour: bool = False
    paths: tuple[str, ...] = ()
    quiet: bool = False
    remaining: bool = True


def render(report: Report, output_format: str, display: Display) -> str:
    """The report in this format, with its final line end; empty where the format has nothing to say."""
    text: str = import_module(f"normlint.faces.render.{output_format}").render(report, display)
    return text


def from_here(path: str) -> str:
    """The path as services want it: relative to where normlint runs, which is the root of what they check out."""
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
    """Wraps text in ANSI colours where `colour` is set."""

    colour: bool = False

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    bold = partialmethod(_wrap, "1")  # paths
    dim = partialmethod(_wrap, "36")  # frames and places
    gone = partialmethod(_wrap, "31")  # lines that a fix takes away
    new = partialmethod(_wrap, "32")  # lines that it puts there

    def grade(self, text: str, severity: str) -> str:
        """Codes and carets of a finding."""
        return self._wrap("1;31" if severity == ERROR else "1;33", text)


def in_one_line(path: str) -> str:
    """The name of a file, which may hold anything, as one harmless line."""
    return harmless(path).replace("\n", "\u240a")


def harmless(text: str) -> str:
    """The text with control characters, and those that turn the direction of writing, made visible."""
    return text.translate(_CONTROL).translate(_CONTROL_TOO)
