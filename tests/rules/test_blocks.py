"""A unit is read in blocks, and only where a norm may be: the answers are those of reading all of it."""
# ruff: noqa: E501 - a case is a line

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.evaluate.module import Module
from normlint.norm.blocks import blocks
from normlint.rules import Analysis, analysed
from normlint.rules.blocks import LightAnalysis, analyse_blocks
from normlint.text.finding import Span
from normlint.text.marks import may_hold_norm
from tests.evaluate.spines import table
from tests.grid.cases import all_cases
from tests.sound import collected, with_imports

ROOT = Path(__file__).parents[1]
TEXTS = {
    **{f"sound: {name}": with_imports(text) for name, text in collected("tests.sound").items()},
    **{path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "held").rglob("*.py"))},
}
RMS = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)"
HEAD = "import torch\nfrom torch import nn\nfrom other import thing\n\n"


def answers(seen: Analysis | LightAnalysis) -> list[object]:
    found = [(one.code, one.span, one.message, one.norm, one.norms) for one in seen.findings]
    return [found, [(one.span, one.qualname, one.kind) for one in seen.norms]]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_answers_are_those_of_the_whole_text(text: str) -> None:
    assert_same(text)


def assert_same(text: str) -> None:
    module = Module(text)
    module.begin = tuple((piece.span.start, None) for piece in module.pieces if piece.kind != "import")
    whole = answers(analysed(module))
    assert answers(analyse_blocks(text)) == whole
    assert may_hold_norm(text) or whole == [[], []]


def test_the_answers_are_those_of_the_whole_text_for_each_defect() -> None:
    texts = {case.group: with_imports(case.text) for case in all_cases()}
    for text in [*texts.values()][::7]:
        assert_same(text)


def block_texts(text: str) -> list[str]:
    return [block.text for block in blocks(HEAD + text)]


NORM = f"def rms_norm(x):\n    return {RMS}\n"


@pytest.mark.parametrize(
    "text",
    table(
        ("a mean without a root", "def f(x):\n    return x / x.mean()\n"),
        ("a root of a size beside a mean", "def f(q, k, d):\n    s = q @ k / d ** 0.5\n    return s, q.mean()\n"),
        ("a root before the mean", "def loss(x):\n    y = torch.sqrt(x)\n    return y.mean()\n"),
        ("the length of a mean", "def f(x):\n    m = x.mean(-1)\n    n = m.shape[0]\n    return x * n ** 0.5\n"),
        ("a norm in a docstring", f'def f(x):\n    """{RMS}"""\n    return x\n'),
        ("a norm that is a layer", "class A(nn.Module):\n    def forward(self, x):\n        return self.norm(x) ** 0.5\n"),
        ("a mean in one class and a root in another", "class A:\n    def f(self, x):\n        return x.mean(-1)\n"
         "\n\nclass B:\n    def f(self, x):\n        return x.sqrt() * x\n"),
        ("a mean in a comment beside a root", "def f(x):\n    y = x.sum()  # a mean of squares\n    return x * 2 / z  # sqrt(y)\n"),
        ("a mean in what is said", "def f(x, d):\n    print('the mean (of x) is', x.sum())\n    return x / torch.sqrt(d)\n"),
        ("a root of a size in a chain", "def a(x):\n    return x.mean() * x.shape[-1] ** 0.5\n\n\ndef b(x):\n    return a(x)\n"),
        ("numpy's own norm", "import numpy as np\ndef f(x):\n    y = np.linalg.norm(x)\n    return x / y\n"),
    ),
)  # fmt: skip
def test_nothing_is_read_of(text: str) -> None:
    assert block_texts(text) == []


