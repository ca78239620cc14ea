"""NRM501, NRM504 and NRM505: gains and biases are parameters, of the right shape, filled and applied."""

from __future__ import annotations

import pytest

from tests.fixes.module_cases import HEAD, NORM, RETURN, SAFE, UNSAFE, FixedText, forward, is_fixed, made, stays

CENTRE = "h = h - h.mean(-1, keepdim=True)"
SQRT_D = "return (h * self.width**0.5).type_as(x) * self.weight"

STAYS = {
    "one number beside a stored dim that is an axis": (
        "NRM504",
        made(
            "self.dim = dim",
            "self.weight = nn.Parameter(torch.ones(1))",
            forward=("h = x.float()", NORM.replace("mean(-1", "mean(self.dim"), RETURN),
        ),
    ),
    "a bias of an RMS norm, which may be too much itself": (
        "NRM505",
        made("self.weight = nn.Parameter(torch.ones(dim))", "self.bias = nn.Parameter(torch.zeros(dim))"),
    ),
    "a bias that is multiplied": (
        "NRM406",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", CENTRE, NORM, "return h.type_as(x) * self.weight * self.bias"),
        ),
    ),
    "a plain tensor that says it isn't trained": (
        "NRM501",
        made("self.weight = torch.ones(dim, requires_grad=False)"),
    ),
    "a length that only the config has": (
        "NRM504",
        made("self.dim = config.hidden_size", "self.weight = nn.Parameter(torch.ones(1))").replace(
            "dim, eps", "config, eps"
        ),
    ),
    "a gain that 1 is added to on one way and not on the other": (
        "NRM406",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            forward=(
                "if self.training:",
                "    h = x.float()",
                f"    {NORM}",
                "    return ((1 + self.weight) * h).type_as(x)",
                "h = x.float() + 1",
                NORM,
                "return (h * self.weight).type_as(x), x",
            ),
        ),
    ),
    "one number beside a norm of channels, where one for each would have to lie along them": (
        "NRM504",
        made(
            "self.weight = nn.Parameter(torch.ones(1))",
            forward=("h = x.float()", NORM.replace("-1", "1"), RETURN),
        ),
    ),
    "a gain that would come behind the bias of a base class": (
        "NRM505",
        "import torch.nn.functional as F\nfrom torch import nn\n\n\nclass LayerNorm(nn.LayerNorm):\n"
        "    def forward(self, x):\n        return F.layer_norm(x, self.normalized_shape, eps=self.eps) + self.bias\n",
    ),
    "a gain that would come behind the bias that one path has": (
        "NRM505",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim)) if dim > 8 else None",
            forward=(
                "h = x.float()",
                NORM,
                "if self.bias is not None:",
                "    h = h + self.bias",
                "return h.type_as(x)",
            ),
        ),
    ),
    "a gain that may not be there": (
        "NRM505",
        made(
            "if dim > 1:",
            "    self.weight = nn.Parameter(torch.ones(dim))",
            forward=("h = x.float()", NORM, "return h.type_as(x)"),
        ),
    ),
    "a gain that may be None": (
        "NRM505",
        made(
            "self.weight = None if dim is None else nn.Parameter(torch.ones(dim))",
            forward=("h = x.float()", NORM, "h = h.type_as(x)", "return h"),
        ),
    ),
    "a gain for features that aren't last": (
        "NRM505",
        made(forward=("h = x.float()", NORM.replace("-1", "1"), "return h.type_as(x)")),
    ),
    "a gain that is set anew, which torch refuses for a parameter": (
        "NRM501",
        made(
            "self.weight = torch.ones(dim)",
            forward=("self.weight = self.weight.to(x.device)", "h = x.float()", NORM, "return h * self.weight"),
        ),
    ),
    "one number, and nothing says how many features there are": (
        "NRM504",
        made("self.weight = nn.Parameter(torch.ones(1))").replace("dim, eps", "config, eps"),
    ),
    "one number, and a stored `dim` that may be an axis": (
        "NRM504",
        made("self.dim = dim", "self.weight = nn.Parameter(torch.ones(1))"),
    ),
    "one number, and two names that may be the features'": (
        "NRM504",
        made("self.weight = nn.Parameter(torch.ones(1))").replace("dim, eps", "dim, head_dim, eps"),
    ),
    "what comes in, given back as it is": (
        "NRM505",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            forward=("if not self.training:", "    return x", "h = x.float()", NORM, "return h.type_as(x)"),
        ),
    ),
    "one value or a pair": (
        "NRM505",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            forward=("h = x.float()", NORM, "return (h.type_as(x), h) if self.training else h.type_as(x)"),
        ),
    ),
    "two gains that nobody applies": (
        "NRM505",
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.gain = nn.Parameter(torch.ones(dim))",
            forward=("h = x.float()", NORM, "return h.type_as(x)"),
        ),
    ),
}

