"""Modules and functions around a few lines, and what the repairs of one rule make of them."""

from __future__ import annotations

from normlint.fixes import analyse
from normlint.text.finding import Applicability
from tests.fixes.fixing import fix_text, only

SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE
FixedText = tuple[tuple[str, Applicability], str, tuple[tuple[str, str], ...]]
NORM = "h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)"
RETURN = "return h.type_as(x) * self.weight"
HEAD = """import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
"""


def made(*lines: str, forward: tuple[str, ...] = (), head: str = HEAD) -> str:
    """A module whose constructor ends in these lines."""
    body = forward or ("h = x.float()", NORM, RETURN)
    init = "".join(f"        {line}\n" for line in lines or ("self.weight = nn.Parameter(torch.ones(dim))",))
    rest = "".join(f"        {line}".rstrip() + "\n" for line in body)
    return f"{head}{init}\n    def forward(self, x):\n{rest}"


def forward(*lines: str) -> str:
    return made(forward=lines)


def function(*lines: str, name: str = "rms_norm", more: str = "") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"import torch\n\n\ndef {name}(x, weight, eps=1e-6{more}):\n{body}"


SCALED = "torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)"


def stays(code: str, text: str) -> None:
    """The finding is there, and no edit is made."""
    assert code in {finding.code for finding in analyse(text).findings}
    assert fix_text(text, only(code)).text == text


def is_fixed(case: FixedText) -> None:
    """Exactly these replacements are made, nothing is left, and a fix says how far it may be trusted."""
    (code, applicability), text, changes = case
    meant = text
    for before, after in changes:
        assert meant.count(before) == 1
        meant = meant.replace(before, after)
    fixed = fix_text(text, only(code))
    assert fixed.text == meant
    assert fixed.left == ()
    assert fixed.settled
    assert {one.fix.applicability for one in fixed.made} == {applicability}