@pytest.mark.parametrize(
    "text",
    table(
        ("a root of a statistic", NORM),
        ("a statistic by another name", "def f(x):\n    m = x.square().mean(-1, True)\n    n = m\n    return x * n.rsqrt()\n"),
        ("a statistic in an attribute", "class A:\n    def f(self, x):\n        self.m = x.square().mean(-1)\n"
         "    def g(self, x):\n        return x / self.m.sqrt()\n"),
        ("a statistic from a method", "class A:\n    def ms(self, x):\n        return x.square().mean(-1)\n"
         "    def g(self, x):\n        return x / self.ms(x).sqrt()\n"),
        ("a statistic handed to a function", "def root(y):\n    return y.rsqrt()\n\n\ndef f(x):\n"
         "    return x * root(x.square().mean(-1, True))\n"),
        ("a statistic in an item", "def f(x):\n    d = {}\n    d['m'] = x.square().mean(-1, True)\n    return x * d['m'].rsqrt()\n"),
        ("a statistic by the walrus", "def f(x):\n    if (m := x.square().mean()) > 0:\n        return x / m.sqrt()\n    return x\n"),
        ("a length that divides", "def f(x):\n    n = x.norm(dim=-1, keepdim=True)\n    return x / n\n"),
        ("a length in place", "def f(x):\n    n = x.norm(dim=-1, keepdim=True)\n    x /= n\n    return x\n"),
        ("a root handed on", "def f(x):\n    root = torch.sqrt\n    return x / root(x.square().mean(-1, True))\n"),
        ("a name that says so", "class RMSNorm(nn.Module):\n    def forward(self, x):\n        return x / x.mean(-1, True)\n"),
        ("a method with decorators after it", f"class A:\n    def f(self, x):\n        return {RMS}\n\n    @property\n"
         "    @thing\n    def g(self):\n        return 1\n"),
        ("a base with the mean", "class A:\n    def ms(self, x):\n        return x.square().mean(-1)\n\n\nclass B(A):\n"
         "    def g(self, x):\n        return x / self.ms(x).sqrt()\n"),
        ("a function that names one that names one with the root", "def root(m):\n    return m.rsqrt()\n\n\n"
         "def second(m):\n    return root(m)\n\n\nclass A(nn.Module):\n    def forward(self, x):\n"
         "        return x * second(x.square().mean(-1, True))\n"),
        ("a class two levels above with the root", "class A(nn.Module):\n    def normalize(self, x, v):\n"
         "        return x * torch.rsqrt(v + 1e-6)\n\n\nclass B(A):\n    def other(self):\n        return 1\n\n\nclass C(B):\n"
         "    def forward(self, x):\n        return self.normalize(x, x.pow(2).mean(-1, keepdim=True))\n"),
        ("a power on the next line", "def f(x):\n    m = x.square().mean(-1, True)\n    return x * m \\\n        ** -0.5\n"),
        ("a statistic in braces of a string", "def f(x):\n    print(f'{(m := x.square().mean(-1, True))} is the mean')\n    return x * m.rsqrt()\n"),
        ("loose statements", f"x = torch.randn(4)\ny = {RMS}\n"),
    ),
)  # fmt: skip
def test_a_block_is_made_of(text: str) -> None:
    assert len(block_texts(text)) == 1


def test_a_block_holds_what_the_norm_needs_and_nothing_else() -> None:
    text = (
        "EPS = 1e-6\nOTHER = 2\n\n\ndef square(x):\n    return x * x\n\n\ndef other(x):\n    return x\n\n\n"
        "# A comment on what follows.\nclass RMSNorm(nn.Module):\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(square(x).mean(-1, keepdim=True) + EPS)\n\n\n# Copied from there\n\nclass A: ...\n"
    )
    (block,) = block_texts(text)
    assert block == (
        "import torch\nfrom torch import nn\nEPS = 1e-6\ndef square(x):\n    return x * x\n"
        "class RMSNorm(nn.Module):\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(square(x).mean(-1, keepdim=True) + EPS)\n"
    )


def test_norms_of_their_own_are_blocks_of_their_own() -> None:
    one, two = (f"class {name}RMSNorm(nn.Module):\n    def forward(self, x):\n        return {RMS}\n" for name in "AB")
    assert [block.count("class") for block in block_texts(f"{one}\n\n{two}")] == [1, 1]


