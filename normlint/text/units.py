"""From a `Source` to the units of Python in it."""

from __future__ import annotations

from normlint.text.raw import MARKDOWN, NOTEBOOK
from normlint.text.source import Source, Unit


def units_of(source: Source) -> tuple[Unit, ...]:
    """A Python file is one unit, a notebook is one, each fenced block of a Markdown page is one.

    What isn't Python in a notebook or a page is left out in silence; a Python file is not checked here.
    """
    if source.kind == NOTEBOOK:
        from normlint.text.notebooks import notebook_units

        return notebook_units(source.cells)
    if source.kind == MARKDOWN:
        from normlint.text.markdown import markdown_units

        return markdown_units(source.text)
    return (Unit(source.text),)
