"""What casts are fixed from and to: the code that stays first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEAD: Final = """import torch
import torch.nn.functional as F
from torch import nn


"""
INIT: Final = """    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
"""


@dataclass(frozen=True, slots=True)
class Case:
    """The text before and after; the same where nothing is fixed."""

    says: str
    code: str
    before: str
    after: str = ""


CALLER: Final = """

class Router(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.weight = nn.Parameter(torch.zeros(experts, dim, dtype=torch.float32))

    def forward(self, x):
        x = self.norm(x)
        {}
        return x
"""
LENGTH: Final = "torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)"


def forward(*lines: str, name: str = "RMSNorm", more: str = "") -> str:
    """A module with these lines in its forward."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}class {name}(nn.Module):\n{INIT}\n{more}    def forward(self, x):\n{body}"


def layer(*lines: str) -> str:
    """A layer norm."""
    return forward(*lines, name="LayerNorm")


def function(*lines: str, name: str = "rms_norm", parameters: str = "x, weight, eps=1e-6") -> str:
    """A function."""
    return f"{HEAD}def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def helper(line: str, *lines: str, parameters: str = "x") -> str:
    """A private helper that returns `line`, and the forward that calls it."""
    return forward(*lines, more=f"    def _norm(self, {parameters}):\n        return {line}\n\n")


SCALE: Final = "torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"
MEAN: Final = "ms = x.pow(2).mean(-1, keepdim=True)"
WIDE: Final = "ms = x.float().pow(2).mean(-1, keepdim=True)"
Y: Final = "return self.weight * (x * torch.rsqrt(ms + self.eps))"
BACK: Final = "return self.weight * (x * torch.rsqrt(ms + self.eps)).type_as(x)"
ROOT: Final = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"

RAISED: Final = "x.to(torch.promote_types(x.dtype, torch.float32))"
CHECKED: Final = "\n\ndef check(norm, x):\n    torch.autograd.gradcheck(norm, x)\n"
DOUBLE: Final = "\n\nDOUBLE = torch.float64\n"
NORMED: Final = "h = h * torch.rsqrt(ms + self.eps) * self.weight"
CENTRE: Final = (
    "mean = x.mean(-1, keepdim=True)",
    "std = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + self.eps)",
)
KEYS: Final = """import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.to_kv = nn.Linear(dim, 2 * dim)
        self.k_scale = nn.Parameter(torch.ones(dim // heads))

    def forward(self, x):
        b, n, d = x.shape
        k, v = self.to_kv(x).chunk(2, dim=-1)
        k = k.view(b, n, self.heads, d // self.heads)
        k = {}
        return (k * v.view_as(k)).reshape(b, n, d)
"""

SOUND: Final = [
    Case(
        "a statistic in the dtype of the gain, which may well be fp32",
        "NRM205",
        forward(WIDE, "return x * torch.rsqrt(ms + self.eps).to(self.weight.dtype) * self.weight"),
    ),
    Case(
        "the cast stands in the caller",
        "NRM201",
        helper(ROOT, "return self._norm(x.float()).type_as(x) * self.weight"),
    ),
    Case(
        "a helper is called with and without the cast",
        "NRM201",
        helper(ROOT, "if self.training:", "    return self._norm(x.float()).type_as(x)", "return self._norm(x)"),
    ),
]

UNCLEAR: Final = [
    Case(
        "what comes in may be no tensor, and have no dtype",
        "NRM203",
        function(
            "x = torch.as_tensor(x)",
            "x = x.float()",
            "x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
            "return x * weight",
        ),
    ),
    Case(
        "complex numbers are no floats",
        "NRM206",
        forward(
            '"""x: complex samples."""', "return x / x.norm(dim=-1, keepdim=True) * x.shape[-1] ** 0.5 * self.weight"
        ),
    ),
    Case(
        "another formula with the statistic is given back as it is",
        "NRM201",
        forward(MEAN, "if self.training:", "    return x - ms", Y),
    ),
    Case(
        "a half input is what is asked for",
        "NRM205",
        forward("x = x.half()", WIDE, "return self.weight * (x * torch.rsqrt(ms + self.eps)).to(x.dtype)"),
    ),
    Case(
        "the only line of its block casts the statistic",
        "NRM205",
        forward(
            WIDE,
            "if True:",
            "    ms = ms.half()",
            "return self.weight * (x * torch.rsqrt(ms + self.eps)).type_as(x)",
        ),
    ),
]

GATED: Final = (
    HEAD
    + """class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, cond=None):
        super().__init__()
        self.eps = eps
        self.to_gate = None if cond is None else nn.Linear(cond, dim)
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, cond=None):
        out = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
        if self.to_gate is None:
            return out
        return out * self.to_gate(cond).chunk(2, dim=-1)[0]
"""
)
GATED_ONCE: Final = GATED.replace("x * torch.rsqrt(x.pow", "(x * torch.rsqrt(x.float().pow").replace(
    "self.eps) * self", "self.eps)).type_as(x) * self"
)

UPCAST: Final = [
    Case(
        "squares that both branches take in the same words",
        "NRM201",
        forward(
            "if self.training:",
            "    ms = x.pow(2).mean(-1, keepdim=True)",
            "else:",
            "    ms = x.pow(2).mean(-1, keepdim=True)",
            "return x * torch.rsqrt(ms + self.eps) * self.weight",
        ),
        forward(
            "if self.training:",
            "    ms = x.float().pow(2).mean(-1, keepdim=True)",
            "else:",
            "    ms = x.float().pow(2).mean(-1, keepdim=True)",
            "return (x * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case("an output that another layer scales on one path, cast once", "NRM201", GATED, GATED_ONCE),
    Case(
        "a layer norm whose gain and bias join on lines of their own, which may promote it",
        "NRM201",
        function(
            "c = x - x.mean(-1, keepdim=True)",
            "y = c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + eps)",
            "y = y * weight",
            "y = y + bias",
            "return y",
            name="layer_norm",
            parameters="x, weight, bias, eps=1e-5",
        ),
        function(
            "c = x - x.float().mean(-1, keepdim=True)",
            "y = (c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + eps)).type_as(x)",
            "y = y * weight",
            "y = y + bias",
            "return y",
            name="layer_norm",
            parameters="x, weight, bias, eps=1e-5",
        ),
    ),
    Case(
        "what an assert holds to the dtype that came in",
        "NRM201",
        function(
            "y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
            "assert y.dtype == x.dtype",
            "y = y * weight",
            "return y",
        ),
        function(
            "y = (x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)).type_as(x)",
            "assert y.dtype == x.dtype",
            "y = y * weight",
            "return y",
        ),
    ),
    Case(
        "an rms norm whose gain joins in a call, which may promote it",
        "NRM201",
        function(
            "y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
            "return torch.mul(y, weight)",
        ),
        function(
            "y = (x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)).type_as(x)",
            "return torch.mul(y, weight)",
        ),
    ),
    Case(
        "a layer norm, before its gain and its bias, which may promote it",
        "NRM201",
        function(
            "mean = x.mean(-1, keepdim=True)",
            "var = (x - mean).pow(2).mean(-1, keepdim=True)",
            "return (x - mean) / torch.sqrt(var + eps) * weight + bias",
            name="layer_norm",
            parameters="x, weight, bias, eps=1e-5",
        ),
        function(
            "mean = x.float().mean(-1, keepdim=True)",
            "var = (x - mean).pow(2).mean(-1, keepdim=True)",
            "return ((x - mean) / torch.sqrt(var + eps)).type_as(x) * weight + bias",
            name="layer_norm",
            parameters="x, weight, bias, eps=1e-5",
        ),
    ),
    Case(
        "what two returns give back is cast where it is made",
        "NRM206",
        forward("y = F.normalize(x, dim=-1)", "if self.training:", "    return y * self.weight", "return y"),
        forward(
            "y = F.normalize(x.float(), dim=-1).type_as(x)",
            "if self.training:",
            "    return y * self.weight",
            "return y",
        ),
    ),
    Case(
        "where gradients are checked in fp64, halves alone are raised",
        "NRM201",
        forward(MEAN, Y) + CHECKED,
        forward(MEAN.replace("x.", f"{RAISED}."), BACK) + CHECKED,
    ),
    Case(
        "beside the plain cast that the file has, fp64 or not",
        "NRM201",
        forward("y = self.scale.float()", MEAN, Y) + DOUBLE,
        forward("y = self.scale.float()", WIDE, BACK) + DOUBLE,
    ),
    Case(
        "an output in fp32 is cast to a dtype that this cast has not changed",
        "NRM201",
        layer(*CENTRE, "return ((x - mean) / std * self.weight).float()"),
        layer(
            *(line.replace("x.", "x.float().") for line in CENTRE), "return ((x - mean) / std * self.weight).float()"
        ),
    ),
    Case(
        "a gain that comes first stays outside, where parameters in fp32 promote it",
        "NRM201",
        forward("return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"),
        forward(
            "return self.weight * (x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)"
        ),
    ),
    Case(
        "what is bound anew is cast back where it is made, before another tensor joins",
        "NRM201",
        KEYS.format("k * torch.rsqrt(k.square().mean(-1, keepdim=True) + 1e-6) * self.k_scale"),
        KEYS.format("(k * torch.rsqrt(k.float().square().mean(-1, keepdim=True) + 1e-6)).type_as(k) * self.k_scale"),
    ),
    Case("a mean of squares", "NRM201", forward(MEAN, Y), forward(WIDE, BACK)),
    Case(
        "a product by einsum: both of its tensors, not its letters",
        "NRM201",
        forward('ms = torch.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]', Y),
        forward('ms = torch.einsum("...d,...d->...", x.float(), x.float())[..., None] / x.shape[-1]', BACK),
    ),
    Case(
        "the output is cast back already",
        "NRM201",
        forward(MEAN, "return (self.weight * (x * torch.rsqrt(ms + self.eps))).to(x.dtype)"),
        forward(WIDE, "return (self.weight * (x * torch.rsqrt(ms + self.eps))).to(x.dtype)"),
    ),
    Case(
        "a power by its operator",
        "NRM201",
        forward("ms = (x ** 2).mean(-1, keepdim=True)", Y),
        forward("ms = (x.float() ** 2).mean(-1, keepdim=True)", BACK),
    ),
    Case(
        "a power by a function",
        "NRM201",
        forward("ms = torch.mean(torch.pow(x, 2), -1, keepdim=True)", Y),
        forward("ms = torch.mean(torch.pow(x.float(), 2), -1, keepdim=True)", BACK),
    ),
    Case(
        "a product with itself needs one cast, not two",
        "NRM201",
        forward("ms = (x * x).mean(-1, keepdim=True)", Y),
        forward("ms = x.float().pow(2).mean(-1, keepdim=True)", BACK),
    ),
    Case(
        "a product as an argument",
        "NRM201",
        forward("ms = torch.mean(x * x, -1, keepdim=True)", Y),
        forward("ms = torch.mean(x.float().pow(2), -1, keepdim=True)", BACK),
    ),
    Case(
        "what binds less than a call gets parentheses",
        "NRM201",
        forward("ms = torch.mean(torch.square(-x), -1, keepdim=True)", Y),
        forward("ms = torch.mean(torch.square((-x).float()), -1, keepdim=True)", BACK),
    ),
    Case(
        "a layer norm is cast where its mean is taken",
        "NRM201",
        layer(
            "mean = x.mean(-1, keepdim=True)",
            "c = x - mean",
            "var = c.pow(2).mean(-1, keepdim=True)",
            "return c * torch.rsqrt(var + self.eps) * self.weight",
        ),
        layer(
            "mean = x.float().mean(-1, keepdim=True)",
            "c = x - mean",
            "var = c.pow(2).mean(-1, keepdim=True)",
            "return (c * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case(
        "a mean and a variance of the input, each where it is taken",
        "NRM201",
        layer(
            "input_dtype = x.dtype",
            "mean = x.mean(-1, keepdim=True)",
            "var = x.var(-1, keepdim=True, unbiased=False)",
            "return ((x - mean) * torch.rsqrt(var + self.eps)).to(input_dtype) * self.weight",
        ),
        layer(
            "input_dtype = x.dtype",
            "mean = x.float().mean(-1, keepdim=True)",
            "var = x.float().var(-1, keepdim=True, unbiased=False)",
            "return ((x - mean) * torch.rsqrt(var + self.eps)).to(input_dtype) * self.weight",
        ),
    ),
    Case(
        "the comment above them stays there",
        "NRM201",
        layer(
            "# both at once",
            "mean = x.mean(-1, keepdim=True)",
            "var = x.var(-1, keepdim=True, unbiased=False)",
            "return (x - mean) * torch.rsqrt(var + self.eps) * self.weight",
        ),
        layer(
            "# both at once",
            "mean = x.float().mean(-1, keepdim=True)",
            "var = x.float().var(-1, keepdim=True, unbiased=False)",
            "return ((x - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case(
        "each of two is cast where the dtype is asked for later",
        "NRM201",
        layer(
            "mean = x.mean(-1, keepdim=True)",
            "var = x.var(-1, keepdim=True, unbiased=False)",
            "return ((x - mean) * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight",
        ),
        layer(
            "mean = x.float().mean(-1, keepdim=True)",
            "var = x.float().var(-1, keepdim=True, unbiased=False)",
            "return ((x - mean) * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight",
        ),
    ),
    Case(
        "a helper that gives the scale back is cast inside, and the product in its caller",
        "NRM201",
        helper(SCALE, "y = x * self._norm(x)", "return y * self.weight"),
        helper(SCALE.replace("x.pow", "x.float().pow"), "y = (x * self._norm(x)).type_as(x)", "return y * self.weight"),
    ),
    Case(
        "a private helper is cast inside",
        "NRM201",
        helper(ROOT, "return self._norm(x) * self.weight"),
        helper(f"({ROOT.replace('(x.', '(x.float().')}).type_as(x)", "return self._norm(x) * self.weight"),
    ),
    Case(
        "a helper that asks for the dtype is cast inside",
        "NRM201",
        helper(f"({ROOT}).to(x.dtype)", "return self._norm(x) * self.weight"),
        helper(f"({ROOT.replace('(x.', '(x.float().')}).to(x.dtype)", "return self._norm(x) * self.weight"),
    ),
    Case(
        "a function of its own is cast inside, for whoever calls it",
        "NRM201",
        function("ms = x.pow(2).mean(-1, keepdim=True)", "return x * torch.rsqrt(ms + eps) * weight"),
        function(
            "ms = x.float().pow(2).mean(-1, keepdim=True)",
            "return (x * torch.rsqrt(ms + eps)).type_as(x) * weight",
        ),
    ),
    Case(
        "the cast is spelled as elsewhere in the text",
        "NRM201",
        forward(MEAN, Y) + "\n\ndef other(y):\n    return y.to(torch.float32).sum().to(y.dtype)\n",
        forward(WIDE, BACK).replace(".float()", ".to(torch.float32)").replace(".type_as(x)", ".to(x.dtype)")
        + "\n\ndef other(y):\n    return y.to(torch.float32).sum().to(y.dtype)\n",
    ),
    Case(
        "the dtype that the forward keeps is used",
        "NRM201",
        forward("dtype, eps = x.dtype, self.eps", MEAN, "x = x * torch.rsqrt(ms + eps)", "return self.weight * x"),
        forward(
            "dtype, eps = x.dtype, self.eps",
            WIDE,
            "x = (x * torch.rsqrt(ms + eps)).to(dtype)",
            "return self.weight * x",
        ),
    ),
    Case(
        "a name that is bound anew is cast where it still means the input",
        "NRM201",
        forward(MEAN, "x = x * torch.rsqrt(ms + self.eps)", "if self.training:", "    x = x * self.weight", "return x"),
        forward(
            WIDE,
            "x = (x * torch.rsqrt(ms + self.eps)).type_as(x)",
            "if self.training:",
            "    x = x * self.weight",
            "return x",
        ),
    ),
    Case(
        "a length, for those who ask for it",
        "NRM206",
        forward("return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight"),
        forward("return (F.normalize(x.float(), dim=-1) * x.shape[-1] ** 0.5).type_as(x) * self.weight"),
    ),
]

LATE: Final = [
    Case(
        "behind the square",
        "NRM202",
        forward("ms = x.pow(2).float().mean(-1, keepdim=True)", BACK),
        forward(WIDE, BACK),
    ),
    Case(
        "around a product in parentheses",
        "NRM202",
        forward("ms = (x * x).float().mean(-1, keepdim=True)", BACK),
        forward(WIDE, BACK),
    ),
    Case(
        "a line of its own goes",
        "NRM202",
        forward(MEAN, "ms = ms.to(torch.float32)", BACK),
        forward(WIDE.replace(".float()", ".to(torch.float32)"), BACK),
    ),
    Case(
        "parentheses that only held the cast go with it",
        "NRM202",
        forward("ms = (x.pow(2).sum(-1, keepdim=True) / x.shape[-1]).float()", BACK),
        forward("ms = x.float().pow(2).sum(-1, keepdim=True) / x.shape[-1]", BACK),
    ),
]

DOWNCAST: Final = [
    Case(
        "a tuple is no tensor",
        "NRM203",
        forward("h = x.float()", WIDE.replace("x.float()", "h"), NORMED, "return (h, None) if self.training else h"),
        forward(
            "h = x.float()",
            WIDE.replace("x.float()", "h"),
            NORMED,
            "return (h.type_as(x), None) if self.training else h.type_as(x)",
        ),
    ),
    Case(
        "the product before the gain",
        "NRM203",
        forward("h = x.float()", "return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))"),
        forward(
            "h = x.float()",
            "return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)",
        ),
    ),
    Case(
        "the product before the gain in a method",
        "NRM203",
        forward("h = x.float()", f"return h.div({LENGTH}).mul(self.weight)"),
        forward("h = x.float()", f"return h.div({LENGTH}).type_as(x).mul(self.weight)"),
    ),
    Case(
        "a gain that the product begins with stays outside",
        "NRM203",
        forward("h = x.float()", f"return self.weight * h / {LENGTH}"),
        forward("h = x.float()", f"return self.weight * (h / {LENGTH}).type_as(x)"),
    ),
    *(
        Case(
            f"what is given back, where {says}",
            "NRM203",
            forward("h = x.float()", f"h = h / {LENGTH}", line, f"return {given}"),
            forward("h = x.float()", f"h = h / {LENGTH}", line, "return h.type_as(x)"),
        )
        for says, line, given in (
            ("it is cast to fp32 itself", "h = h * self.weight", "h.float()"),
            ("the gain is", "h = self.weight.float() * h", "h"),
        )
    ),
    *(
        Case(
            f"what is given back, where {says}",
            "NRM203",
            forward("h = x.float()", f"h = h / {LENGTH}", *lines, f"return {given}"),
            forward("h = x.float()", f"h = h / {LENGTH}", *lines, f"return {given}.type_as(x)"),
        )
        for says, lines, given in (
            ("gain and bias are lines of their own", ("h = h * self.weight", "h = h + self.bias"), "h"),
            ("they join in place", ("h *= self.weight", "h += self.bias"), "h"),
            ("they join in one call", (), "torch.addcmul(self.bias, h, self.weight)"),
        )
    ),
    Case(
        "what is given back, where another line reads the product",
        "NRM203",
        forward("h = x.float()", f"h = h / {LENGTH}", "self.loss = h.sum()", "h = h * self.weight", "return h"),
        forward(
            "h = x.float()", f"h = h / {LENGTH}", "self.loss = h.sum()", "h = h * self.weight", "return h.type_as(x)"
        ),
    ),
    Case(
        "the dtype of the input, where that of another tensor is kept",
        "NRM203",
        forward("kept = at.dtype", "h = x.float()", f"y = h / {LENGTH}", "return y * self.weight").replace(
            "forward(self, x", "forward(self, x, at"
        ),
        forward("kept = at.dtype", "h = x.float()", f"y = h / {LENGTH}", "return y.type_as(x) * self.weight").replace(
            "forward(self, x", "forward(self, x, at"
        ),
    ),
    Case(
        "an input that is gone leaves its dtype",
        "NRM203",
        forward("x = x.float()", MEAN, Y),
        forward("input_dtype = x.dtype", "x = x.float()", MEAN, BACK.replace("type_as(x)", "to(input_dtype)")),
    ),
    Case(
        "the docstring stays in front",
        "NRM203",
        forward('"""Normalise."""', "x = x.double()", MEAN, Y),
        forward(
            '"""Normalise."""',
            "input_dtype = x.dtype",
            "x = x.double()",
            MEAN,
            BACK.replace("type_as(x)", "to(input_dtype)"),
        ),
    ),
    Case(
        "the name is one that is free",
        "NRM203",
        forward("input_dtype = torch.float32", "x = x.float()", MEAN, Y),
        forward(
            "x_dtype = x.dtype",
            "input_dtype = torch.float32",
            "x = x.float()",
            MEAN,
            BACK.replace("type_as(x)", "to(x_dtype)"),
        ),
    ),
    Case(
        "the name has a number where all others are taken",
        "NRM203",
        forward("input_dtype, x_dtype = torch.float32, torch.float16", "x = x.float()", MEAN, Y),
        forward(
            "x_dtype2 = x.dtype",
            "input_dtype, x_dtype = torch.float32, torch.float16",
            "x = x.float()",
            MEAN,
            BACK.replace("type_as(x)", "to(x_dtype2)"),
        ),
    ),
    Case(
        "both ways out",
        "NRM203",
        forward(
            "h = x.float()",
            "h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)",
            "if self.training:",
            "    return h * self.weight",
            "return h",
        ),
        forward(
            "h = x.float()",
            "h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)",
            "if self.training:",
            "    return h.type_as(x) * self.weight",
            "return h.type_as(x)",
        ),
    ),
]

ONE_PASS: Final = [
    Case(
        "the dtype of the sum becomes that of the input",
        "NRM204",
        layer(
            "mu = x.mean(-1, keepdim=True)",
            "var = torch.sum(x**2, -1, keepdim=True, dtype=torch.float32) / x.shape[-1] - mu.float() * mu.float()",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps)).type_as(x)",
        ),
        layer(
            "mu = x.mean(-1, keepdim=True)",
            "var = torch.var(x.to(torch.float32), -1, unbiased=False, keepdim=True)",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps)).type_as(x)",
        ),
    ),
    Case(
        "a mean that is written out three times, twice in the difference",
        "NRM204",
        layer(
            "x = x.float()",
            "centred = torch.sub(x, x.mean([-1]).unsqueeze(-1))",
            "var = (x**2).mean(dim=[-1]).unsqueeze(-1) - x.mean([-1]).unsqueeze(-1) * x.mean([-1]).unsqueeze(-1)",
            "return self.weight * (centred / torch.sqrt(var + self.eps))",
        ),
        layer(
            "x = x.float()",
            "centred = torch.sub(x, x.mean([-1]).unsqueeze(-1))",
            "var = x.var([-1], unbiased=False).unsqueeze(-1)",
            "return self.weight * (centred / torch.sqrt(var + self.eps))",
        ),
    ),
    Case(
        "what puts the axis back stays",
        "NRM204",
        layer(
            "x = x.float()",
            "mu = x.mean(-1, keepdim=True)",
            "var = (x * x).mean(-1).unsqueeze(-1) - mu * mu",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps))",
        ),
        layer(
            "x = x.float()",
            "mu = x.mean(-1, keepdim=True)",
            "var = x.var(-1, unbiased=False).unsqueeze(-1)",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps))",
        ),
    ),
    Case(
        "a product in parentheses that stands in a line of its own leaves them behind",
        "NRM204",
        layer(
            "x = x.float()",
            "mu = x.mean(-1, keepdim=True)",
            "ms = (x * x).mean(-1, keepdim=True)",
            "var = ms - mu * mu",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps))",
        ),
        layer(
            "x = x.float()",
            "mu = x.mean(-1, keepdim=True)",
            "var = x.var(-1, unbiased=False, keepdim=True)",
            "return self.weight * ((x - mu) / torch.sqrt(var + self.eps))",
        ),
    ),
    Case(
        "the variance is torch's own",
        "NRM204",
        layer(
            "h = x.float()",
            "mean = h.mean(-1, keepdim=True)",
            "var = h.pow(2).mean(-1, keepdim=True) - mean.pow(2)",
            "return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
        layer(
            "h = x.float()",
            "mean = h.mean(-1, keepdim=True)",
            "var = h.var(-1, unbiased=False, keepdim=True)",
            "return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case(
        "a product of two names is a square, and what is centred stays",
        "NRM204",
        layer(
            "h = x.float()",
            "mean = h.mean(-1, keepdim=True)",
            "c = h - mean",
            "var = (h * h).mean(-1, keepdim=True) - mean * mean",
            "return (c * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
        layer(
            "h = x.float()",
            "mean = h.mean(-1, keepdim=True)",
            "c = h - mean",
            "var = h.var(-1, unbiased=False, keepdim=True)",
            "return (c * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case(
        "what the difference alone read goes",
        "NRM204",
        layer(
            "h = x.float()",
            "ms = h.pow(2).mean(-1, keepdim=True)",
            "mean = h.mean(-1, keepdim=True)",
            "var = ms - mean ** 2",
            "return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
        layer(
            "h = x.float()",
            "mean = h.mean(-1, keepdim=True)",
            "var = h.var(-1, unbiased=False, keepdim=True)",
            "return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight",
        ),
    ),
    Case(
        "a mean over two axes, which the input can't be less",
        "NRM204",
        layer(
            "h = x.float()",
            "mean = h.mean(dim=(-2, -1))",
            "var = h.pow(2).mean(dim=(-2, -1)) - mean.pow(2)",
            "h = (h - mean[..., None, None]) * torch.rsqrt(var[..., None, None] + self.eps)",
            "return h.type_as(x) * self.weight",
        ),
        layer(
            "h = x.float()",
            "mean = h.mean(dim=(-2, -1))",
            "var = h.var((-2, -1), unbiased=False)",
            "h = (h - mean[..., None, None]) * torch.rsqrt(var[..., None, None] + self.eps)",
            "return h.type_as(x) * self.weight",
        ),
    ),
]

T5: Final = (
    "h = x * torch.rsqrt(ms + self.eps)",
    "if self.weight.dtype in (torch.float16, torch.bfloat16):",
    "    h = h.to(self.weight.dtype)",
    "return self.weight * h",
)
NARROWED: Final = [
    Case(
        "where a gain is fp32, it may promote what is given back",
        "NRM205",
        forward(WIDE.replace("keepdim=True)", "keepdim=True).half()"), *T5),
        forward(WIDE, *T5),
    ),
    Case(
        "the cast of the scale moves to the product",
        "NRM205",
        forward(WIDE, "return x * torch.rsqrt(ms + self.eps).to(x.dtype) * self.weight"),
        forward(WIDE, "return (x * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight"),
    ),
    Case(
        "the cast of the statistic goes where the product is cast back",
        "NRM205",
        forward(WIDE.replace("keepdim=True)", "keepdim=True).half()"), BACK),
        forward(WIDE, BACK),
    ),
    Case(
        "a line of its own goes with its cast",
        "NRM205",
        forward(WIDE, "ms = ms.to(x.dtype)", BACK),
        forward(WIDE, BACK),
    ),
]

FIXED: Final = [
    *(
        Case(
            f"a caller {says}",
            "NRM203",
            forward("h = x.float()", f"return h / {LENGTH}") + caller,
            forward("h = x.float()", f"return (h / {LENGTH}).type_as(x)") + caller,
        )
        for says, caller in {
            "has a weight in fp32": CALLER.format("x = F.linear(x, self.weight)"),
            "goes on in fp32": "\n\ndef router(x):\n    return RMSNorm(8)(x) @ x.float().mT\n",
        }.items()
    ),
    Case(
        "where halves are asked for by name, somebody meant what they come to",
        "NRM201",
        forward("if x.dtype == torch.float16:", f"    {MEAN}", f"    {Y}", "return x"),
        forward("if x.dtype == torch.float16:", f"    {WIDE}", f"    {BACK}", "return x"),
    ),
    Case(
        "a fixed half becomes the input's dtype",
        "NRM205",
        forward(WIDE, "return self.weight * (x * torch.rsqrt(ms + self.eps)).half()"),
        forward(WIDE, BACK),
    ),
]

MENDED: Final = [*UPCAST, *LATE, *DOWNCAST, *ONE_PASS, *NARROWED]
