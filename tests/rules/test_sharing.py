"""A norm that stands at several layers, which share its gain."""

from __future__ import annotations

import pytest

from normlint.rules.callers import called
from normlint.text.making import may_make

BLOCK = """\
from torch import nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 8)
        self.mlp = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList([nn.Linear(dim, dim)])

    def forward(self, x, context):
"""
PRE_NORM = ("x = x + self.attention(self.norm(x))", "return x + self.mlp(self.norm(x))")
POST_NORM = ("x = self.norm(x + self.attention(x))", "return self.norm(x + self.mlp(x))")


def found(lines: tuple[str, ...], *changes: tuple[str, str]) -> list[str]:
    text = BLOCK + "".join(f"        {line}\n" for line in lines) + "        return self.norm2(x)\n"
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    several = called(text, "", ("NRM713",).__contains__).found if may_make(text) else ()
    return [f"{finding.severity}: {finding.message}" for finding, _ in several]


SILENT = {
    "without a gain": (
        PRE_NORM,
        ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim, elementwise_affine=False)"),
    ),
    "an instance norm, which has no gain unless asked": (
        PRE_NORM,
        ("self.norm = nn.LayerNorm", "self.norm = nn.InstanceNorm1d"),
    ),
    "without a gain, by its place": (
        PRE_NORM,
        ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim, 1e-6, False)"),
    ),
    "made with unknown arguments": (PRE_NORM, ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim, **kw)")),
    "of an unknown class": (PRE_NORM, ("self.norm = nn.LayerNorm(dim)", "self.norm = LayerNorm(dim)")),
    "frozen": (PRE_NORM, ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim).requires_grad_(False)")),
    "said to be shared": (
        PRE_NORM,
        ("        self.norm =", "        # shared by both, so one norm\n        self.norm ="),
    ),
    "said to be shared in the docstring": (
        PRE_NORM,
        ("class Block(nn.Module):", 'class Block(nn.Module):\n    """One norm serves both."""'),
    ),
    "at one layer that is called again, behind another": (
        ("x = self.head(x)", "x = x + self.mlp(self.norm(x))", "x = x + self.mlp(self.norm(x))"),
    ),
    "at one layer that is called again, in post-norm behind another": (
        ("x = self.head(x)", "x = self.norm(x + self.mlp(x))", "x = self.norm(x + self.mlp(x))"),
    ),
    "at one head, whose output is used again": (
        ("a = self.head(self.norm(x))", "x = self.mlp(x + a)", "return self.head(self.norm(x))"),
    ),
    "in branches that return": (
        (
            "if self.fast:",
            "    x = self.mlp(self.norm(x))",
            "    if self.raw:",
            "        return x",
            "    else:",
            "        return self.head(x)",
            "x = self.attention(self.norm(x))",
        ),
    ),
    "a gain by a flag": (
        PRE_NORM,
        ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim, elementwise_affine=dim > 1)"),
    ),
    "the layer is called again as well": (
        ("x = self.norm(x + self.mlp(x))", "x = self.norm(x + self.mlp(x))", "x = self.head(x)"),
    ),
    "the layer is called again as well, in pre-norm": (
        ("x = x + self.mlp(self.norm(x))", "x = x + self.mlp(self.norm(x))"),
    ),
    "queries and keys": (("q, k = self.norm(x), self.norm(context)", "x = self.attention(q, k)"),),
    "two inputs, each with a layer": (
        ("a = self.attention(self.norm(x))", "b = self.mlp(self.norm(context))", "x = a + b"),
    ),
    "before a layer in pre-norm, behind it in post-norm": (
        (
            "if self.first:",
            "    x = self.norm(x)",
            "x = x + self.mlp(x)",
            "if not self.first:",
            "    x = self.norm(x)",
            "x = self.head(x)",
        ),
    ),
    "either of two, by a condition in an expression": (
        (
            "h = self.norm(x) if self.first else x",
            "x = x + self.mlp(h)",
            "x = x if self.first else self.norm(x)",
            "x = self.head(x)",
        ),
    ),
    "a branch that returns": (
        ("if self.first:", "    return x + self.mlp(self.norm(x))", "x = self.norm(x + self.attention(x))"),
    ),
    "an activation between them": (("x = self.norm(x)", "x = self.norm(self.dropout(x))", "x = self.head(x)"),),
    "at the output, for each stage": (
        (
            "outs = []",
            "for layer in self.layers:",
            "    x = layer(x)",
            "    outs.append(self.norm(x))",
            "outs.append(self.norm(x))",
        ),
    ),
    "in a loop, behind the last layer": (
        (
            "for i, layer in enumerate(self.layers):",
            "    x = x + layer(x)",
            "    if i == 3:",
            "        x = self.norm(x)",
        ),
    ),
    "in a loop, for a head of each": (
        ("outs = []", "for layer in self.layers:", "    x = x + layer(x)", "    outs.append(self.head(self.norm(x)))"),
    ),
    "in a loop, beside its layers": (
        ("for layer in self.layers:", "    context = self.norm(context)", "    x = x + layer(x)"),
    ),
    "in a loop, for what a head of the module makes of each": (
        (
            "mask = context",
            "for layer in self.layers:",
            "    x = layer(x, mask)",
            "    mask = mask + self.head(self.norm(x))",
        ),
    ),
    "in a loop that counts": (("for i in range(8):", "    x = self.norm(x + self.mlp(x))"),),
    "behind a loop": (("for layer in self.layers:", "    x = x + layer(x)", "x = self.norm(x)"),),
    "a norm of its own for each layer": (PRE_NORM, ("self.mlp(self.norm(x))", "self.mlp(self.norm2(x))")),
    "another of the same kind is never applied": (  # NRM711 says so
        PRE_NORM,
        ("return self.norm2(x)", "return x"),
    ),
}
FOUND = {
    "pre-norm": (PRE_NORM,),
    "post-norm": (POST_NORM,),
    "added in place": (("x += self.attention(self.norm(x))", "x += self.mlp(self.norm(x))"),),
    "an RMSNorm": (PRE_NORM, ("self.norm = nn.LayerNorm", "self.norm = nn.RMSNorm")),
    "a layer of several that ends in dropout": (
        PRE_NORM, ("self.mlp = nn.Linear(dim, dim)", "self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.Dropout())")
    ),
    "without a bias": (PRE_NORM, ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim, bias=False)")),
    "a gain by keyword": (
        PRE_NORM, ("self.norm = nn.LayerNorm(dim)", "self.norm = nn.InstanceNorm1d(dim, affine=True)")),
    "dropout on the branches": (
        ("x = x + self.dropout(self.attention(self.norm(x)))", "x = x + self.dropout(self.mlp(self.norm(x)))"),
    ),
    "the branch has a name, and several results": (
        ("h, _ = self.attention(x, x, x)", "x = self.norm(x + h)", "h = self.mlp(x)", "x = self.norm(x + h)"),
    ),
    "in a row": (("x = self.norm(self.attention(x))", "x = self.norm(self.mlp(x))"),),
    "layers of a loop": (
        ("for attn, mlp in self.layers:", "    x = x + attn(self.norm(x))", "    x = x + mlp(self.norm(x))"),
    ),
    "the second one in a branch": (
        ("x = x + self.attention(self.norm(x))", "if self.wide:", "    x = x + self.mlp(self.norm(x))"),
    ),
    "a branch between them": (
        (
            "h = self.norm(x)", "if self.wide:", "    h = self.attention(h)", "else:", "    h = self.attention(h, h)",
            "x = x + h", "x = x + self.mlp(self.norm(x))",
        ),
    ),
    "under a context manager": (
        ("with torch.autocast('cuda'):", "    x = x + self.attention(self.norm(x))", "x = x + self.mlp(self.norm(x))"),
    ),
    "three times": ((PRE_NORM[0], "x = x + self.mlp(self.norm(x))", "x = x + self.head(self.norm(x))"),),
}  # fmt: skip


