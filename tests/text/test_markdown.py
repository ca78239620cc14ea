"""Markdown: each fenced block of Python is a unit of its own, at its place in the page."""

from __future__ import annotations

import pytest

from normlint.text.finding import Span
from normlint.text.markdown import is_python_info, markdown_units
from normlint.text.source import Place, Source

INFOS = {
    "python": True,
    "Python": True,
    "py": True,
    "python3": True,
    "{python}": True,
    "{.python .numberLines}": True,
    'python title="a.py"': True,
    "python,ignore": True,
    "{code-cell} ipython3": True,
    "{code-block} python": True,
    "": False,
    "pycon": False,
    "pytb": False,
    "bash": False,
    "text python": False,
    "{code-block}": False,
}


@pytest.mark.parametrize(("info", "python"), INFOS.items(), ids=[info or "nothing" for info in INFOS])
def test_a_fence_says_python(info: str, python: bool) -> None:
    assert is_python_info(info) is python


BLOCKS = {
    "backticks": "```python\nx = 1\n```\n",
    "tildes": "~~~ py\nx = 1\n~~~\n",
    "a long fence": "````python\nx = 1\n````\n",
    "a list": "- item\n\n  ```python\n  x = 1\n  ```\n",
    "a quote": "> ```python\n> x = 1\n> ```\n",
    "a quote in a list": "1. item\n\n   > ```python\n   > x = 1\n   > ```\n",
    "an indented fence": "  ```python\n  x = 1\n  ```\n",
    "an indented block": "```python\n    x = 1\n```\n",
    "a tab": "```python\n\tx = 1\n```\n",
    "a list indented with a tab": "-\titem\n\n\t```python\n\tx = 1\n\t```\n",
    "CR LF": "text\r\n\r\n```python\r\nx = 1\r\n```\r\n",
    "an unclosed fence": "```python\nx = 1\n",
}


@pytest.mark.parametrize("page", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_read_from(page: str) -> None:
    (unit,) = markdown_units(page)
    assert unit.text.strip() == "x = 1"
    assert unit.snippet
    source = Source("a.md", page, "markdown")
    at = unit.text.index("x")
    line = next(number for number, line in enumerate(page.splitlines(), 1) if "x = 1" in line)
    assert source.place(*unit.origin(at)) == Place(None, line, page.splitlines()[line - 1].index("x") + 1)


@pytest.mark.parametrize("page", BLOCKS.values(), ids=BLOCKS)
def test_an_offset_leads_back_to_the_page(page: str) -> None:
    (unit,) = markdown_units(page)
    at = unit.text.index("x")
    _, (start, end) = unit.origin_span(Span(at, at + 5))
    assert page[start:end] == "x = 1"


PASSED_OVER = {
    "no language": "```\nx = 1\n```\n",
    "another language": "```bash\nls\n```\n",
    "code that is no Python": "```python\nx = = 1\n```\n",
    "a console session": "```python\n>>> x = 1\n```\n",
    "indented code that is no Python": "```python\n    x = = 1\n```\n",
    "an empty block": "```python\n\n```\n",
    "an indented paragraph": "    x = 1\n",
    "nothing": "",
}


@pytest.mark.parametrize("page", PASSED_OVER.values(), ids=PASSED_OVER)
def test_silence_about(page: str) -> None:
    assert markdown_units(page) == ()


def test_a_bare_method_is_dedented() -> None:
    page = "```py\n    def forward(self, x):\n\n        return x\n```\n"
    (unit,) = markdown_units(page)
    assert unit.text == "def forward(self, x):\n\n    return x\n"
    _, (start, end) = unit.origin_span(Span(unit.text.index("return"), unit.text.index("return") + 8))
    assert page[start:end] == "return x"


def test_each_block_is_its_own_unit() -> None:
    assert len(markdown_units("```py\nx = 1\n```\ntext\n```py\ny = 2\n```\n")) == 2


def test_a_form_feed_does_not_move_lines() -> None:
    page = "a\fb\n\n```py\nx = 1\n```\n"
    (unit,) = markdown_units(page)
    assert Source("a.md", page, "markdown").place(*unit.origin(0)) == Place(None, 4, 1)
