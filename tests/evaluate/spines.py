"""Texts around one expression, and the spines that are read from them."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from normlint.norm.norm import Computation, Norm
from normlint.rules import analyse

IMPORTS = """\
import math
import einops
import torch
import torch.nn.functional as F
from torch import nn
"""
ROOT_OF_MEAN = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)"
RMS = "mean[-1] keepdim | eps → rsqrt → input(x) → scale(weight)"
PLAIN = "mean[-1] keepdim | eps → rsqrt → input(x)"


def function(body: str, parameters: str = "x, weight, eps=1e-6", *, before: str = "", name: str = "rms_norm") -> str:
    """A file with one function."""
    return f"{IMPORTS}{before}\n\ndef {name}({parameters}):\n{indent(body, '    ')}\n"


def module(
    init: str = "self.weight = nn.Parameter(torch.ones(dim))",
    forward: str = f"return {ROOT_OF_MEAN.replace('eps', 'self.eps')} * self.weight",
    *,
    parameters: str = "dim, eps=1e-6",
    rest: str = "",
    before: str = "",
) -> str:
    """A file with one class."""
    return f"""{IMPORTS}{before}

class RMSNorm(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
        self.eps = eps
{indent(init, " " * 8)}

    def forward(self, x):
{indent(forward, " " * 8)}

{indent(rest, "    ")}
"""


def norms(text: str, *, snippet: bool = False) -> tuple[Norm, ...]:
    return analyse(text, snippet=snippet).norms


def spines(text: str, *, snippet: bool = False) -> list[str]:
    return [norm.spine for norm in norms(text, snippet=snippet)]


def only(text: str) -> Norm:
    """The one norm of a text."""
    (norm,) = norms(text)
    return norm


def main(text: str) -> Computation:
    return only(text).main


def table(*rows: tuple[Any, ...]) -> list[Any]:
    """Rows whose first item is the sentence that names them."""
    return [pytest.param(*row[1:], id=row[0]) for row in rows]
