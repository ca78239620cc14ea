"""Norms that torch computes in one call are norms, and are judged like those that are written out."""

from __future__ import annotations

import re
from textwrap import indent

import pytest

from normlint.rules import analyse
from normlint.rules.registry import RULES
from tests.evaluate.spines import RMS, main, module, spines, table

LAYER = "var[-1] keepdim | eps → rsqrt → input(x) → scale(weight) → shift(bias)"
D = "(x.shape[-1],)"
FALLBACK = "\nreturn x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight"
BIASED = "self.weight = nn.Parameter(torch.ones(dim))\nself.bias = nn.Parameter(torch.zeros(dim))"


@pytest.mark.parametrize(
    ("forward", "spine"),
    table(
        ("the functional", "return F.rms_norm(x, D, self.weight, self.eps)", RMS),
        ("the function of torch", "return torch.rms_norm(x, [x.size(-1)], self.weight, self.eps)", RMS),
        ("a shape from the input", "return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)", RMS),
        (
            "a shape from the gain",
            "return F.rms_norm(x, self.weight.shape, self.weight, eps=self.eps)",
            RMS.replace("-1", "normalized_shape"),
        ),
        ("the whole shape", "return F.rms_norm(x, x.shape, self.weight, self.eps)", RMS.replace("[-1] keepdim", "[*]")),
        ("the last two axes", "return F.rms_norm(x, x.shape[-2:], self.weight, self.eps)", RMS.replace("-1", "-2,-1")),
        ("a layer norm", "return F.layer_norm(x, D, self.weight, self.bias, self.eps)", LAYER),
        (
            "the native one",
            "y, mean, rstd = torch.native_layer_norm(x, D, self.weight, self.bias, self.eps)\nreturn y",
            LAYER,
        ),
        ("a cast around it", "return F.rms_norm(x.float(), D, self.weight, self.eps).type_as(x)", RMS),
    ),
)
def test_a_fused_norm_reads_like_one_written_out(forward: str, spine: str) -> None:
    forward = re.sub(r"\bD\b", D, forward)
    assert spines(module(BIASED if "bias" in forward else BIASED.partition("\n")[0], forward)) == [spine]


def test_an_eps_that_is_not_passed_is_not_zero() -> None:
    (eps,) = main(module(forward=f"return F.rms_norm(x, {D}, self.weight)")).eps
    assert (eps.power, eps.value, eps.name) == (1, None, "finfo")


@pytest.mark.parametrize(
    ("init", "forward", "codes"),
    table(
        ("a sound one is silent", None, "return F.rms_norm(x, D, self.weight, self.eps)", set()),
        (
            "an upcast and a downcast are silent",
            None,
            "return F.rms_norm(x.float(), D, self.weight.float(), self.eps).type_as(x)",
            set(),
        ),
        ("an eps that isn't passed", None, "return F.rms_norm(x, D, self.weight)", {"NRM304"}),
        ("a gain that isn't passed", None, "return F.rms_norm(x, D, None, self.eps)", {"NRM505"}),
        ("a bias that isn't passed", BIASED, "return F.layer_norm(x, D, self.weight, None, self.eps)", {"NRM505"}),
        ("the whole shape", None, "return F.rms_norm(x, x.shape, self.weight, self.eps)", {"NRM101"}),
        (
            "an eps that is lost on one path",
            None,
            "if self.training:\n    return F.rms_norm(x, D, self.weight, 1e-6)\n"
            "return F.rms_norm(x, D, self.weight, self.eps)",
            {"NRM304"},
        ),
        ("an output that stays fp32", None, "return F.rms_norm(x.float(), D, self.weight, self.eps)", {"NRM203"}),
        ("a gain that starts at two", None, "return F.rms_norm(x, D, 1 + self.weight, self.eps)", {"NRM406"}),
        (
            "a fallback that squares in half",
            None,
            "if x.is_cuda:\n    return F.rms_norm(x, D, self.weight, self.eps)" + FALLBACK,
            {"NRM201"},
        ),
    ),
)
def test_a_fused_norm_is_judged_like_one_written_out(init: str | None, forward: str, codes: set[str]) -> None:
    forward = re.sub(r"\bD\b", D, forward)
    found = analyse(module(init or BIASED.partition("\n")[0], forward)).findings
    assert {one.code for one in found if RULES[one.code].default} == codes


def owner(forward: str, layers: str = "self.norm = nn.LayerNorm(dim, eps=eps)", eps: str | None = "1e-6") -> str:
    """A class that owns one of torch's norms."""
    parameters = "self, dim" + (f", eps={eps}" if eps else "")
    head = (
        f"import torch\nfrom torch import nn\n\nclass ChannelLayerNorm(nn.Module):\n    def __init__({parameters}):\n"
    )
    init = f"        super().__init__()\n{indent(layers, ' ' * 8)}\n\n"
    return f"{head}{init}    def forward(self, x):\n{indent(forward, ' ' * 8)}\n"


OWNED = LAYER.replace("-1", "normalized_shape").replace("(weight", "(norm.weight").replace("(bias", "(norm.bias")


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("the norm alone", owner("return self.norm(x)"), [OWNED]),
        ("channels moved to the end", owner("return self.norm(x.permute(0, 2, 1)).permute(0, 2, 1)"), [OWNED]),
        (
            "beside a dropout",
            owner("return self.drop(self.norm(x))", "self.drop = nn.Dropout(0.1)\nself.norm = nn.LayerNorm(dim, eps)"),
            [],
        ),
        (
            "without gain and bias",
            owner("return self.norm(x)", "self.norm = nn.RMSNorm(dim, eps, elementwise_affine=False)"),
            ["mean[normalized_shape] keepdim | eps → rsqrt → input(x)"],
        ),
        ("before another function, whose output it is", owner("return self.fn(self.norm(x))"), []),
        (
            "in a block, beside a layer",
            owner("return self.norm(x)", "self.norm = nn.LayerNorm(dim)\nself.out = nn.Linear(dim, dim)"),
            [],
        ),
    ),
)
def test_the_norm_of_a_class_that_owns_no_other_layer_is_that_of_the_class(text: str, expected: list[str]) -> None:
    assert spines(text) == expected


@pytest.mark.parametrize(
    ("text", "codes"),
    table(
        ("a sound one is silent", owner("return self.norm(x.float()).type_as(x)"), set()),
        (
            "a number that is kept for others is silent",
            owner("return self.norm(x)", "self.eps = 1e-5\nself.norm = nn.LayerNorm(dim, 1e-5)", eps=None),
            set(),
        ),
        ("an output that stays fp32", owner("return self.norm(x).float()"), {"NRM203"}),
        ("a negative eps", owner("return self.norm(x)", eps="-1e-6"), {"NRM303"}),
        ("an eps that isn't passed", owner("return self.norm(x)", "self.norm = nn.LayerNorm(dim)"), {"NRM304"}),
        ("a changed input", owner("x /= x.amax(-1, keepdim=True).detach()\nreturn self.norm(x)"), {"NRM502"}),
        ("a print", owner("y = self.norm(x)\nprint(y)\nreturn y"), {"NRM503"}),
    ),
)
def test_a_wrapper_of_torchs_norm_is_judged_like_a_norm(text: str, codes: set[str]) -> None:
    assert {one.code for one in analyse(text).findings if RULES[one.code].default} == codes
