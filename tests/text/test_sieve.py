"""The sieve lets every norm through, whatever its spelling."""

from __future__ import annotations

import json

import pytest

from normlint.engine.linter import check_bytes
from normlint.engine.selection import Demand
from normlint.text.marks import may_hold_norm

NORMS = (
    "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
    "x / torch.sqrt((x * x).sum(-1, True) / d + eps)",
    "g * x / (x.norm(dim=-1, keepdim=True) * d ** -0.5 + eps)",
    "F.normalize(x, dim=-1) * d ** 0.5",
    "x * (ms + eps) ** -0.5 if (ms := mean(x * x)) else 0",
    "(x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps).sqrt()",
    "(x - mu) / x.std(-1)",
    "torch.var_mean(x)[0].reciprocal()",
    "einops.reduce(x ** 2, 'b d -> b 1', 'mean')",
    "x / torch.einsum('bd,bd->b', x, x) ** 0.5",
    "x * torch.exp(-0.5 * torch.log(x.square().mean(-1)))",
    "x / torch.linalg.vector_norm(x)",
    "x / x.square().mean(-1, True)",
    "torch.div(x, np.average(abs(x)))",
    "m = torch.mean\ny = x / m(x * x)",
    'y = x / getattr(x, "std")(-1)',
    "from torch import mean as m\ny = x / m(x * x)",
    "x / np.sqrt(np.average(x * x))",
    "x / torch.linalg.vecdot(x, x).sqrt()",
    "x / math.sqrt (x.nansum (x * x))",
    "ms = x.pow(2).mean(-1)\ny = x * ms**-0.5",
    "ms = (x * x).mean(-1)\ny = x * ms ** power",
    "σ = (x * x).mean(-1)\ny = x * σ**-0.5",
    "y = x / torch.sqrt(\nmean(x * x) + eps)",
)


@pytest.mark.parametrize("text", NORMS)
def test_a_norm_passes(text: str) -> None:
    assert may_hold_norm(text)


WITHOUT = {
    "": "nothing",
    "x = 1": "neither",
    "@decorator\ndef f(): pass": "a decorator",
    "a / b": "a division alone",
    "(x - mu) / (var + eps).sqrt()": "a root without a reduction",
    "means = sqrt(x)": "a name that begins like a reduction",
    "demean(x).sqrt()": "a name that ends like a reduction",
    "x.mean  # sqrt(x)": "a reduction without its bracket",
}


@pytest.mark.parametrize("text", WITHOUT, ids=WITHOUT.values())
def test_a_text_without_a_reduction_does_not(text: str) -> None:
    assert not may_hold_norm(text)


OWN = {
    "the text defines it": ("def norm(self, x): ...\nself.norm(x)", True),
    "the text makes it a function": ("self.norm = lambda x: x\nself.norm(x)", True),
    "the text takes it from a variable": ("self.norm=norm\nself.norm(x)", True),
    "another reduction stands beside it": ("self.norm(x) / x.norm(-1)", True),
    "the text doesn't say what it is": ("self.norm(x) * d ** -0.5", False),
    "it is a layer": ("self.norm = nn.LayerNorm(d)\nself.norm(x) * d ** -0.5", False),
    "it is a layer of a class": ("self.norm = RMSNorm(d)\nself.norm(x) * d ** -0.5", False),
    "it is compared": ("self.norm == y\nself.norm(x) * d ** -0.5", False),
    "another name is defined": ("def normed(self, x): ...\nself.norm(x) * d ** -0.5", False),
}


@pytest.mark.parametrize(("text", "passes"), OWN.values(), ids=OWN)
def test_a_method_of_self_is_a_reduction_or_none_where(text: str, passes: bool) -> None:
    assert may_hold_norm(text) == passes


NORM = "import torch\ny = x * x.pow(2).mean(-1, keepdim=True).rsqrt()\n"
MEAN = """\
import torch
from torch import mean
def f(x, eps):
    return x * (
{}mean(x * x, -1, keepdim=True) + eps).rsqrt()
"""


def notebook(source: str | list[str], indent: int | None = None) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source}]}, indent=indent)


NOTEBOOKS = {
    "a norm in one string": notebook(NORM),
    "a norm in lines": notebook(NORM.splitlines(keepends=True), 1),
    "a norm after blank space": "\n  " + notebook(NORM),
    "a class around one of torch's norms": notebook("class N(nn.Module):\n    norm = nn.LayerNorm(8)\n"),
    "a byte order mark": "\ufeff" + notebook(NORM),
    "a reduction that begins a line": notebook(MEAN.format("")),
    "a reduction after blanks": notebook(MEAN.format("        ")),
    "a reduction after a tab": notebook(MEAN.format("\t")),
    "a reduction after CR LF": notebook(MEAN.format("").replace("\n", "\r\n")),
    "an escaped letter in its reduction": notebook(NORM).replace("mean", r"m\u0065an"),
    "an escaped bracket": notebook(NORM).replace("mean(", r"mean\u0028"),
    "an escaped letter in its root": notebook(NORM).replace("rsqrt", r"rsq\u0072t").replace(".pow", r".p\u006fw"),
    "a letter beyond ASCII": notebook("σ = (x * x).mean(-1)\ny = x * σ**-0.5\n"),
}


@pytest.mark.parametrize("text", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_notebook_passes_with(text: str) -> None:
    assert may_hold_norm(text)


@pytest.mark.parametrize("source", ["x = 1\n", "demean(x).sqrt()\n", ["x\n", "a.sqrt()\n"]])
def test_a_notebook_without_a_norm_does_not(source: str | list[str]) -> None:
    assert not may_hold_norm(notebook(source))


IN_NOTEBOOKS = {
    "a string": notebook(NORM),
    "an escaped bracket": notebook(NORM).replace("mean(", r"mean\u0028"),
    "an escaped letter": notebook(NORM).replace("mean", r"m\u0065an"),
    "a tab before its reduction": notebook(MEAN.format("\t")),
    "blanks before its reduction": notebook(MEAN.format("        ")),
}


@pytest.mark.parametrize("text", IN_NOTEBOOKS.values(), ids=IN_NOTEBOOKS)
def test_a_norm_is_found_in_a_notebook_with(text: str) -> None:
    assert len(check_bytes("a.ipynb", text.encode(), Demand()).norms) == 1


def test_a_norm_is_found_by_a_root_of_a_greek_letter() -> None:
    text = "import torch\ndef f(x):\n    σ = (x * x).mean(-1, keepdim=True)\n    return x * σ**-0.5\n"
    assert len(check_bytes("a.py", text.encode(), Demand()).norms) == 1


def test_a_block_without_the_marks_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def analysis(name: str) -> object:
        def told(text: str, **_: object) -> object:
            seen.append((name, text))
            raise SyntaxError

        return told

    monkeypatch.setattr("normlint.rules.blocks.analyse_blocks", analysis("analyse_blocks"))
    monkeypatch.setattr("normlint.rules.analyse", analysis("analyse"))
    check_bytes("a.md", b"```py\nx = 1\n```\n```py\nx / x.norm()\n```\n", Demand())
    assert seen == [("analyse_blocks", "x / x.norm()\n"), ("analyse", "x / x.norm()\n")]
