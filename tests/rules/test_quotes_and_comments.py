"""What misleads a reader of lines and quotes: a wrong norm below it is found all the same, fast and whole."""

from __future__ import annotations

import textwrap

import pytest

from normlint.engine.linter import check_bytes
from normlint.engine.selection import Demand
from normlint.evaluate.reach import Reach
from normlint.rules import analyse
from normlint.rules.blocks import analyse_blocks
from normlint.text.finding import Span

NORM = "def rms_norm(x):\n    return x * torch.rsqrt(torch.mean(x * x))\n"
CODES = ["NRM101", "NRM201", "NRM301"]
ABOVE = {
    "nothing": "",
    "code that is commented out with three quotes": '#"""\n',
    "three quotes in a comment": '# """\n',
    "a quoted sentence in a comment": '# """Text."""\n',
    "a comment that says `it's`, and a string": '# it\'s\nA = """\nb\n"""\n',
    "a comment behind a string of three quotes": 'A = """a"""  # """\n',
    "three quotes in a string": 'A = \'"""\'\n',
    "three quotes in a string, and in a comment": 'A = \'"""\'  # """\n',
    "a `#` in a string before one of several lines": 'A = "#" + """\nb\n"""\n',
    "a colour among a call's arguments": 'A = dict(color="#fff", doc="""a\nb""")\n',
    "an escaped quote before a `#`": 'A = \'\\\'#\' + """\nb\n"""\n',
    "a string whose last line begins with `#`, and another": 'A = """\n# end""", """\nb\n"""\n',
    "a string that ends behind `#` in a call": 'A = f("""\n# x = 1""", """\n#y""" if 1 else """\n""")\n',
    "both kinds of three quotes": "A = '''\n\"\"\"\n''' + \"\"\"\n'''\n\"\"\"\n",
    "the end of a page": "A = 1\n\f",
    "the end of a page, and a comment": "A = 1\n\f\f# b\n\f",
    "a docstring of the file with a quote": '"""It\'s a "file"."""\n',
}


def found(text: str) -> list[list[str]]:
    readings = analyse_blocks(text).findings, analyse(text).findings
    return [sorted(f.code for f in findings if f.code in CODES) for findings in readings]


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR alone"])
def test_a_norm_is_found_below(above: str, end: str) -> None:
    text = f"import torch\n{above}{NORM}"
    compile(text, "a.py", "exec")
    assert found(text.replace("\n", end)) == [CODES, CODES]


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_a_norm_is_found_between(above: str) -> None:
    text = f"import torch\n{above}{NORM}{above}B = 1\n"
    compile(text, "a.py", "exec")
    assert found(text) == [CODES, CODES]


CLASS = (
    "class RMSNorm(torch.nn.Module):\n    def forward(self, x):\n        return x * torch.rsqrt(torch.mean(x * x))\n"
)
INDENTED = textwrap.indent(CLASS, "    ")
ON_TWO_LINES = INDENTED.replace("class R", "class \\\n        R")
WITHIN = {
    "a class": f"class A:\n{INDENTED}",
    "a class behind another": f"class A:\n    class B: pass\n{INDENTED}",
    "a class behind a form feed": f"class A:\n    class B: pass\n\f{INDENTED}",
    "a class whose name stands on the next line": f"class A:\n{ON_TWO_LINES}",
    "a function": f"def make():\n{INDENTED}    return RMSNorm()\n",
    "a method of a class": f"class A:\n    def make(self):\n{textwrap.indent(INDENTED, '    ')}",
}


@pytest.mark.parametrize("text", WITHIN.values(), ids=WITHIN)
def test_a_class_is_found_within(text: str) -> None:
    text = f"import torch\n{text}"
    compile(text, "a.py", "exec")
    assert found(text) == [CODES, CODES]


def test_a_hash_in_a_string_ends_no_line() -> None:
    text = (
        "import torch\nclass RMSNorm(torch.nn.Module):\n    def tag(self, a, b):\n        return b\n"
        "    def ms(self, x):\n        return torch.mean(x * x)\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(self.tag('#', self.ms(x)))\n"
    )
    assert found(text) == [CODES, CODES]


def test_where_a_line_goes_on_at_column_0_the_parser_cuts() -> None:
    text = "import torch\ndef rms_norm(x):\n    y = \\\nx * torch.rsqrt(torch.mean(x * x))\n    return y\n"
    compile(text, "a.py", "exec")
    report = check_bytes("a.py", text.encode(), Demand())
    assert (sorted(f.code for f in report.findings), report.errors) == (CODES, ())


def test_docstrings_are_blanked_whole_where_reductions_are_looked_for() -> None:
    text = "def f(x):\n    \"\"\"Text with x.mean().\"\"\"\n    y = '''x.sum()'''\n    return x.var()\n"
    reach = Reach(text)
    assert len(reach.text) == len(text)
    assert '"' not in reach.text
    assert "'" not in reach.text
    assert [text[mark - 3 : mark] for mark in reach.marks(Span(0, len(text)))] == ["var"]
