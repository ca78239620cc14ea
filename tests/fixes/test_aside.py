"""What a fix changes beside the norm is only shown; where another edit leaves all else as it was, that one is made."""

from __future__ import annotations

import pytest

from normlint.fixes import analyse
from normlint.text.finding import Applicability
from tests.fixes.cast_cases import HEAD, INIT, forward, function, layer
from tests.fixes.fixing import fix_text, only
from tests.fixes.formula_cases import norm

MEAN = "ms = h.abs().mean(-1, keepdim=True)"
SCALED = "(h * torch.rsqrt(ms + self.eps)) * self.weight"
MS = "ms = x.pow(2).mean(-1, keepdim=True)"
PRODUCT = "return x * torch.rsqrt(ms + self.eps) * self.weight"
OWN_MS = "    def _ms(self, x):\n        {}\n        return {}\n\n"
CORE = "def _core(x, eps):\n    {}\n    rstd = torch.rsqrt(ms + eps)\n    return x * rstd, rstd\n\n\nclass "

SHOWN = {
    "squares: another formula reads the mean": (
        "NRM403",
        norm(f"{MEAN}\nother = ms.sqrt()\nif self.training:\n    return other\nreturn {SCALED}"),
    ),
    "squares: the mean is a second output": ("NRM403", norm(f"{MEAN}\nreturn {SCALED}, ms + 1")),
    "squares: the mean is an attribute": ("NRM403", norm(f"{MEAN}\nself.last = ms\nreturn {SCALED}")),
    "squares: a line behind the norm reads the mean": (
        "NRM403",
        norm(f"{MEAN}\ny = {SCALED}\ny = torch.tanh(y)\nreturn y + ms.sqrt()"),
    ),
    "squares: a line behind it reads the mean through another name": (
        "NRM403",
        norm(f"{MEAN}\nscale = ms.sqrt()\ny = {SCALED}\ny = torch.tanh(y)\nreturn y + scale"),
    ),
    "the mean of squares, not yet centred, is summed up elsewhere": (
        "NRM404",
        norm(
            "mean = h.mean(-1, keepdim=True)\nms = h.pow(2).mean(-1, keepdim=True)\nenergy = ms.sum()\n"
            "return ((h - mean) / torch.sqrt(ms + self.eps)) * self.weight, energy",
            "LayerNorm",
        ),
    ),
    "casts: a helper gives back a pair, and its second value is an attribute": (
        "NRM201",
        forward("y, rstd = _core(x, self.eps)", "self.rstd = rstd", "return y * self.weight").replace(
            "class ", CORE.format(MS), 1
        ),
    ),
    "casts: an attribute is stored on the way": (
        "NRM201",
        forward(
            "return x * torch.rsqrt(self._ms(x) + self.eps) * self.weight",
            more=OWN_MS.format("self.ms = x.pow(2).mean(-1, keepdim=True)", "self.ms"),
        ),
    ),
    "casts: what a helper gives back is an attribute of its caller": (
        "NRM201",
        forward(
            "ms = self._ms(x)", "self.last = ms.amax()", PRODUCT, more=OWN_MS.format("y = x.pow(2)", "y.mean(-1, True)")
        ),
    ),
    "casts: mean and variance are made at once, and the mean is given back": (
        "NRM201",
        layer(
            "mean, var = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)",
            "return (x - mean) / torch.sqrt(var + self.eps) * self.weight, mean",
        ),
    ),
    "casts: two tensors are scaled by one root at once": (
        "NRM205",
        function(
            "rstd = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps).type_as(x)",
            "x, y = x * rstd * weight, y * rstd",
            "return x, y",
            parameters="x, y, weight, eps=1e-6",
        ),
    ),
    "a reduction: the mean is kept in a global": (
        "NRM101",
        function(
            "global _ms", "h = x.float()", "_ms = h.pow(2).mean()", "return (h * torch.rsqrt(_ms + eps)).type_as(x)"
        ),
    ),
    "a reduction: a closure above reads the mean": (
        "NRM101",
        function(
            "h = x.float()",
            "last = lambda: ms",
            "ms = h.pow(2).mean()",
            "y = h * torch.rsqrt(ms + eps)",
            "return y.type_as(x), last()",
        ),
    ),
    "casts: a chained assignment keeps the norm in an attribute": (
        "NRM205",
        forward(
            "h = x.float()",
            "y = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)",
            "self.out = y = y.to(torch.bfloat16)",
            "return self.weight * y",
        ),
    ),
    "casts: the root is a field of what is given back": (
        "NRM201",
        forward(MS, "rstd = torch.rsqrt(ms + self.eps)", "return Out(x * rstd * self.weight, rstd)"),
    ),
    "casts: a loop asks whether the mean square is large": (
        "NRM201",
        forward(MS, "for one in ms.flatten():", "    self.count(one)", PRODUCT),
    ),
}


@pytest.mark.parametrize(("code", "text"), SHOWN.values(), ids=SHOWN)
def test_a_fix_that_changes_more_than_the_norm_is_only_shown(code: str, text: str) -> None:
    fixes = [one.fix for one in analyse(text).findings if one.code == code]
    assert fixes
    assert all(fix is None or fix.applicability is Applicability.DISPLAY for fix in fixes)
    assert all(fix is None or "would change, too" in fix.message for fix in fixes)