MENDED = {
    "one number where the class computes with the length of its config": (
        ("NRM504", UNSAFE),
        made(
            "self.width = config.hidden_size",
            "self.weight = nn.Parameter(torch.ones(1))",
            forward=("h = x.float()", "h = h * h.norm(dim=-1, keepdim=True).clamp(min=1e-6).reciprocal()", SQRT_D),
            head=HEAD.replace("dim, eps", "config, eps"),
        ),
        (("torch.ones(1)", "torch.ones(config.hidden_size)"),),
    ),
    "one number where the bias has a shape": (
        ("NRM504", UNSAFE),
        made(
            "shape = torch.Size([dim])",
            "self.weight = nn.Parameter(torch.ones((1,)))",
            "self.bias = nn.Parameter(torch.zeros(shape))",
            forward=("h = x.float()", NORM, "return h.type_as(x) * self.weight + self.bias"),
        ),
        (("torch.ones((1,))", "torch.ones(shape)"),),
    ),
    "a tensor is made a parameter": (
        ("NRM501", UNSAFE),
        made("self.weight = torch.ones(dim)"),
        (("torch.ones(dim)", "nn.Parameter(torch.ones(dim))"),),
    ),
    "its gradient is asked for by being one": (
        ("NRM501", UNSAFE),
        made("self.weight = torch.ones(dim, requires_grad=True)"),
        (("torch.ones(dim, requires_grad=True)", "nn.Parameter(torch.ones(dim))"),),
    ),
    "a chain of methods goes along": (
        ("NRM501", UNSAFE),
        made("self.weight = torch.ones(dim).cuda()  # on the card"),
        (("torch.ones(dim).cuda()", "nn.Parameter(torch.ones(dim).cuda())"),),
    ),
    "only the branch that makes it": (
        ("NRM501", UNSAFE),
        made("self.weight = None if dim is None else torch.ones(dim)"),
        (("else torch.ones(dim)", "else nn.Parameter(torch.ones(dim))"),),
    ),
    "as the file calls it": (
        ("NRM501", UNSAFE),
        made("self.weight = torch.ones(dim)")
        .replace("from torch import nn", "import torch.nn")
        .replace("(nn.Module)", "(torch.nn.Module)"),
        (("torch.ones(dim)", "torch.nn.Parameter(torch.ones(dim))"),),
    ),
    "a gain that is never filled": (
        ("NRM504", SAFE),
        made("self.weight = nn.Parameter(torch.empty(dim, dtype=torch.float32))"),
        (("torch.empty(", "torch.ones("),),
    ),
    "nor by its old name": (
        ("NRM504", SAFE),
        made("self.weight = nn.Parameter(torch.Tensor(dim))"),
        (("torch.Tensor(", "torch.ones("),),
    ),
    "a bias that is never filled": (
        ("NRM504", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.empty(dim))",
            forward=("h = x.float()", NORM, "return h.type_as(x) * self.weight + self.bias"),
        ),
        (("torch.empty(", "torch.zeros("),),
    ),
    "one bias for all features is as long as the gain": (
        ("NRM504", UNSAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(d))",
            "self.bias = nn.Parameter(torch.zeros(1))",
            forward=("h = x.float()", NORM, "return h.type_as(x) * self.weight + self.bias"),
        ).replace("dim, eps", "d, eps"),
        (("torch.zeros(1)", "torch.zeros(d)"),),
    ),
    "as long as the one integer that it is told": (
        ("NRM504", UNSAFE),
        made("self.weight = nn.Parameter(torch.ones(1))").replace("dim, eps", "count: int, eps"),
        (("torch.ones(1)", "torch.ones(count)"),),
    ),
    "the gain of 1 + w is filled with zeros": (
        ("NRM504", SAFE),
        made(
            "self.weight = nn.Parameter(torch.empty(dim))",
            forward=("h = x.float()", NORM, "return h.type_as(x) * (1 + self.weight)"),
        ),
        (("torch.empty(", "torch.zeros("),),
    ),
    "the list of one length was meant as the length": (
        ("NRM504", UNSAFE),
        made("self.weight = nn.Parameter(torch.Tensor([dim]))"),
        (("torch.Tensor([dim])", "torch.ones(dim)"),),
    ),
    "one number for all features": (
        ("NRM504", UNSAFE),
        made("self.weight = nn.Parameter(torch.ones((1,)))"),
        (("torch.ones((1,))", "torch.ones((dim,))"),),
    ),
    "a gain is applied to what is given back": (
        ("NRM505", SAFE),
        forward("h = x.float()", NORM, "return h.type_as(x)"),
        (("return h.type_as(x)", RETURN),),
    ),
    "one that is zero at first is added to one": (
        ("NRM505", UNSAFE),
        made("self.weight = nn.Parameter(torch.zeros(dim))", forward=("h = x.float()", NORM, "return h.type_as(x)")),
        (("return h.type_as(x)", "return h.type_as(x) * (1 + self.weight)"),),
    ),
    "a bias is added": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", CENTRE, NORM, RETURN),
        ),
        (("* self.weight\n", "* self.weight + self.bias\n"),),
    ),
    "a bias is added in front of the cast back, where the gain is": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", CENTRE, NORM, "return (h * self.weight).type_as(x)"),
        ),
        (("(h * self.weight)", "(h * self.weight + self.bias)"),),
    ),
    "it is added to a name that is cast back": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", CENTRE, NORM, "out = self.weight * h", "return out.to(x.dtype)"),
        ),
        (("return out.to", "return (out + self.bias).to"),),
    ),
    "a gain goes in front of the bias": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", NORM, "return (h + self.bias).type_as(x)"),
        ),
        (("(h + self.bias)", "(h * self.weight + self.bias)"),),
    ),
    "in front of a bias that is added in place": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", NORM, "h += self.bias", "return h.type_as(x)"),
        ),
        (("h += self", "h = h * self.weight\n        h += self"),),
    ),
    "in front of a bias that a method adds": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", NORM, "return h.add(self.bias).type_as(x)"),
        ),
        (("h.add(self", "(h * self.weight).add(self"),),
    ),
    "a gain that is made in a half goes in front of the cast back, and its offset is added in fp32": (
        ("NRM505", UNSAFE),
        made(
            "self.weight = nn.Parameter(torch.zeros(dim, dtype=torch.bfloat16))",
            forward=("h = x.float()", NORM, "return h.type_as(x)"),
        ),
        (("return h.type_as", "return (h * (1 + self.weight.float())).type_as"),),
    ),
    "both at once": (
        ("NRM505", SAFE),
        made(
            "self.weight = nn.Parameter(torch.ones(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            forward=("h = x.float()", NORM, "return h.type_as(x)"),
        ),
        (("return h.type_as(x)", "return h.type_as(x) * self.weight + self.bias"),),
    ),
    "one number where an argument may be a number or a shape": (
        ("NRM504", UNSAFE),
        made("self.weight = nn.Parameter(torch.ones((1,)))").replace("dim, eps", "normalized_shape, eps"),
        (("torch.ones((1,))", "torch.ones(normalized_shape)"),),
    ),
}


@pytest.mark.parametrize(("code", "text"), STAYS.values(), ids=STAYS)
def test_what_cannot_be_fixed_with_certainty_is_reported_and_stays(code: str, text: str) -> None:
    stays(code, text)


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED)
def test_what_is_fixed_reads_as_its_author_would_have_written_it(case: FixedText) -> None:
    is_fixed(case)
