"""Files of every make, fixed by the command: the bytes that are meant change, and no others."""

from __future__ import annotations

import json
import sys

import pytest

from tests.helpers import command  # noqa: F401

BROKEN, MENDED = "mean()", "mean(-1, keepdim=True)"

MODULE = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean() + self.eps)
        return self.weight * x.to(dtype)
"""


def forward(body: str, head: str = "def forward(self, x):", before: str = "", within: str = "") -> str:
    """The module with another forward; `before` it stand lines of the file, `within` it such of the class."""
    start = MODULE[: MODULE.index("    def forward")]
    start = start.replace("\n\nclass", f"\n{before}\n\nclass") if before else start
    lines = "".join(f"        {line}\n" if line else "\n" for line in body.split("\n"))
    return f"{start}{within}    {head}\n{lines}"


ROOT = "torch.rsqrt(x.float().pow(2).mean() + self.eps)"
LAST = "return self.weight * (x.float() * r).to(x.dtype)"

PYTHON: dict[str, str] = {
    "as it is": MODULE,
    "no line end at the end": MODULE.rstrip("\n"),
    "many line ends at the end": MODULE + "\n\n\n",
    "white space at the ends of lines": MODULE.replace("x = x.float()", "x = x.float()   ").replace("\n\n", "\n   \n"),
    "tabs": MODULE.replace("    ", "\t"),
    "form feeds": MODULE.replace("\n\nclass", "\n\x0c\nclass").replace("    def forward", "\x0c\n    def forward"),
    "a backslash in the expression": forward(
        "r = torch.rsqrt(x.float().pow(2) \\\n    .mean() + self.eps)\n" + LAST,
    ),
    "a backslash after the equals sign": forward("r = \\\n    " + ROOT + "\n" + LAST),
    "a call over several lines": forward(
        "r = torch.rsqrt(\n    x.float()\n    .pow(2)  # the square\n    .mean()  # mean\n    + self.eps\n)\n" + LAST
    ),
    "parentheses in plenty": forward("r = ((torch.rsqrt((((x.float().pow(2)).mean()) + (self.eps)))))\n" + LAST),
    "odd spaces": forward("r  =  torch . rsqrt( x.float( ) .pow( 2 ).mean()+self.eps )\n" + LAST),
    "several statements on a line": forward(f"dtype = x.dtype; r = {ROOT}; {LAST}"),
    "the body on the line of the def": MODULE[: MODULE.index("    def forward")]
    + "    def forward(self, x): return self.weight * (x.float() * "
    + ROOT
    + ").to(x.dtype)\n",
    "letters of many bytes on the line": forward("ß, 中 = 'ü😀', 'é'; r = " + ROOT + "  # größer\n" + LAST),
    "an f-string before it": forward("name = f\"{'a' + str(x.dim())!r:>{10}} {{}}\"; r = " + ROOT + "\n" + LAST),
    "a docstring that looks the same": forward(f'"""x * {ROOT}"""\nr = {ROOT}\n{LAST}').replace(
        f'"""x * {ROOT}"""', '"""x * torch.rsqrt(x.pow(2).mean( ) + eps)"""'
    ),
    "a string of several lines": forward(f'"""One\n\n  two\\\nthree\n"""\nr = {ROOT}\n{LAST}'),
    "type comments": forward(
        f"# type: (torch.Tensor) -> torch.Tensor\nr = {ROOT}  # type: torch.Tensor\n{LAST}  # type: ignore"
    ),
    "annotations": forward(f"r: 'torch.Tensor' = {ROOT}\n{LAST}", "def forward(self, x: 'torch.Tensor') -> 'Tensor':"),
    "decorators": forward(
        f"r = {ROOT}\n{LAST}", "@torch.jit.export\n    @marked(1, key=(2, 3))\n    def forward(self, x):"
    ),
    "an async forward": forward(f"r = {ROOT}\n{LAST}", "async def forward(self, x):"),
    "a walrus": forward(f"return self.weight * (x.float() * (r := {ROOT})).to(x.dtype)"),
    "a match statement": forward(
        f"match x.dim():\n    case 3 | 2:\n        r = {ROOT}\n        {LAST}\n    case _:\n        raise ValueError"
    ),
    "a match of patterns beside it": forward(
        f"r = {ROOT}\n{LAST}",
        before="\ndef kind(v):\n    match v:\n        case {'a': [1, *rest]} if rest:\n            return v\n",
    ),
    "a with statement in parentheses": forward(
        f"with (torch.autocast('cpu', enabled=False), open_or_not()):\n    r = {ROOT}\n{LAST}"
    ),
    "try and finally": forward(f"try:\n    r = {ROOT}\nfinally:\n    pass\n{LAST}"),
    "star arguments and a lambda beside it": forward(
        f"r = {ROOT}\n{LAST}", within="    key = staticmethod(lambda *a, k=1, **m: (*a, m))\n\n"
    ),
    "a conditional import": forward(
        f"r = {ROOT}\n{LAST}", before="try:\n    import apex\nexcept ImportError:\n    apex = None\n"
    ),
    "a shebang and a coding line": "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + MODULE,
}

GENERIC = MODULE.replace("class RMSNorm(nn.Module)", "class RMSNorm[T](nn.Module)")


def fixed(text: str) -> str:
    assert text.count(BROKEN) == 1
    return text.replace(BROKEN, MENDED)


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def encoded(head: str, encoding: str) -> tuple[bytes, bytes]:
    return (head + MODULE).encode(encoding), (head + fixed(MODULE)).encode(encoding)


FILES: dict[str, tuple[bytes, bytes]] = {
    **{name: (text.encode(), fixed(text).encode()) for name, text in PYTHON.items()},
    **{f"{name}, in CR LF": (crlf(text), crlf(fixed(text))) for name, text in PYTHON.items()},
    "lines that end in CR alone": tuple(t.replace("\n", "\r").encode() for t in (MODULE, fixed(MODULE))),
    "a byte order mark": (b"\xef\xbb\xbf" + MODULE.encode(), b"\xef\xbb\xbf" + fixed(MODULE).encode()),
    "latin-1": encoded("# coding: latin-1\n# größer\n", "latin-1"),
    "cp1252": encoded("# vim: fileencoding=cp1252\n# 5 €\n", "cp1252"),
    "mixed line ends": (
        MODULE.replace("\n", "\r\n", 5).encode(),
        fixed(MODULE).replace("\n", "\r\n", 5).encode(),
    ),
}

KEPT: dict[str, bytes] = {
    "a noqa comment": MODULE.replace("+ self.eps)", "+ self.eps)  # noqa: NRM101").encode(),
    "a comment that skips the file": ("# normlint: skip-file\n" + MODULE).encode(),
    "a file flake8 is not to read": ("# flake8: noqa\n" + MODULE).encode(),
    "a syntax error below": (MODULE + "def (\n").encode(),
    "a sound norm": fixed(MODULE).encode(),
    "no norm": b"x = 1\r\n\r\n\tpass_ = 2",
    "nothing": b"",
    "bytes that are no text": b"\xff\xfe" + MODULE.encode(),
}


@pytest.fixture(autouse=True)
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixes are not tried on numbers: each run would start a process that imports torch."""
    monkeypatch.setattr("normlint.faces.fixing.find_spec", lambda _: None)


