"""NRM601 and NRM602: one operation for two, one call for a norm."""

from __future__ import annotations

import pytest

from tests.fixes.module_cases import (
    HEAD,
    NORM,
    RETURN,
    SAFE,
    UNSAFE,
    FixedText,
    forward,
    function,
    is_fixed,
    made,
    stays,
)

MS = "h.pow(2).mean(-1, keepdim=True) + eps"


def rooted(*lines: str) -> str:
    return function("h = x.float()", *lines, "return y.type_as(x) * weight")


STAYS = {
    "the root is used for something else, too": (
        "NRM601",
        rooted(f"rms = torch.sqrt({MS})", "y = h / rms", "y = y + 0 * rms"),
    ),
    "the helper gives the root back": (
        "NRM601",
        f"import torch\n\n\ndef _rms(h, eps):\n    return torch.sqrt({MS})\n\n\n"
        "def rms_norm(x, weight, eps=1e-6):\n    h = x.float()\n    return (h / _rms(h, eps)).type_as(x) * weight\n",
    ),
    "a function that does more": (
        "NRM602",
        forward("h = x.float()", NORM, "self.seen = x.shape", RETURN),
    ),
    "a norm with another way beside it": (
        "NRM602",
        forward("if self.fused:", "    return fused(x)", "h = x.float()", NORM, RETURN),
    ),
    "a norm that is one of two results": ("NRM602", forward("h = x.float()", NORM, "return h.type_as(x), x")),
    "the text makes one with a gain for each head": (
        "NRM602",
        forward("h = x.float()", NORM, RETURN) + "\n\nnorm = RMSNorm((8, 64))\n",
    ),
    "a gain of several axes": (
        "NRM602",
        forward("h = x.float()", NORM, RETURN).replace("torch.ones(dim)", "torch.ones(8, 1, dim)"),
    ),
    "the gain of a module inside": (
        "NRM602",
        forward("h = x.float()", NORM, RETURN)
        .replace("self.weight = ", "self.inner = nn.Module()\n        self.inner.weight = ")
        .replace("* self.weight", "* self.inner.weight"),
    ),
    "what is given back in fp32": (
        "NRM602",
        f"import torch\n\n\ndef rms_norm_fp32(x, weight, eps=1e-6):\n    h = x.float()\n"
        f"    return h * torch.rsqrt({MS}) * weight.float()\n",
    ),
    "an eps that is made on the way": (
        "NRM602",
        forward("eps = self.eps * 2", "h = x.float()", NORM.replace("self.eps", "eps"), RETURN),
    ),
    "a private method computes it": (
        "NRM602",
        made(forward=("return self._norm(x.float()).type_as(x) * self.weight",)).replace(
            "    def forward",
            "    def _norm(self, h):\n        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)\n\n"
            "    def forward",
        ),
    ),
    "the base class computes it, for others as well": (
        "NRM602",
        made().replace("RMSNorm", "Base").replace("def forward", "def _norm")
        + "\n\nclass RMSNorm(Base):\n    def forward(self, x):\n        y = self._norm(x)\n        return y\n",
    ),
}

