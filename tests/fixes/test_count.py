"""NRM104 and NRM105: a sum is divided by the number of its elements, once, and by no other."""

from __future__ import annotations

import pytest

from tests.fixes.axes_cases import Case, is_fixed, module, stays

Y = "y = h * torch.rsqrt(ms + self.eps)"

STAYS = [
    Case(
        "an einops sum",
        "NRM104",
        module('ms = einops.reduce(h ** 2, "b l d -> b l 1", "sum")', Y).replace(
            "import math\n", "import math\nimport einops\n"
        ),
    ),
    Case(
        "Python's own sum",
        "NRM104",
        module("ms = sum(t * t for t in h.unbind(-1)).unsqueeze(-1)", Y),
    ),
    Case(
        "the features are spread over ranks",
        "NRM104",
        module("ms = h.pow(2).sum(-1, keepdim=True)", "torch.distributed.all_reduce(ms)", Y),
    ),
    Case(
        "two counts, of which either may be the one too many",
        "NRM104",
        module("y = F.normalize(h, dim=-1) * self.scale * math.sqrt(h.shape[-1])", init="self.scale = dim**0.5"),
    ),
    Case(
        "a statement that only divides is all there is in its block",
        "NRM104",
        module("ms = h.pow(2).mean(-1, keepdim=True)", "if True:", "    ms /= h.shape[-1]", Y),
    ),
    Case(
        "a correction is kept elsewhere",
        "NRM105",
        module(
            "v = h.var(-1, keepdim=True, correction=self.ddof)",
            "y = (h - h.mean(-1, keepdim=True)) * torch.rsqrt(v + self.eps)",
            name="LayerNorm",
            init="self.ddof = 1",
        ),
    ),
]

NEVER = [
    Case(
        "a sum becomes a mean",
        "NRM104",
        module("ms = h.pow(2).sum(-1, keepdim=True)", Y),
        (("sum(-1", "mean(-1"),),
    ),
    Case(
        "a function, too",
        "NRM104",
        module("ms = torch.sum(h ** 2, dim=-1, keepdim=True)", Y),
        (("torch.sum", "torch.mean"),),
    ),
    Case(
        "whatever it is called",
        "NRM104",
        module("square_sum = (h * h).sum(-1, keepdim=True)", "y = h * torch.rsqrt(square_sum + self.eps)"),
        (("(h * h).sum", "(h * h).mean"),),
    ),
    Case(
        "by the name that the file has for torch",
        "NRM104",
        module("total_sum = t.sum(t.square(h), -1, True)", "y = h * torch.rsqrt(total_sum + self.eps)").replace(
            "import torch\n", "import torch\nimport torch as t\n"
        ),
        (("t.sum(", "t.mean("),),
    ),
    Case(
        "a norm is scaled by the length of its input",
        "NRM104",
        module("y = h / (h.norm(dim=-1, keepdim=True) + self.eps)"),
        (("keepdim=True) +", "keepdim=True) * h.shape[-1] ** -0.5 +"),),
    ),
    Case(
        "under a method the product has parentheses",
        "NRM104",
        module("y = h * h.norm(dim=-1, keepdim=True).clamp(min=self.eps).reciprocal()"),
        (("h.norm(dim=-1, keepdim=True)", "(h.norm(dim=-1, keepdim=True) * h.shape[-1] ** -0.5)"),),
    ),
]

TWICE = [
    Case(
        "a mean needs no count",
        "NRM104",
        module("ms = h.pow(2).mean(-1, keepdim=True) / h.shape[-1]", Y),
        ((" / h.shape[-1]", ""),),
    ),
    Case(
        "parentheses go with what they held together",
        "NRM104",
        module("y = h * (h.pow(2).mean(-1, keepdim=True) / self.dim).sqrt().reciprocal()", init="self.dim = dim"),
        (("(h.pow(2).mean(-1, keepdim=True) / self.dim).", "h.pow(2).mean(-1, keepdim=True)."),),
    ),
    Case(
        "the call of a division goes",
        "NRM104",
        module("ms = torch.div(h.pow(2).mean(-1, keepdim=True), h.size(-1))", Y),
        (("torch.div(", ""), (", h.size(-1))", "")),
    ),
    Case(
        "a statement that only divides goes with its line",
        "NRM104",
        module("ms = h.pow(2).mean(-1, keepdim=True)", "ms /= h.shape[-1]", Y),
        (("        ms /= h.shape[-1]\n", ""),),
    ),
    Case(
        "a count on the left goes with its sign",
        "NRM104",
        module("ms = h.shape[-1] * h.pow(2).mean(-1, keepdim=True)", Y),
        (("h.shape[-1] * ", ""),),
    ),
]

