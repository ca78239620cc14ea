"""How the rest of a file calls a norm: the rank that its callers tell, and what an example says of its last axis."""

from __future__ import annotations

import pytest

from normlint.engine.linter import check_bytes
from normlint.engine.selection import Demand, Selection
from normlint.norm.uses import uses_of
from normlint.rules import analyse
from tests.evaluate.spines import table

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
GAIN = """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + 1e-6)).type_as(x) * self.weight
"""
PLAIN = """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5

    def forward(self, x):
        return F.normalize(x, dim=-2, eps=1e-3) * self.scale
"""
DEFAULT = """
class Project(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, 64)

    def forward(self, x):
        return F.normalize(self.fc(x), eps=1e-3)
"""


def caller(statement: str, name: str = "RMSNorm") -> str:
    """A block that makes the norm and calls it."""
    return f"""
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = {name}(dim)

    def forward(self, x):
        {statement}
"""


def found_in(text: str) -> set[str]:
    """The codes of all findings; a first look and the whole analysis say the same."""
    looked = check_bytes("a.py", text.encode(), Demand(Selection(select=("ALL",)), fixes=False)).findings
    whole = {finding.code for finding in analyse(text).findings}
    assert {finding.code for finding in looked} == whole
    return whole


@pytest.mark.parametrize(
    "use",
    table(
        ("unpacked", caller("b, t, d = x.shape; return self.norm(x)")),
        ("transposed", caller("return self.norm(x.transpose(1, 2).contiguous())")),
        ("made at the top", "norm = RMSNorm(8)\nx = torch.randn(2, 5, 8)\nprint(norm(x))\n"),
        ("made in a function", "def main():\n    x = torch.randn(2, 5, 8)\n    return RMSNorm(8)(x)\n"),
        ("in an example", '"""\n>>> x = torch.randn(2, 5, 8)\n>>> RMSNorm(8)(x).shape\ntorch.Size([2, 5, 8])\n"""\n'),
        ("by two callers", caller("b, t, d = x.shape; return self.norm(x)") * 2),
        ("beside one of any rank", caller("b, t, d = x.shape; return self.norm(self.norm(x) + x.sum())")),
    ),
)
def test_callers_tell_that_axis_1_is_not_the_last(use: str) -> None:
    assert "NRM103" not in found_in(HEAD + GAIN)
    assert "NRM103" in found_in(HEAD + GAIN + use)


@pytest.mark.parametrize(
    "use",
    table(
        ("a matrix", caller("n, d = x.shape; return self.norm(x)")),
        ("anything", caller("return self.norm(x)")),
        ("a matrix at the top", "norm = RMSNorm(8)\nprint(norm(torch.randn(2, 8)))\n"),
        ("an example of a matrix", '"""\n>>> RMSNorm(8)(torch.randn(2, 8))\n"""\n'),
        ("an example that is no Python", '"""\n>>> x = torch.randn(2, 5, 8)\n>>> RMSNorm(8)(x) -> y z\n"""\n'),
        ("another class", caller("b, t, d = x.shape; return self.norm(x)", "nn.Identity")),
    ),
)
def test_callers_that_tell_nothing_leave_it_open(use: str) -> None:
    assert "NRM103" not in found_in(HEAD + GAIN + use)


@pytest.mark.parametrize(
    ("made", "wrong"),
    table(
        ("the last one", "x = torch.randn(2, 5, 8)\nprint(RMSNorm(8)(x))\n", True),
        ("another one", "x = torch.randn(2, 8, 5)\nprint(RMSNorm(8)(x))\n", False),
        ("it is not there", "x = torch.randn(2, 5, 8)\nprint(RMSNorm(16)(x))\n", False),
    ),
)
def test_the_features_are_where_the_number_of_the_constructor_is(made: str, wrong: bool) -> None:
    assert ("NRM103" in found_in(HEAD + PLAIN + made)) == wrong


@pytest.mark.parametrize(
    ("use", "wrong"),
    table(
        ("tokens", caller("b, t, d = x.shape; return self.norm(x)", "Project"), True),
        ("rows", caller("n, d = x.shape; return self.norm(x)", "Project"), False),
        ("anything", caller("return self.norm(x)", "Project"), False),
    ),
)
def test_the_default_axis_of_normalize_is_that_of_the_tokens(use: str, wrong: bool) -> None:
    assert ("NRM106" in found_in(HEAD + DEFAULT + use)) == wrong


def test_a_gain_along_the_reduced_axis_is_right_whoever_calls() -> None:
    channels = GAIN.replace("* self.weight", "* self.weight[:, None]")
    assert "NRM103" not in found_in(HEAD + channels + caller("b, c, t = x.shape; return self.norm(x)"))


def test_a_flag_makes_it_more_than_one_norm() -> None:
    flagged = GAIN.replace("dim):", "dim, first=False):").replace(
        "torch.ones(dim)", "torch.ones((dim, 1) if first else dim)"
    )
    assert "NRM103" not in found_in(HEAD + flagged + caller("b, c, t = x.shape; return self.norm(x)"))


def test_calls_that_disagree_tell_the_fewest_axes() -> None:
    image = caller("b, c, h, w = x.shape; return self.norm(x)").replace("Block", "Image")
    [(name, use)] = uses_of(HEAD + GAIN + caller("b, t, d = x.shape; return self.norm(x)") + image, {"RMSNorm"})
    assert (name, use.rank, use.least) == ("RMSNorm", None, 3)


LAYER = """
class LayerNorm(nn.Module):
    def forward(self, x):
        \"\"\"x: {}\"\"\"
        return F.layer_norm(x, x.shape[{}:])
"""


@pytest.mark.parametrize(
    ("shape", "start", "wrong"),
    table(
        ("tokens and features", "(batch_size, num_items, num_channels)", 1, True),
        ("features", "(batch_size, num_items, num_channels)", 2, False),
        ("heads and their features", "(batch_size, num_heads, head_dim)", 1, False),
        ("groups and their features", "(batch_size, num_groups, dim)", 1, False),
        ("channels first", "(batch_size, num_channels, length)", 1, False),
        ("an image", "(batch, height, width, channels)", 1, False),
    ),
)
def test_a_layer_norm_over_tokens_and_features(shape: str, start: int, wrong: bool) -> None:
    assert ("NRM103" in found_in(HEAD + LAYER.format(shape, start))) == wrong
