"""NRM101, NRM102, NRM103 and NRM106: over the last axis, which is kept."""

from __future__ import annotations

import pytest

from tests.fixes.axes_cases import Case, is_fixed, module, stays

Y = "y = h * torch.rsqrt(ms + self.eps)"

STAYS = [
    Case("a flag stands where axes would", "NRM101", module("ms = (h - h.mean(-1, True)).var(False)", Y)),
    Case(
        "an einops pattern",
        "NRM101",
        module("ms = reduce(h ** 2, 'b l d -> 1 1 1', 'mean')", Y).replace(
            "import math\n", "import math\nfrom einops import reduce\n"
        ),
    ),
    Case("an einsum", "NRM102", module("ms = torch.einsum('bld,bld->bl', h, h) / h.shape[-1]", Y)),
    Case(
        "an axis that has a name",
        "NRM103",
        module("ms = h.pow(2).mean(self.axis, keepdim=True)", Y, init="self.axis = 0"),
    ),
    Case(
        "no gain says where the features lie, and the axis may be the one that is taken",
        "NRM101",
        "import torch\nfrom torch import nn\n\n\nclass PixelRMSNorm(nn.Module):\n"
        "    def __init__(self, dim=1, eps=1e-6):\n        super().__init__()\n"
        "        self.dim = dim\n        self.eps = eps\n\n    def forward(self, x):\n"
        "        h = x.float()\n        return (h * torch.rsqrt(h.pow(2).mean() + self.eps)).type_as(x)\n",
    ),
    Case(
        "channels lie first, and nothing says in how many axes",
        "NRM101",
        module("ms = h.pow(2).mean()", Y, gain="self.weight[:, None, None]"),
    ),
    Case(
        "what the sum is divided by counts the elements of both axes",
        "NRM103",
        module("y = h / (torch.linalg.norm(h, dim=(1, 2), keepdim=True) * x[0].numel() ** -0.5 + self.eps)"),
    ),
    Case(
        "the mean of everything is made to fit by a view",
        "NRM101",
        module("shape = (1, 1, 1)", "ms = h.pow(2).view(-1).mean().view(*shape)", Y),
    ),
    Case(
        "a mean of everything beside a variance over an axis that has a name",
        "NRM101",
        module("var = h.var(self.dim, unbiased=False, keepdim=True)", "y = (h - h.mean()) / (var + self.eps).sqrt()")
        .replace("class RMSNorm", "class LayerNorm")
        .replace("dim, eps", "dim, axis=1, eps")
        .replace("super().__init__()", "super().__init__()\n        self.dim = axis"),
    ),
    Case(
        "an axis is put back later, by hand",
        "NRM101",
        module("ms = h.pow(2).mean()", "r = torch.rsqrt(ms + self.eps)", "y = h * r.unsqueeze(-1)"),
    ),
    Case(
        "a statistic is used with its axis put back and without",
        "NRM102",
        module(
            "mean = h.mean(-1)",
            "var = (h - mean.unsqueeze(-1)).pow(2).mean(-1, keepdim=True)",
            "y = (h - mean) / torch.sqrt(var + self.eps)",
            name="LayerNorm",
        ),
    ),
    Case(
        "a statistic is given back beside the norm, in its shape",
        "NRM102",
        "import torch\n\n\ndef rms_norm(x, weight, eps=1e-6):\n    h = x.float()\n    rms = h.pow(2).mean(-1)\n"
        "    if weight is None:\n        return x, rms\n    return (h * torch.rsqrt(rms + eps)).type_as(x) * weight\n",
    ),
    Case(
        "the axis comes in as a parameter",
        "NRM103",
        module("ms = h.pow(2).mean(self.axis, keepdim=True)", Y)
        .replace("eps=1e-6):", "eps=1e-6, axis=0):")
        .replace("self.eps = eps\n", "self.eps = eps\n        self.axis = axis\n"),
    ),
    Case(
        "the axis is read elsewhere, too",
        "NRM103",
        module("h = h.cumsum(self.axis)", "ms = h.pow(2).mean(self.axis, keepdim=True)", Y, init="self.axis = 0"),
    ),
    Case(
        "arguments that are unpacked may hold an axis",
        "NRM106",
        module("y = F.normalize(h, **{}) * h.shape[-1] ** 0.5"),
    ),
]