def test_what_shares_a_reduction_is_one_block() -> None:
    norms = "".join(
        f"\n\nclass {name}(nn.Module):\n    def forward(self, x):\n        return rms_norm(x)\n" for name in "AB"
    )
    assert len(block_texts(NORM + norms)) == 1


def test_a_span_finds_its_way_home() -> None:
    text = f"{HEAD}A = 1\n\n\n{NORM}\nB = 2\n\n\nclass RMSNorm:\n    def forward(self, x):\n        return {RMS}\n"
    for block in blocks(text):
        for word in ("rms_norm", "class RMSNorm", "rsqrt"):
            at = block.text.find(word)
            span = block.home(Span(at, at + len(word)))
            assert at < 0 or text[span.start : span.end] == word


def test_a_class_that_is_only_made_is_known_to_be_one() -> None:
    text = "class Proj(nn.Module):\n    def forward(self, x):\n        return x\n\n\nclass ARMSNorm(nn.Module):\n"
    text += f"    def __init__(self):\n        self.p = Proj()\n    def forward(self, x):\n        x = self.p(x)\n        return {RMS}\n"
    (block,) = block_texts(text)
    assert "class Proj: ...\n" in block


@pytest.mark.parametrize(
    "root",
    table(
        ("a lambda", "inv = lambda v: torch.rsqrt(v)\n"),
        ("an alias", "inv = torch.rsqrt\n"),
        ("an import by another name", "from torch import rsqrt as inv\n"),
        ("a function under a condition", "if thing:\n    def inv(v):\n        return torch.rsqrt(v)\n"),
    ),
)
def test_a_scale_in_the_constructor_hides_no_root_in(root: str) -> None:
    text = f"""{HEAD}{root}\n\nclass Foo(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** -0.5

    def forward(self, x):
        return x * inv(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
"""
    assert [norm.qualname for norm in analyse_blocks(text).norms] == ["Foo.forward"]


def test_a_copy_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(module: Module) -> Analysis:
        read.append(module.text)
        return analysed(module)

    monkeypatch.setattr("normlint.rules.blocks.analysed", counted)
    text = f"class CopiedRMSNorm(nn.Module):\n    def forward(self, x):\n        return {RMS}\n"
    assert (
        analyse_blocks(f"{HEAD}a = 1\n{text}").norms[0].span.start
        == analyse_blocks(f"{HEAD}{text}\nb = 2\n").norms[0].span.start + 6
    )
    assert len(read) == 1


def test_a_norm_that_is_no_python_is_named() -> None:
    with pytest.raises(SyntaxError):
        analyse_blocks(f"{HEAD}def rms_norm(x):\n    return {RMS} +\n")


# --- a norm spread over names, aliases and layouts --------------------------------------------------------------------

MS = "x.pow(2).mean(-1, keepdim=True)"
TORCH = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
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
    assert_same(f"{TORCH}def apply(x):\n{function}")
    assert_same(f"{TORCH}class Block(nn.Module):\n    def forward(self, x):\n{method}")
    assert_same(f"{TORCH}class Mixin:\n    def go(self, x):\n{method}\n\nclass Block(\n    Mixin,\n    nn.Module,\n):\n"
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
    assert_same(f"{TORCH}{unit}")
    assert_same(f"{TORCH}{unit}{USED}")


@pytest.mark.parametrize("functions", range(1, 7))
def test_a_product_that_is_made_in_a_function_below_is_found(functions: int) -> None:
    chain = "".join(f"def f{n}(x, r):\n    return f{n - 1}(x, r)\n\n\n" for n in range(1, functions))
    norm = f"def rms_norm(x):\n    return f{functions - 1}(x, torch.rsqrt({MS} + 1e-6))\n"
    found = analyse_blocks(f"{HEAD}def f0(x, r):\n    return x * r\n\n\n{chain}{norm}")
    assert [one.qualname for one in found.norms] == ["rms_norm"]


def test_imports_under_a_try_belong_to_the_block() -> None:
    imports = "try:\n    import torch\n    from torch import rsqrt\nexcept ImportError:\n    pass\n"
    assert_same(f"{imports}\n\ndef rms_norm(x):\n    return x * rsqrt({MS})\n")