@pytest.mark.parametrize("name", KEPT)
def test_a_file_that_is_not_to_be_fixed_keeps_its_bytes(name: str, command, tmp_path) -> None:  # noqa: F811
    path = tmp_path / "norm.py"
    path.write_bytes(KEPT[name])
    command("--fix", "--unsafe-fixes", "norm.py")
    assert path.read_bytes() == KEPT[name]


@pytest.mark.parametrize("name", FILES)
def test_only_the_bytes_of_the_edit_change(name: str, command, tmp_path) -> None:  # noqa: F811
    before, after = FILES[name]
    path = tmp_path / "norm.py"
    path.write_bytes(before)
    first = command("--fix", "norm.py")
    assert path.read_bytes() == after
    assert first.status == 0, first.out + first.err
    assert command("--fix", "norm.py").status == 0
    assert path.read_bytes() == after


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a class with type parameters needs 3.12")
def test_type_parameters(command, tmp_path) -> None:  # noqa: F811
    path = tmp_path / "norm.py"
    path.write_text(GENERIC)
    command("--fix", "norm.py")
    assert path.read_text() == fixed(GENERIC)


# --- notebooks and pages ---

OUTPUT = {
    "output_type": "stream",
    "name": "stdout",
    "text": ["x.pow(2).mean() + eps\n", "größer 😀\n"],
}