EVERYTHING = [
    Case(
        "a view behind a cast goes, the cast stays",
        "NRM101",
        module("ms = torch.flatten(h * h).double().mean()", Y),
        (("torch.flatten(h * h).double().mean()", "(h * h).double().mean(-1, keepdim=True)"),),
    ),
    Case(
        "a cast of what is reduced stays",
        "NRM101",
        module("ms = torch.mean((h * h).to(torch.float64))", Y),
        (("torch.float64))", "torch.float64), dim=-1, keepdim=True)"),),
    ),
    Case(
        "what was made one axis for it stays as it is",
        "NRM101",
        module("ms = torch.flatten(h * h).mean()", Y),
        (("torch.flatten(h * h).mean()", "(h * h).mean(-1, keepdim=True)"),),
    ),
    Case(
        "nor is it laid out otherwise",
        "NRM101",
        module("ms = torch.mean(h.pow(2).reshape(-1))", Y),
        (("h.pow(2).reshape(-1)", "h.pow(2), dim=-1, keepdim=True"),),
    ),
    Case(
        "every axis, counted",
        "NRM101",
        module("ms = h.pow(2).mean(tuple(range(h.ndim)), keepdim=True)", Y),
        (("tuple(range(h.ndim))", "-1"),),
    ),
    Case(
        "a method takes its axis by place",
        "NRM101",
        module("ms = h.pow(2).mean()", Y),
        (("mean()", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "a function takes its axis by name",
        "NRM101",
        module("ms = torch.mean(h * h)", Y),
        (("h * h)", "h * h, dim=-1, keepdim=True)"),),
    ),
    Case(
        "torch's own names, though another call has those of numpy",
        "NRM101",
        module(
            "mu = torch.mean(h, axis=-1, keepdims=True)",
            "ms = torch.mean((h - mu) ** 2)",
            "y = (h - mu) * torch.rsqrt(ms + self.eps)",
            name="LayerNorm",
        ),
        (("(h - mu) ** 2)", "(h - mu) ** 2, dim=-1, keepdim=True)"),),
    ),
    Case(
        "the last axis, whatever name the mean has for it",
        "NRM101",
        module(
            "mu = h.mean(self.dims, True)",
            "y = (h - mu) * torch.rsqrt((h - mu).pow(2).mean() + self.eps)",
            name="LayerNorm",
            init="self.dims = (-1,)",
        ),
        (("mean()", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "a norm takes p first, so that its axis has a name",
        "NRM101",
        module("y = h / (h.norm() * h.shape[-1] ** -0.5 + self.eps)"),
        (("norm()", "norm(dim=-1, keepdim=True)"),),
    ),
    Case(
        "a flag by name stays behind the axis",
        "NRM101",
        module("y = (h - h.mean()) / torch.sqrt(h.var(unbiased=False) + self.eps)", name="LayerNorm"),
        (("h.mean()", "h.mean(-1, keepdim=True)"), ("var(unbiased", "var(-1, keepdim=True, unbiased")),
    ),
    Case(
        "an axis that is None gives way",
        "NRM101",
        module("ms = torch.mean(h * h, dim=None, keepdim=True)", Y),
        (("dim=None", "dim=-1"),),
    ),
    Case(
        "a keepdim that is there is made true",
        "NRM101",
        module("ms = torch.mean(h * h, dim=None, keepdim=False)", Y),
        (("dim=None, keepdim=False", "dim=-1, keepdim=True"),),
    ),
    Case(
        "what puts an axis back goes",
        "NRM101",
        module("ms = h.pow(2).mean().unsqueeze(-1)", Y),
        (("mean().unsqueeze(-1)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "a sum over all elements is divided by those of the last axis",
        "NRM101",
        module("ms = h.pow(2).sum() / h.numel()", Y),
        (("sum() / h.numel()", "sum(-1, keepdim=True) / h.shape[-1]"),),
    ),
    Case(
        "where each argument has a line, the new ones have theirs",
        "NRM101",
        module("ms = torch.mean(", "    h.square(),", ")", Y),
        (("h.square(),", "h.square(),\n            dim=-1,\n            keepdim=True,"),),
    ),
    Case(
        "a comment behind an argument stays with it",
        "NRM101",
        module("ms = torch.mean(", "    h.square(),  # x²", ")", Y),
        (("h.square(),", "h.square(), dim=-1, keepdim=True,"),),
    ),
]

KEEPDIM = [
    Case(
        "an axis that is kept and taken away",
        "NRM102",
        module("ms = h.pow(2).mean(-1, keepdim=True).squeeze(-1)", Y),
        ((".squeeze(-1)", ""),),
    ),
    Case(
        "keepdim goes to the end",
        "NRM102",
        module(
            "v = h.var(-1, unbiased=False)",
            "y = (h - h.mean(-1, keepdim=True)) * torch.rsqrt(v + self.eps)",
            name="LayerNorm",
        ),
        (("unbiased=False)", "unbiased=False, keepdim=True)"),),
    ),
    Case(
        "an axis is kept by torch's own name, whatever the axis is called",
        "NRM102",
        module("ms = h.pow(2).mean(axis=-1)", Y),
        (("axis=-1", "axis=-1, keepdim=True"),),
    ),
    Case(
        "a flag has its name, though another call leaves it out",
        "NRM102",
        module(
            "mu = h.mean(-1, True)",
            "ms = (h - mu).pow(2).mean(-1)",
            "y = (h - mu) * torch.rsqrt(ms + self.eps)",
            name="LayerNorm",
        ),
        (("mean(-1)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "False becomes True where it stands",
        "NRM102",
        module("y = h / (torch.norm(h, 2, -1, False) / math.sqrt(h.shape[-1]) + self.eps)"),
        (("False", "True"),),
    ),
]

WRONG = [
    Case(
        "mean and variance move together",
        "NRM103",
        module(
            "mu = h.mean(dim=(1, 2), keepdim=True)",
            "v = h.var(dim=(0, 1), keepdim=True, correction=0)",
            "y = (h - mu) * torch.rsqrt(v + self.eps)",
            name="LayerNorm",
        ),
        (("(1, 2)", "-1"), ("(0, 1)", "-1")),
    ),
    Case("a list goes", "NRM103", module("ms = h.pow(2).mean([-2], keepdim=True)", Y), (("[-2]", "-1"),)),
    Case(
        "a lost axis is kept, now that it is the last",
        "NRM103",
        module("ms = h.pow(2).mean(0)", Y),
        (("mean(0)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "what puts another axis back goes",
        "NRM103",
        module("ms = h.pow(2).mean(-2).unsqueeze(-2)", Y),
        (("mean(-2).unsqueeze(-2)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "the count follows the axis",
        "NRM103",
        module("ms = h.pow(2).sum(-2, keepdim=True) / h.shape[-2]", Y),
        (("sum(-2,", "sum(-1,"), ("shape[-2]", "shape[-1]")),
    ),
    Case(
        "F.normalize gets its axis before its eps",
        "NRM106",
        module("y = F.normalize(h, p=2.0, eps=self.eps) * h.shape[-1] ** 0.5"),
        (("p=2.0, eps", "p=2.0, dim=-1, eps"),),
    ),
    Case(
        "F.normalize and its count move together",
        "NRM106",
        module("y = F.normalize(h) * h.shape[1] ** 0.5"),
        (("normalize(h) * h.shape[1]", "normalize(h, dim=-1) * h.shape[-1]"),),
    ),
]


EACH = [
    Case(
        "the mean keeps its axis on both sides",
        "NRM102",
        module(
            "y = (h - h.mean(-1)) * torch.rsqrt((h - h.mean(-1)).pow(2).mean(-1, True) + self.eps)", name="LayerNorm"
        ),
        (("h.mean(-1)) *", "h.mean(-1, keepdim=True)) *"), ("h.mean(-1)).pow", "h.mean(-1, keepdim=True)).pow")),
    ),
    Case(
        "a mean over everything is one over the features on both sides",
        "NRM101",
        module("y = (h - h.mean()) * torch.rsqrt((h - h.mean()).pow(2).mean(-1, True) + self.eps)", name="LayerNorm"),
        (("h.mean()) *", "h.mean(-1, keepdim=True)) *"), ("h.mean()).pow", "h.mean(-1, keepdim=True)).pow")),
    ),
    Case(
        "both factors of a square are centred alike",
        "NRM103",
        module(
            "v = ((h - h.mean(-2, True)) * (h - h.mean(-2, True))).mean(-2, True)",
            "y = (h - h.mean(-2, True)) * torch.rsqrt(v + self.eps)",
            name="LayerNorm",
        ),
        (
            ("v = ((h - h.mean(-2, True)) *", "v = ((h - h.mean(-1, True)) *"),
            ("* (h - h.mean(-2, True))).mean(-2, True)", "* (h - h.mean(-1, True))).mean(-1, True)"),
            ("y = (h - h.mean(-2, True))", "y = (h - h.mean(-1, True))"),
        ),
    ),
]

AGAIN = [
    Case(
        "the values are laid in a row before their mean",
        "NRM101",
        module("ms = h.pow(2).flatten().mean()", Y),
        ((".flatten().mean()", ".mean(-1, keepdim=True)"),),
    ),
    Case(
        "what spreads one number over the input goes",
        "NRM101",
        module("y = h * torch.rsqrt(h.pow(2).mean().expand_as(h) + self.eps)"),
        (("mean().expand_as(h)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "all axes are counted out",
        "NRM101",
        module("ms = torch.mean(h**2, dim=tuple(range(h.ndim)), keepdim=True)", Y),
        (("tuple(range(h.ndim))", "-1"),),
    ),
    Case(
        "a view as one row, and an L2 norm",
        "NRM101",
        module("n = h.reshape(-1).norm(2)", "y = h / (n * h.shape[-1] ** -0.5 + self.eps)"),
        ((".reshape(-1).norm(2)", ".norm(2, -1, keepdim=True)"),),
    ),
    Case(
        "the kept axis is squeezed away",
        "NRM102",
        module("ms = h.pow(2).mean(-1, keepdim=True).squeeze(-1)", Y),
        (("mean(-1, keepdim=True).squeeze(-1)", "mean(-1, keepdim=True)"),),
    ),
    Case(
        "both statistics lose their axis by a function",
        "NRM102",
        module(
            "mean = torch.squeeze(h.mean(-1, keepdim=True), -1)",
            "var = torch.squeeze(h.var(-1, False, keepdim=True), -1)",
            "y = (h - mean) / torch.sqrt(var + self.eps)",
            name="LayerNorm",
        ),
        (
            ("torch.squeeze(h.mean(-1, keepdim=True), -1)", "h.mean(-1, keepdim=True)"),
            ("torch.squeeze(h.var(-1, False, keepdim=True), -1)", "h.var(-1, False, keepdim=True)"),
        ),
    ),
]


@pytest.mark.parametrize("case", STAYS, ids=lambda case: case.says)
def test_what_cannot_be_fixed_with_certainty_is_left_alone(case: Case) -> None:
    stays(case)


@pytest.mark.parametrize("case", [*EVERYTHING, *KEEPDIM, *WRONG, *EACH, *AGAIN], ids=lambda case: case.says)
def test_a_reduction_goes_over_the_features_and_keeps_its_axis(case: Case) -> None:
    is_fixed(case)