MENDED = {
    "one over a root": (
        ("NRM601", SAFE),
        rooted(f"y = h * (1 / torch.sqrt({MS}))"),
        ((f"(1 / torch.sqrt({MS}))", f"torch.rsqrt({MS})"),),
    ),
    "divided by a root": (
        ("NRM601", SAFE),
        rooted(f"y = h / torch.sqrt({MS})"),
        (("h / torch.sqrt", "h * torch.rsqrt"),),
    ),
    "divided by a method's": (
        ("NRM601", SAFE),
        rooted(f"y = h.div(({MS}).sqrt())"),
        ((f"h.div(({MS}).sqrt())", f"h * torch.rsqrt({MS})"),),
    ),
    "divided by a power": (
        ("NRM601", SAFE),
        rooted(f"y = h / ({MS}) ** 0.5"),
        ((f"h / ({MS}) ** 0.5", f"h * torch.rsqrt({MS})"),),
    ),
    "divided by torch's power": (
        ("NRM601", SAFE),
        rooted(f"y = h / torch.pow({MS}, 0.5)"),
        (("h / torch.pow", "h * torch.rsqrt"), (", 0.5)", ")")),
    ),
    "through a name, which goes": (
        ("NRM601", SAFE),
        rooted(f"rms = torch.sqrt({MS})", "y = h / rms"),
        ((f"    rms = torch.sqrt({MS})\n", ""), ("h / rms", f"h * torch.rsqrt({MS})")),
    ),
    "through a name that is given another value afterwards": (
        ("NRM601", SAFE),
        rooted(f"r = torch.sqrt({MS})", "y = h / r", "r = None"),
        ((f"    r = torch.sqrt({MS})\n", ""), ("h / r", f"h * torch.rsqrt({MS})")),
    ),
    "a function": (
        ("NRM602", UNSAFE),
        rooted(f"y = h * torch.rsqrt({MS})"),
        (
            (
                f"    h = x.float()\n    y = h * torch.rsqrt({MS})\n    return y.type_as(x) * weight\n",
                "    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)\n",
            ),
        ),
    ),
    "a forward, whose docstring stays": (
        ("NRM602", UNSAFE),
        forward('"""Normalises."""', "h = x.float()", NORM, RETURN),
        (
            (
                f"        h = x.float()\n        {NORM}\n        {RETURN}\n",
                "        return nn.functional.rms_norm(x, x.shape[-1:], self.weight, self.eps)\n",
            ),
        ),
    ),
    "a norm without a gain": (
        ("NRM602", UNSAFE),
        forward("h = x.float()", NORM, "return h.type_as(x)").replace(
            "        self.weight = nn.Parameter(torch.ones(dim))\n", ""
        ),
        (
            (
                f"        h = x.float()\n        {NORM}\n        return h.type_as(x)\n",
                "        return nn.functional.rms_norm(x, x.shape[-1:], eps=self.eps)\n",
            ),
        ),
    ),
    "a gain to which 1 is added in fp32": (
        ("NRM602", UNSAFE),
        forward("h = x.float()", NORM, "return (h * (1.0 + self.weight.float())).type_as(x)").replace(
            "torch.ones", "torch.zeros"
        ),
        (
            (
                f"        h = x.float()\n        {NORM}\n        return (h * (1.0 + self.weight.float())).type_as(x)\n",
                "        return nn.functional.rms_norm(x, x.shape[-1:], 1 + self.weight.float(), self.eps)\n",
            ),
        ),
    ),
    "a layer norm, and the gain of one more": (
        ("NRM602", UNSAFE),
        made(
            "self.weight = nn.Parameter(torch.zeros(dim))",
            "self.bias = nn.Parameter(torch.zeros(dim))",
            head=HEAD.replace("RMSNorm", "LayerNorm").replace(
                "import nn", "import nn\nfrom torch.nn import functional as F"
            ),
            forward=(
                "h = x.float()",
                "h = h - h.mean(-1, keepdim=True)",
                NORM,
                "return (h * (1 + self.weight) + self.bias).type_as(x)",
            ),
        ),
        (
            (
                "        h = x.float()\n        h = h - h.mean(-1, keepdim=True)\n"
                f"        {NORM}\n        return (h * (1 + self.weight) + self.bias).type_as(x)\n",
                "        return F.layer_norm(x, x.shape[-1:], 1 + self.weight, self.bias, self.eps)\n",
            ),
        ),
    ),
}


@pytest.mark.parametrize(("code", "text"), STAYS.values(), ids=STAYS)
def test_what_cannot_be_fixed_with_certainty_is_reported_and_stays(code: str, text: str) -> None:
    stays(code, text)


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED)
def test_what_is_fixed_reads_as_its_author_would_have_written_it(case: FixedText) -> None:
    is_fixed(case)