ROOT = "inv = (h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()\naux = (1 - inv).abs().mean()\n"
LARGEST = "a = h.abs()\nms = {}"
CALLED = "    y.mul_(torch.rsqrt({}.pow(2).mean(-1, keepdim=True) + eps))\n    y.mul_(weight)\n"
CALLER = "\n\ndef block(x, weight):\n    rms_norm_(x, weight)\n    return x\n"
IN_PLACE = f"{HEAD}def rms_norm_(y, weight, eps=1e-6):\n{CALLED}{CALLER}"
OPTIONAL = f"{HEAD}class RMSNorm(nn.Module):\n{INIT}        self.affine = True\n\n    def forward(self, x):\n"
TEST = "        if not self.affine:\n            return y\n        return y * self.weight\n"
EITHER = f"        y = {{}} * x.shape[-1] ** 0.5\n{TEST}"
TESTED = "\n\ndef test():\n    x, w = torch.randn(2, 2, 8)\n    assert rms_norm(x, w).shape == x.shape\n"
KEPT = ("global _sq", "h = x.float()", "mean = h.mean(-1, keepdim=True)", "_sq = h.pow(2).mean(-1, keepdim=True)")
CENTRED = "return ((h - mean) * torch.rsqrt(var + eps)).type_as(x)"
PAIR = "k = x.flip(-1)\n    x, k = F.normalize({}), F.normalize({})"
MADE = {
    "what a global keeps stays": (
        "NRM204",
        function(*KEPT, "var = _sq - mean.pow(2)", CENTRED),
        function(*KEPT, "var = h.var(-1, unbiased=False, keepdim=True)", CENTRED),
    ),
    "a test that calls the function is no other norm": (
        "NRM201",
        function(MS, "return (x.float() * torch.rsqrt(ms + eps)).type_as(x) * weight") + TESTED,
        function(MS.replace("x.", "x.float()."), "return (x.float() * torch.rsqrt(ms + eps)).type_as(x) * weight")
        + TESTED,
    ),
    "the division turns round where another formula reads the root": (
        "NRM401",
        norm(f"{ROOT}return (h * inv) * self.weight, aux"),
        norm(f"{ROOT}return (h / inv) * self.weight, aux"),
    ),
    "the squares are taken behind the absolute values that are given back as well": (
        "NRM403",
        norm(f"{LARGEST.format('a')}.mean(-1, keepdim=True)\nreturn {SCALED}, a.max()"),
        norm(f"{LARGEST.format('a.pow(2)')}.mean(-1, keepdim=True)\nreturn {SCALED}, a.max()"),
    ),
    "what a helper gives back is the norm's alone": (
        "NRM201",
        forward(
            "x, r = self._both(x)",
            "return x * r * self.weight",
            more=OWN_MS.replace("_ms", "_both").format(MS, "x, torch.rsqrt(ms + self.eps)"),
        ),
        forward(
            "input_dtype = x.dtype",
            "x, r = self._both(x)",
            "return (x * r).to(input_dtype) * self.weight",
            more=OWN_MS.replace("_ms", "_both").format(
                MS.replace("x.pow", "x.float().pow"), "x, torch.rsqrt(ms + self.eps)"
            ),
        ),
    ),
    "what is changed in place keeps its dtype": ("NRM201", IN_PLACE.format("y"), IN_PLACE.format("y.float()")),
    "doubles stay doubles where the text promotes dtypes": (
        "NRM201",
        function("wide = torch.promote_types(x.dtype, torch.float32)", MS, "return x * torch.rsqrt(ms + eps) * weight"),
        function(
            "wide = torch.promote_types(x.dtype, torch.float32)",
            MS.replace("x.", "x.to(torch.promote_types(x.dtype, torch.float32))."),
            "return (x * torch.rsqrt(ms + eps)).type_as(x) * weight",
        ),
    ),
    "one cast where one of two values that are given back has no gain": (
        "NRM206",
        OPTIONAL + EITHER.format("F.normalize(x, dim=-1, eps=self.eps)"),
        OPTIONAL + EITHER.format("F.normalize(x.float(), dim=-1, eps=self.eps).type_as(x)"),
    ),
    "both norms of one assignment": (
        "NRM206",
        function(PAIR.format("x, dim=-1, eps=eps", "k, dim=-1, eps=eps"), "return x @ k.mT"),
        function(
            PAIR.format("x.float(), dim=-1, eps=eps).type_as(x", "k.float(), dim=-1, eps=eps).type_as(k"),
            "return x @ k.mT",
        ),
    ),
    "a name that the norm gives its result is nobody else's": (
        "NRM403",
        norm(f"{MEAN}\nh = {SCALED}\nh = torch.tanh(h)\nreturn h"),
        norm(f"{MEAN.replace('abs()', 'pow(2)')}\nh = {SCALED}\nh = torch.tanh(h)\nreturn h"),
    ),
}


@pytest.mark.parametrize(("code", "before", "after"), MADE.values(), ids=MADE)
def test_a_fix_that_changes_the_norm_alone_is_made(code: str, before: str, after: str) -> None:
    done = fix_text(before, only(code))
    assert done.text == after
    assert {made.fix.applicability for made in done.made} == {Applicability.SAFE}