def notebook(source: object) -> dict[str, object]:
    """One cell of text, one with magic, one with the norm and what it printed."""
    return {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# rms: `x.pow(2).mean()`, größer 😀 </script>"]},
            {
                "cell_type": "code",
                "execution_count": 1,
                "metadata": {},
                "outputs": [],
                "source": ["%pip list\n", "!ls"],
            },
            {
                "cell_type": "code",
                "execution_count": 2,
                "id": "a1",
                "metadata": {"tags": ["zebra", "apple"], "collapsed": False},
                "outputs": [OUTPUT],
                "source": source,
            },
        ],
        "metadata": {"language_info": {"version": "3.11.0", "name": "python"}, "kernelspec": {"name": "python3"}},
        "nbformat_minor": 5,
        "nbformat": 4,
    }


def as_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


STYLES: dict[str, dict[str, object]] = {
    "indented by one": {"indent": 1, "ensure_ascii": False},
    "indented by two": {"indent": 2, "ensure_ascii": False},
    "indented by a tab": {"indent": "\t", "ensure_ascii": False},
    "on one line": {},
    "without spaces": {"separators": (",", ":"), "ensure_ascii": False},
    "escaped to ASCII": {"indent": 1, "ensure_ascii": True},
    "with sorted keys": {"indent": 1, "sort_keys": True, "ensure_ascii": False},
}
COMMENTED = MODULE.replace("dtype = x.dtype", 'dtype = x.dtype  # größer 😀 "quoted" \\ \t end')


@pytest.mark.parametrize("end", ["", "\n", "\r\n"], ids=["no end", "LF at the end", "CR LF at the end"])
@pytest.mark.parametrize("sources", [as_lines, str], ids=["lines", "one string"])
@pytest.mark.parametrize("style", STYLES)
def test_a_notebook_changes_in_its_source_alone(style, sources, end, command, tmp_path) -> None:  # noqa: F811
    before, after = (json.dumps(notebook(sources(t)), **STYLES[style]) + end for t in (COMMENTED, fixed(COMMENTED)))
    path = tmp_path / "norm.ipynb"
    path.write_bytes(before.encode())
    assert command("--fix", "norm.ipynb").status == 0
    assert path.read_bytes().decode() == after


def test_escapes_of_a_notebook_are_kept_as_they_were_chosen(command, tmp_path) -> None:  # noqa: F811
    text = json.dumps(notebook(as_lines(COMMENTED)), indent=1, ensure_ascii=False)
    text = text.replace("größer", "gr\\u00F6\\u00dfer").replace("/script", "\\/script")
    path = tmp_path / "norm.ipynb"
    path.write_text(text, "utf-8")
    command("--fix", "norm.ipynb")
    assert path.read_text("utf-8") == text.replace("x.pow(2).mean() + self.eps", f"x.pow(2).{MENDED} + self.eps")


PAGES: dict[str, str] = {
    "a fence": "# Norms\n\n```python\n{}```\n\nThat was `x.pow(2).mean()`.\n",
    "a fence of tildes": "~~~py title=a\n{}~~~\n",
    "no end of the fence": "text\n\n```python\n{}",
    "a fence of five": "`````python\n{}`````\n",
    "a wrong one in another language": "```text\nx.pow(2).mean( )\n```\n\n```python\n{}```\n",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CR LF"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_changes_in_its_block_alone(page: str, newline: str, command, tmp_path) -> None:  # noqa: F811
    before, after = (PAGES[page].format(t).replace("\n", newline).encode() for t in (MODULE, fixed(MODULE)))
    path = tmp_path / "norm.md"
    path.write_bytes(before)
    assert command("--fix", "norm.md").status == 0
    assert path.read_bytes() == after


INDENTS = {
    "a list": ("- ", "  "),
    "a numbered list": ("1. ", "   "),
    "a wide one": ("1. ", "\t"),
    "a quotation": ("> ", "> "),
}


@pytest.mark.parametrize("place", INDENTS)
def test_a_block_in_a_list_or_quotation_keeps_its_indent(place: str, command, tmp_path) -> None:  # noqa: F811
    first, indent = INDENTS[place]
    block = "".join(f"{indent}{line}\n" for line in f"```python\n{MODULE}```".splitlines())
    text = f"{first}a norm\n{indent.rstrip()}\n{block}"
    path = tmp_path / "norm.md"
    path.write_text(text, "utf-8")
    assert command("--fix", "norm.md").status == 0
    assert path.read_text("utf-8") == fixed(text)
