"""What is odd, but real: a norm spread over names, aliases and layouts is found in blocks as in the whole text."""
# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import pytest

from tests.spines import table
from tests.test_blocks import assert_same

MS = "x.pow(2).mean(-1, keepdim=True)"
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
USED = "\n\ndef apply(x):\n    return fn(x)\n\n\nclass Block(nn.Module):\n    def forward(self, x):\n        return fn(x) * 2\n"
BODIES = (
    ("a lambda that roots", "r = lambda v: v.rsqrt()\nreturn x * r(MS)"),
    ("a lambda that is called where it stands", "return (lambda v, s: v * s.rsqrt())(x, MS)"),
    ("a parameter's default", "go = lambda a, s=MS: a * s.rsqrt()\nreturn go(x)"),
    ("a nested function that roots", "def root(v):\n    return v.rsqrt()\nreturn x * root(MS)"),
    ("a nested function that gets both", "def go(*, a, s):\n    return a * s.rsqrt()\nreturn go(a=x, s=MS)"),
    ("a nested function given a tuple", "def go(a, s):\n    return a * s.rsqrt()\nt = (x, MS)\nreturn go(*t)"),
    ("a nested function's default", "def go(a, s=MS):\n    return a * s.rsqrt()\nreturn go(x)"),
    ("a comprehension's target", "return [x * s.rsqrt() for s in (MS,)][0]"),
    ("an assertion that binds", "assert (s := MS) is not None\nreturn x * s.rsqrt()"),
    ("a norm that is asserted", "s = MS\nassert torch.allclose(x * s.rsqrt(), x)"),
    ("keywords of pow", "s = MS\nreturn x * torch.pow(exponent=-0.5, input=s)"),
    ("keywords and out", "s = torch.mean(input=x ** 2, dim=-1, keepdim=True)\nreturn torch.mul(input=x, other=torch.rsqrt(input=s))"),
    ("a power in place", "s = MS\ns **= -0.5\nreturn x * s"),
    *((f"the power {power}", f"s = MS\nreturn x / s ** {power}") for power in ("+0.5", "(--0.5)", "00.5", "5e-1", "(2/4)", "(2 ** -1)")),
    ("a quotient as pow's power", "s = MS\nreturn x / s.pow(2/4)"),
)  # fmt: skip


@pytest.mark.parametrize("body", table(*BODIES))
def test_a_body_is_seen_as_in_the_whole_text(body: str) -> None:
    lines = body.replace("MS", MS).split("\n")
    function = "".join(f"    {line}\n" for line in lines)
    method = "".join(f"        {line}\n" for line in lines)
    assert_same(f"{HEAD}def apply(x):\n{function}")
    assert_same(f"{HEAD}class Block(nn.Module):\n    def forward(self, x):\n{method}")
    assert_same(f"{HEAD}class Mixin:\n    def go(self, x):\n{method}\n\nclass Block(\n    Mixin,\n    nn.Module,\n):\n"
                f"    def forward(self, x):\n        return self.go(x) * 2\n")  # fmt: skip


UNITS = (
    ("a function under another name", f"def rms(x):\n    return x * torch.rsqrt({MS})\n\n\nfn = rms\n"),
    ("the name of a name", f"def rms(x):\n    return x * torch.rsqrt({MS})\n\n\nf1 = rms\nfn = f1\n"),
    ("a partial", f"from functools import partial\n\ndef rms(x, eps):\n    return x * torch.rsqrt({MS} + eps)\n\n\nfn = partial(rms, eps=1e-6)\n"),
    ("a lambda", f"fn = lambda x: x * torch.rsqrt({MS})\n"),
    ("lambdas for the mean and the root", f"ms = lambda x: {MS}\nroot = lambda s: s.rsqrt()\n\n\ndef fn(x):\n    return x * root(ms(x))\n"),
    ("a root under another name", f"root = torch.rsqrt\n\n\ndef fn(x):\n    return x * root({MS})\n"),
    ("an imported root under another name", f"from torch import mean, \\\n    rsqrt as rr\n\n\ndef fn(x):\n    return x * rr({MS})\n"),
    ("an imported root under `if`", f"if True:\n    from torch import mean, rsqrt as rr\n\n\ndef fn(x):\n    return x * rr({MS})\n"),
    ("an imported mean under another name", "from torch import mean as m\n\n\ndef fn(x):\n    return x * torch.rsqrt(m(x * x, -1, True))\n"),
    ("an imported reduction under another name", "from torch.nn.functional import normalize as l2\n\n\ndef fn(x):\n    return l2(x, dim=-1) * 8.0\n"),
    ("a static method", f"class Ops:\n    @staticmethod\n    def rms(x):\n        return x * torch.rsqrt({MS})\n\n\ndef fn(x):\n    return Ops.rms(x)\n"),
    ("a static method that roots", f"class Ops:\n    @staticmethod\n    def root(s):\n        return s.rsqrt()\n\n\ndef fn(x):\n    return x * Ops.root({MS})\n"),
    ("a function that calls one that calls one", f"@torch.jit.script\ndef rms(x): return x * torch.rsqrt({MS})\ndef fn(x): return rms(x)\n"),
    ("a function in each step", f"def mul(x, r):\n    return x * r\n\n\ndef root(x):\n    return x.rsqrt()\n\n\ndef fn(x):\n    return mul(x, root({MS}))\n"),
    ("a function in a `try`", f"try:\n    from apex import fn\nexcept ImportError:\n    def fn(x):\n        return x * torch.rsqrt({MS})\n"),
    ("a closure that is made", f"def make(eps):\n    def inner(x):\n        return x * torch.rsqrt({MS} + eps)\n    return inner\n\n\nfn = make(1e-6)\n"),
    ("three quotes in quotes, twice", f"Q = '\"\"\"'\ndef fn(x):\n    s = {MS}\n    return x * s.rsqrt()\n\n\nZ = '\"\"\"'\n"),
)  # fmt: skip


@pytest.mark.parametrize("unit", table(*UNITS))
def test_a_unit_is_seen_as_a_whole(unit: str) -> None:
    assert_same(f"{HEAD}{unit}")
    assert_same(f"{HEAD}{unit}{USED}")


def test_imports_under_a_try_belong_to_the_block() -> None:
    imports = "try:\n    import torch\n    from torch import rsqrt\nexcept ImportError:\n    pass\n"
    assert_same(f"{imports}\n\ndef rms_norm(x):\n    return x * rsqrt({MS})\n")