EACH = {
    "in pre-norm": ("for layer in self.layers:", "    x = x + layer(self.norm(x))"),
    "in post-norm": ("for layer in self.layers:", "    x = x + layer(x)", "    x = self.norm(x)"),
    "at once": ("for layer in self.layers:", "    x = self.norm(x + layer(x))"),
    "with a name behind it": ("for layer in self.layers:", "    h = x + layer(x)", "    x = self.norm(h)"),
    "with a name": ("for layer in self.layers:", "    h = self.norm(x)", "    h = layer(h)", "    x = x + h"),
    "for two layers at once": ("for a, b in self.layers:", "    x = self.norm(x)", "    x = x + a(x) + b(x)"),
    "by an index": ("for i in range(4):", "    x = x + self.layers[i](self.norm(x))"),
    "where a setting asks for it": (
        "for layer in self.layers:", "    x = layer(x)[0]", "    if self.aux:", "        x = self.norm(x)",
        "        outs += (x,)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lines", EACH.values(), ids=EACH)
def test_what_a_loop_hands_on_is_normalised(lines: tuple[str, ...]) -> None:
    assert found(lines) == ["review: `norm` is applied at each layer of the loop, which share its gain"]


def test_in_a_loop_and_behind_it_again_is_no_review() -> None:
    assert found((*EACH["where a setting asks for it"], "x = self.norm(x)"))[0][:7] == "warning"


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_ignored_is(case: tuple) -> None:
    lines, *changes = case
    assert not found(lines, *changes)


@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
def test_reported_once_is(case: tuple) -> None:
    lines, *changes = case
    assert found(lines, *changes) == ["warning: `norm` is applied at several layers, which share its gain"]
