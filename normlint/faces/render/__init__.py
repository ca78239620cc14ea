"""A report as text: one module a format, each with `render(report, context) -> str`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module

from normlint.engine.report import Report


@dataclass(frozen=True, slots=True)
class Display:
    """How a report is to be shown: with colour, and with which paths as they were given."""

    colour: bool = False
    paths: tuple[str, ...] = ()


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