OTHERS = [
    Case(
        "the length of the batch gives way to that of the features",
        "NRM104",
        module("ms = h.pow(2).sum(-1, keepdim=True) / x.shape[0]", Y),
        (("x.shape[0]", "x.shape[-1]"),),
    ),
    Case(
        "D under a norm is a root",
        "NRM104",
        module("y = h / (h.norm(dim=-1, keepdim=True) / h.shape[-1] + self.eps)"),
        (("h.shape[-1]", "h.shape[-1] ** 0.5"),),
    ),
    Case(
        "a scale on the wrong side is turned round where it is used, whoever else reads it",
        "NRM104",
        module("y = F.normalize(h, dim=-1) * self.scale", init="self.scale = dim ** -0.5").replace(
            "    def forward", "    def logits(self, q, k):\n        return q @ k * self.scale\n\n    def forward"
        ),
        (("dim=-1) * self.scale", "dim=-1) / self.scale"),),
    ),
    Case(
        "a root by call changes sides",
        "NRM104",
        module("y = F.normalize(h, dim=-1) / math.sqrt(h.shape[-1])"),
        (("/ math", "* math"),),
    ),
    Case(
        "a method that divides becomes a product",
        "NRM104",
        module("y = F.normalize(h, dim=-1).div(math.sqrt(h.shape[-1]))"),
        ((".div(math.sqrt(h.shape[-1]))", " * math.sqrt(h.shape[-1])"),),
    ),
]

CENTRED = "y = (h - h.mean(-1, keepdim=True)) * torch.rsqrt(v + self.eps)"
UNBIASED = [
    Case(
        "a correction is said as the message says it",
        "NRM105",
        module("v = h.var(-1, keepdim=True)", CENTRED, name="LayerNorm"),
        (("var(-1, keepdim=True", "var(-1, keepdim=True, correction=0"),),
        safe=False,
    ),
    Case(
        "unbiased is said where the file says it",
        "NRM105",
        module("s = h.std(unbiased=False)", "v = h.var(-1, keepdim=True)", CENTRED, name="LayerNorm"),
        (("var(-1, keepdim=True", "var(-1, keepdim=True, unbiased=False"),),
        safe=False,
    ),
    Case(
        "a correction is written on one line behind an argument that is not",
        "NRM105",
        module("v = h.var(-1, keepdim=", "    True)", CENTRED, name="LayerNorm"),
        (("True)\n", "True, correction=0)\n"),),
        safe=False,
    ),
    Case(
        "a flag by its place",
        "NRM105",
        module("v = torch.var(h, -1, True, True)", CENTRED, name="LayerNorm"),
        (("-1, True, True", "-1, False, True"),),
        safe=False,
    ),
    Case(
        "a correction of one",
        "NRM105",
        module(
            "v, mu = torch.var_mean(h, -1, correction=1, keepdim=True)",
            CENTRED.replace("h.mean(-1, keepdim=True)", "mu"),
            name="LayerNorm",
        ),
        (("correction=1", "correction=0"),),
        safe=False,
    ),
]


@pytest.mark.parametrize("case", STAYS, ids=lambda case: case.says)
def test_what_cannot_be_fixed_with_certainty_is_left_alone(case: Case) -> None:
    stays(case)


@pytest.mark.parametrize("case", [*NEVER, *TWICE, *OTHERS, *UNBIASED], ids=lambda case: case.says)
def test_a_count_is_fixed_in_the_spelling_of_the_file(case: Case) -> None:
    is_fixed(case)
