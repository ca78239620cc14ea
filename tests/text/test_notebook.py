"""Notebooks: one unit of all code cells, IPython's own syntax blanked."""

from __future__ import annotations

import json

import pytest

from normlint.text.notebooks import code_cells, notebook_units, python_of_cell
from normlint.text.raw import BadSourceError
from normlint.text.read import decode, units_of
from normlint.text.source import Place


def notebook(*cells: object, **more: object) -> bytes:
    return json.dumps({"cells": list(cells), "nbformat": 4, **more}).encode()


def code(source: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source}


BLANKED = {
    "a line magic": ("%matplotlib inline\nx = 1", "0                 \nx = 1"),
    "a shell line": ("!pip install x\nx = 1", "0             \nx = 1"),
    "a shell line that goes on": ("!pip install \\\n  x\nx = 1", "0             \n   \nx = 1"),
    "a shell line in a block": ("if a:\n    !ls\ny = 1", "if a:\n    0  \ny = 1"),
    "a shell line with an odd quote": ("!echo it's\nx = 1", "0         \nx = 1"),
    "what a shell line gives to a name": ("x = !ls", "x = 0  "),
    "what a magic gives to names": ("a, b = %time f()", "a, b = 0        "),
    "a question after a name": ("torch.mean?", "0          "),
    "two questions before a name": ("??x", "0  "),
    "%%time, and not the cell": ("%%time\nx = 1", "      \nx = 1"),
    "%%capture with an argument": ("%%capture out\nx = 1", "             \nx = 1"),
    "%%time with nothing below": ("%%time", "      "),
    "a whole %%bash cell": ("%%bash\nls", "      \n  "),
    "a whole %%writefile cell": ("%%writefile a.py\nx = 1", " " * 16 + "\n     "),
    "a cell that is no Python": ("def f(:\n  pass", "       \n      "),
    "a cell with NUL": ("x = 1\0", "      "),
    "a cell with half a surrogate pair": ("x = '\ud83d'", "       "),
}


@pytest.mark.parametrize(("cell", "python"), BLANKED.values(), ids=BLANKED)
def test_what_is_not_python_is_blanked(cell: str, python: str) -> None:
    assert python_of_cell(cell) == python


KEPT = {
    "a percent sign that goes on with an expression": "x = (a\n% b)",
    "a magic in a string": "'''\n%x\n!ls\n'''",
    "await at the top": "await x",
    "an annotation without a value": "x: int",
    "return at the top": "return 1",
}


@pytest.mark.parametrize("cell", KEPT.values(), ids=KEPT)
def test_what_is_python_is_kept(cell: str) -> None:
    assert python_of_cell(cell) == cell


def test_an_operator_line_is_kept_beside_a_magic() -> None:
    assert python_of_cell("x = (a\n% b)\n%time z") == "x = (a\n% b)\n0      "


def test_a_place_is_reported_by_cell_and_line_in_the_cell() -> None:
    data = notebook(
        {"cell_type": "markdown", "source": "# hi"}, code("import torch"), code(["x = 1\n", "y = x.mean()\n"])
    )
    source = decode("a.ipynb", data)
    (unit,) = units_of(source)
    assert unit.text == "import torch\nx = 1\ny = x.mean()\n"
    assert unit.snippet
    assert source.place(*unit.origin(unit.text.index("x.mean"))) == Place(3, 2, 5)
    assert source.lines(3, 1, 2) == ("x = 1", "y = x.mean()")


def test_offsets_lead_back_to_the_cell() -> None:
    source = decode("a.ipynb", notebook(code("a = 1"), code("b = 2")))
    (unit,) = units_of(source)
    assert unit.origin(unit.text.index("b")) == (2, 0)


NO_UNITS = {
    "no code": [{"cell_type": "markdown", "source": "x"}],
    "only a shell cell": [code("%%sh\nls")],
    "cells that are no objects": [3, None],
    "no cells": [],
}


@pytest.mark.parametrize("cells", NO_UNITS.values(), ids=NO_UNITS)
def test_a_notebook_may_hold_nothing(cells: list[object]) -> None:
    assert units_of(decode("a.ipynb", notebook(*cells))) == ()


def test_cells_that_are_too_much_together_are_passed_over() -> None:
    branches = "if a:\n    b\n" + "elif a:\n    b\n" * 1300
    filler = "b\n" * 3000
    assert len(notebook_units(((1, branches), (2, filler)))) == 1
    assert notebook_units(((1, branches), (2, branches), (3, filler))) == ()


LANGUAGES = {
    "R by its language": ({"language_info": {"name": "R"}}, 0),
    "julia by its kernel": ({"kernelspec": {"language": "julia"}}, 0),
    "python by its language": ({"language_info": {"name": "python"}}, 1),
    "nothing told": ({}, 1),
    "metadata of another shape": ([], 1),
}


@pytest.mark.parametrize(("metadata", "count"), LANGUAGES.values(), ids=LANGUAGES)
def test_only_python_notebooks_are_read(metadata: object, count: int) -> None:
    assert len(code_cells(notebook(code("x = 1"), metadata=metadata).decode())) == count


REFUSED = {
    "no JSON": ("{\n,", "not a notebook: Expecting property name", 2),
    "a list": ("[]", "not a notebook: the JSON is no object", None),
    "no cells": ("{}", "not a notebook: it has no list of cells", None),
    "cells that are no list": ('{"cells": 1}', "not a notebook: it has no list of cells", None),
    "an old format": ('{"worksheets": []}', "notebook format before 4: convert it", None),
    "a source that is no text": (
        '{"cells": [{"cell_type": "code"}]}',
        "not a notebook: a code cell",
        None,
    ),
    "deep nesting": ("[" * 100_000, "not a notebook: the JSON is nested too deeply", None),
}


@pytest.mark.parametrize(("text", "message", "line"), REFUSED.values(), ids=REFUSED)
def test_a_notebook_is_refused_for(text: str, message: str, line: int | None) -> None:
    with pytest.raises(BadSourceError) as refused:
        decode("a.ipynb", text.encode())
    assert refused.value.message.startswith(message)
    assert refused.value.line == line
