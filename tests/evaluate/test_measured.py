"""What isn't followed is worked out on small numbers: they are torch's, and what they show is read."""

from __future__ import annotations

from typing import Any

import pytest

from normlint.evaluate.ops.arrays import Array
from normlint.evaluate.ops.executed import TABLE
from normlint.rules import analyse
from tests.evaluate.spines import table

NORM = """
import torch
import torch.nn.functional as F
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        sq = h.pow(2)
        mean = {mean}
        return (h * torch.rsqrt(mean + self.eps)).type_as(x) * self.weight
"""


def seen(mean: str) -> tuple[list[str], list[str]]:
    found = analyse(NORM.format(mean=mean))
    return [n.kind for n in found.norms], [f.code for f in found.findings if f.code < "NRM6"]


@pytest.mark.parametrize(
    "mean",
    table(
        ("a part of the features is not all of them", "sq[..., :64].mean(-1, keepdim=True) + sq.sum() * 0"),
        ("other elements are added", "torch.cat((sq, sq.amax(-1, True)), -1).mean(-1, keepdim=True)"),
        ("a trapezoid leaves out half of the ends", "torch.trapezoid(sq, dim=-1).unsqueeze(-1) / sq.size(-1)"),
        ("every other element counts", "sq[..., ::2].sum(-1, keepdim=True) / sq.size(-1) + sq.var()"),
        ("a ceiling for each element", "torch.where(sq < 10, sq, sq.new_ones(()) * 10).mean(-1, keepdim=True)"),
        ("a ceiling by the smaller one", "torch.minimum(sq, torch.full_like(sq, 10.0)).mean(-1, keepdim=True)"),
    ),
)
def test_what_is_nearly_a_mean_is_not_read_as_one(mean: str) -> None:
    assert seen(mean) == ([], [])


@pytest.mark.parametrize(
    "mean",
    table(
        ("a running sum's last", "sq.flip(-1).cumsum(dim=-1).narrow(-1, sq.size(-1) - 1, 1) / sq.size(-1)"),
        ("a pool over all", "F.avg_pool1d(sq.flatten(0, -2).unsqueeze(1), sq.size(-1)).reshape(*sq.shape[:-1], 1)"),
        ("two halves", "(sq[..., ::2].mean(-1, True) + sq[..., 1::2].mean(-1, True)) / 2"),
        ("a product with ones", "torch.tensordot(sq, sq.new_ones(sq.size(-1), 1), dims=([-1], [0])) / sq.size(-1)"),
        ("a diagonal and back", "torch.diag_embed(sq).diagonal(dim1=-2, dim2=-1).mean(-1, keepdim=True)"),
        ("a trapezoid with empty ends", "torch.trapezoid(F.pad(sq, (1, 1)), dim=-1).unsqueeze(-1) / sq.size(-1)"),
        ("elements in another order", "torch.cat((sq[..., 1:], sq[..., :1]), -1).mean(-1, True)"),
        ("a sign apart", "torch.where(h < 0, -h, h).square().mean(-1, True)"),
        ("a layer and back", "nn.Flatten(0, -2)(sq).mean(-1).view(*sq.shape[:-1], 1)"),
    ),
)
def test_a_mean_square_is_read_whatever_makes_it(mean: str) -> None:
    assert seen(mean) == (["rms"], [])


@pytest.mark.parametrize(
    ("mean", "code"),
    table(
        ("no division", "F.avg_pool1d(sq.flatten(0, -2).unsqueeze(1), 1).sum(-1).view(*sq.shape[:-1], 1)", "NRM104"),
        ("no axis kept", "torch.cat((sq[..., 1:], sq[..., :1]), -1).mean(-1)", "NRM102"),
    ),
)
def test_what_is_wrong_with_it_is_reported_as_ever(mean: str, code: str) -> None:
    assert code in seen(mean)[1]


def _array(tensor: Any) -> Array:
    return Array(tuple(tensor.shape), tensor.flatten().tolist())


@pytest.mark.parametrize(
    ("name", "given"),
    table(
        ("mean", "mean", {"dim": -1, "keepdim": True}), ("sum of several", "sum", {"dim": [0, -1]}),
        ("var", "var", {"dim": 1}), ("norm", "norm", {"p": 1, "dim": -1}), ("cumsum", "cumsum", {"dim": 1}),
        ("sum of exponents", "logsumexp", {"dim": -1}), ("diff", "diff", {"dim": 1}),
        ("flip", "flip", {"dims": [0, 2]}),
        ("roll", "roll", {"shifts": 1, "dims": 2}),
        ("permute", "permute", {"dims": [2, 0, 1]}),
        ("transpose", "transpose", {"dim0": 0, "dim1": -1}),
        ("unfold", "unfold", {"dimension": 2, "size": 2, "step": 2}),
        ("diagonal", "diagonal", {"dim1": 0, "dim2": 2}), ("flatten", "flatten", {"start_dim": 1}),
        ("unflatten", "unflatten", {"dim": 2, "sizes": [2, -1]}), ("select", "select", {"dim": 1, "index": -1}),
        ("narrow", "narrow", {"dim": 2, "start": 1, "length": 2}), ("argsort", "argsort", {"dim": -1}),
        ("repeat interleaved", "repeat_interleave", {"repeats": 2, "dim": 1}), ("unsqueeze", "unsqueeze", {"dim": -2}),
        ("clamp", "clamp", {"min": 0.0}), ("square", "square", {}), ("rsqrt", "rsqrt", {}),
        ("copysign", "copysign", {"other": -1.0}), ("lerp", "lerp", {"end": 2.0, "weight": 0.25}),
    ),
)  # fmt: skip
def test_the_numbers_are_those_of_torch(name: str, given: dict[str, Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.rand(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    method = getattr(x, name)
    kept = {
        k: torch.tensor(v, dtype=x.dtype) if name in ("copysign", "lerp") and k != "weight" else v
        for k, v in given.items()
    }
    expected = method(**kept)
    found = TABLE[name](x=_array(x), **{{"min": "low", "max": "high"}.get(k, k): v for k, v in given.items()})
    assert (found.shape, found.data) == (tuple(expected.shape), pytest.approx(expected.flatten().tolist()))
