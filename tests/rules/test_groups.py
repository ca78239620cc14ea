"""Norms that take groups: what is never said, and what is."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from normlint.rules.blocks import analyse_blocks

GROUPED = """\
import torch
from torch import nn

class GatedRMSNorm(nn.Module):
    def __init__(self, dim, group_size=64, eps=1e-6):
        super().__init__()
        self.group_size = group_size
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
"""
STORED = "self.group_size = group_size"
WIDE = "h = x.float()"
BY_GROUP = "h = x.float().unflatten(-1, (-1, self.group_size))"
SILENT = {
    "the groups are read": GROUPED.replace(WIDE, BY_GROUP).replace("return h", "return h.flatten(-2)"),
    "one path reads them": GROUPED.replace(WIDE, f"{WIDE}\n        if self.group_size:\n            return other(x)"),
    "another method reads them": GROUPED + "\n    def split(self, x):\n        return x.chunk(self.group_size)\n",
    "the constructor refuses any": GROUPED.replace(STORED, f"assert group_size is None\n        {STORED}"),
    "the constructor works with them": GROUPED.replace(STORED, f"{STORED}\n        self.parts = dim // group_size"),
    "they are a number that nobody chooses": GROUPED.replace(STORED, "self.group_size = 64"),
    "a subclass may read them": GROUPED
    + "\nclass Mine(GatedRMSNorm):\n    def parts(self):\n        return self.group_size\n",
    "another class reads them off the norm": GROUPED
    + "\nclass Mixer(nn.Module):\n    def forward(self, x):\n        return x.chunk(self.norm.group_size, -1)\n",
    "a function asks for them by name": GROUPED
    + "\ndef parts(norm, x):\n    return x.chunk(getattr(norm, 'group_size', 1), -1)\n",
    "another constructor reads them": GROUPED
    + "\nclass Whole(nn.Module):\n    def __init__(self, norm):\n        self.parts = norm.group_size\n",
    "a base that isn't known may read them": "from .base import Quantized\n"
    + GROUPED.replace("(nn.Module)", "(Quantized)"),
    "a process group is no group of features": GROUPED.replace("group_size", "process_group"),
    "they are those of a quantisation": GROUPED.replace("group_size", "q_group_size"),
    "the class has another purpose": GROUPED.replace("GatedRMSNorm", "Scaler").replace(
        "* self.weight", "* self.weight + x"
    ),
}
FOUND = {
    "their size is stored": GROUPED,
    "their number is stored": GROUPED.replace("group_size", "num_groups"),
    "it is stored with a type": GROUPED.replace("group_size=64", "n_groups: int = 1").replace("group_size", "n_groups"),
    "the norm is centred": GROUPED.replace("RMSNorm", "LayerNorm").replace(
        WIDE, f"{WIDE} - x.float().mean(-1, keepdim=True)"
    ),
}


def codes(text: str) -> list[str]:
    whole, parts = analyse(text).findings, analyse_blocks(text).findings
    assert {finding.code for finding in whole} == {finding.code for finding in parts}
    return [finding.code for finding in whole if finding.code == "NRM107"]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_groups_where(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_groups_are_unused_where(text: str) -> None:
    assert codes(text) == ["NRM107"]
