"""Statements: branches, loops, contexts and assignments, each path with its own product."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import RMS, ROOT_OF_MEAN, function, main, module, norms, only, spines, table

NORM = ROOT_OF_MEAN
SELF = NORM.replace("eps", "self.eps")
OUTSIDE = "x / (x.square().mean(-1, keepdim=True).sqrt() + eps)"


@pytest.mark.parametrize(
    "body",
    table(
        ("what is only raised", f"y = {NORM}\nraise ValueError(y)"),
        ("what a loop never reaches", f"for e in es:\n    break\n    y = {NORM}\nreturn x"),
        ("what stands behind the return", f"return x\ny = {NORM}"),
        ("a branch that is never taken", f"if None:\n    x = {NORM}\nreturn x"),
        ("the first branch of a constant", f"if 1 < 2:\n    return x\nreturn {NORM}"),
        ("a function that nobody reaches a root from", "return x.mean(-1)"),
    ),
)
def test_what_is_never_reached_is_silent(body: str) -> None:
    assert spines(function(body)) == []


@pytest.mark.parametrize(
    "body",
    table(
        ("a name", f"y = {NORM}\nreturn y * weight"),
        ("two names at once", f"y = z = {NORM}\nreturn z * weight"),
        ("a tuple", f"y, z = {NORM}, 1\nreturn y * weight"),
        ("a list", f"[y, z] = [{NORM}, 1]\nreturn y * weight"),
        ("a star among the targets", f"y, *z = {NORM}, 1, 2\nreturn y * weight"),
        ("a star in front", f"*z, y = 1, 2, {NORM}\nreturn y * weight"),
        ("an item of a tuple", f"y = ({NORM}, 1)[0]\nreturn y * weight"),
        ("the last item", f"y = (1, {NORM})[-1]\nreturn y * weight"),
        ("a slice of a tuple", f"y = ({NORM}, 1)[:1][0]\nreturn y * weight"),
        ("a tuple unpacked in a list", f"y = [*({NORM}, 1)][0]\nreturn y * weight"),
        ("two tuples together", f"y = ((1,) + ({NORM},))[1]\nreturn y * weight"),
        ("an annotated name", f"y: Tensor = {NORM}\nreturn y * weight"),
        ("a name declared before", f"y: Tensor\ny = {NORM}\nreturn y * weight"),
        ("a walrus in the root", "return x * torch.rsqrt((s := x.square().mean(-1, True)) + eps) * weight"),
        ("a walrus in a test", f"if (y := {NORM}) is not None:\n    return y * weight"),
        ("an augmented product", "y = x * 1.0\ny *= torch.rsqrt(x.square().mean(-1, True) + eps)\nreturn y * weight"),
        ("an augmented number", f"n = 0.5\nn += 0.5\nreturn {NORM} * n * weight"),
        ("a conditional that is known", f"y = {NORM} if True else x\nreturn y * weight"),
        ("a conditional on a default", f"y = {NORM} if flag else x\nreturn y * weight"),
        ("a gain that may be missing", f"return {NORM} * weight if weight is not None else {NORM}"),
        ("a default by `if`", f"eps = eps if eps is not None else 1e-6\nreturn {NORM} * weight"),
        ("a default by `or`", f"eps = eps or 1e-6\nreturn {NORM} * weight"),
        ("a value by `and`", f"y = flag and {NORM}\nreturn y * weight"),
        ("a for loop", f"for i in range(3):\n    y = {NORM}\nreturn y * weight"),
        ("a for loop over two names", f"for i, j in pairs:\n    y = {NORM}\nreturn y * weight"),
        ("a for loop over numbers", "for e in (1e-5, 1e-6):\n    eps = e\nreturn " + NORM + " * weight"),
        ("a return in a loop", f"for e in es:\n    return {NORM} * weight"),
        ("the else of a loop", f"for e in es:\n    pass\nelse:\n    y = {NORM}\nreturn y * weight"),
        ("a while loop", f"while True:\n    y = {NORM}\n    break\nreturn y * weight"),
        ("what stands behind continue", f"for e in es:\n    continue\n    x = 0\nreturn {NORM} * weight"),
        ("a with block", f"with torch.cuda.stream(s) as t:\n    y = {NORM}\nreturn y * weight"),
        ("a with block of a name", f"with lock:\n    y = {NORM}\nreturn y * weight"),
        ("a handler", f"try:\n    y = fused(x)\nexcept ImportError:\n    y = {NORM}\nreturn y * weight"),
        ("a handler of a group", f"try:\n    y = fused(x)\nexcept* ValueError:\n    y = {NORM}\nreturn y * weight"),
        ("the body of a try", f"try:\n    y = {NORM}\nfinally:\n    z = 1\nreturn y * weight"),
        ("the else of a try", f"try:\n    z = 1\nexcept E:\n    raise\nelse:\n    y = {NORM}\nreturn y * weight"),
        ("a return in finally", f"try:\n    y = x\nfinally:\n    return {NORM} * weight"),
        ("a case", f"match mode:\n    case 'rms':\n        y = {NORM}\n    case _:\n        y = x\nreturn y * weight"),
        (
            "the last case",
            f"match mode:\n    case [a, *b]:\n        y = x\n    case c:\n        y = {NORM}\nreturn y * weight",
        ),
        ("a case without effect", f"match mode:\n    case _:\n        pass\nreturn {NORM} * weight"),
        ("a check that raises", f"if x.dim() < 2:\n    raise ValueError\nreturn {NORM} * weight"),
        ("an assertion", f"assert x.shape[-1] == 3\nreturn {NORM} * weight"),
        ("del", f"y = {NORM}\ndel x\nreturn y * weight"),
        ("a local import", f"import torch as t\nreturn {NORM.replace('torch', 't')} * weight"),
        (
            "a local import of a name",
            f"from torch import rsqrt as r\nreturn {NORM.replace('torch.rsqrt', 'r')} * weight",
        ),
        ("an import of everything", f"from math import *\nreturn {NORM} * weight"),
        ("a local class", f"class A:\n    pass\nreturn {NORM} * weight"),
        ("a dictionary", f"return {{'y': {NORM} * weight}}"),
        ("a dictionary with another in it", f"return {{**other, 'y': {NORM} * weight}}"),
        ("a set", f"return {{{NORM} * weight}}"),
        ("a yield", f"yield {NORM} * weight"),
        ("an await", f"return await wait({NORM} * weight)"),
        ("an argument of another function", f"return f({NORM} * weight)"),
        ("a keyword of another function", f"return f(y={NORM} * weight)"),
        ("an argument of a method", f"return x.foo({NORM} * weight)"),
        ("an argument of print", f"print({NORM} * weight)\nreturn x"),
        ("a statement of its own", f"{NORM} * weight"),
        ("numbers that aren't followed", f"y = 1e301\nz = 1 << 3\nw = 2j\nreturn {NORM} * weight"),
        ("operators that aren't followed", f"y = ~x\nz = x & x\nreturn {NORM} * weight"),
        ("strings put together", f"y = 'a' 'b'\nz = f'{{x}}'\nreturn {NORM} * weight"),
    ),
)
def test_a_norm_is_followed_through_every_statement(body: str) -> None:
    text = function(body, "x, weight, eps=1e-6, flag=True, mode='rms', es=()")
    if "await" in body:
        text = text.replace("def rms_norm", "async def rms_norm")
    assert spines(text) == [RMS]


@pytest.mark.parametrize(
    ("body", "eps_inside"),
    table(
        ("if and else", f"if flag:\n    y = {NORM}\nelse:\n    y = {OUTSIDE}\nreturn y * weight", [True, False]),
        ("an early return", f"if flag:\n    return {NORM} * weight\nreturn {OUTSIDE} * weight", [True, False]),
        (
            "elif",
            f"if off:\n    y = x\nelif flag:\n    y = {NORM}\nelse:\n    y = {OUTSIDE}\nreturn y * weight",
            [True, False],
        ),
        ("a ternary", f"y = {NORM} if flag else {OUTSIDE}\nreturn y * weight", [True, False]),
        ("a handler", f"try:\n    y = {NORM}\nexcept E:\n    y = {OUTSIDE}\nreturn y * weight", [True, False]),
        (
            "cases",
            f"match mode:\n    case 1:\n        y = {NORM}\n    case _:\n        y = {OUTSIDE}\nreturn y * weight",
            [False, True],
        ),
        ("the branch with the reduction comes first", f"if off:\n    return {NORM} * weight\nreturn x", [True]),
        ("also in a negated test", f"if not flag:\n    return {NORM} * weight\nreturn x", [True]),
        ("also in a test for None", f"if weight is not None:\n    return x\nreturn {NORM}", [True]),
    ),
)
def test_every_path_of_a_norm_is_one_of_its_computations(body: str, eps_inside: list[bool]) -> None:
    computations = only(function(body, "x, weight=None, eps=1e-6, flag=True, off=False, mode=0")).computations
    assert [c.eps[0].power == 1 for c in computations] == eps_inside


@pytest.mark.parametrize(
    ("branch", "noted"),
    table(
        ("a print behind a debug flag is meant", "if debug:\n    print(x)", []),
        ("a print when verbose is meant", "if self.verbose:\n    print(x)", []),
        ("a print is noted", "print(x)", ["print"]),
        ("a print behind another flag is noted", "if flag:\n    print(x)", ["print"]),
        ("a print behind both is meant", "if debug:\n    if flag:\n        print(x)", []),
    ),
)
def test_a_print_is_noted_unless_a_test_asks_for_it(branch: str, noted: list[str]) -> None:
    text = function(f"{branch}\nreturn {NORM} * weight", "x, weight, eps=1e-6, flag=True, debug=True")
    assert [n.kind for n in main(text).notes] == noted


@pytest.mark.parametrize(
    ("test", "paths"),
    table(
        ("an attribute that is there", "hasattr(self, 'weight')", [True]),
        ("an attribute that is not", "hasattr(self, 'gamma')", [False]),
        ("an attribute of something else", "hasattr(x, 'gamma')", [False, True]),
        ("a gain that is there", "self.weight is not None", [True]),
        ("a gain as a test", "self.weight", [True]),
        ("a flag that is on by default", "self.affine", [True, False]),
        ("a flag that is off by default", "self.plain", [False, True]),
        ("the negation of a flag", "not self.plain", [True, False]),
        ("training", "self.training", [False, True]),
        ("two flags, both on", "self.affine and self.affine", [True, False]),
        ("one of two flags", "self.plain or self.affine", [True, False, True]),
        ("a number that is known", "self.three == 3", [True]),
        ("a number that differs", "self.three != 3", [False]),
        ("numbers in order", "self.three > 2", [True]),
        ("numbers out of order", "self.three <= 2", [False]),
        ("a number as a test", "self.three", [True]),
        ("a string that is known", "self.mode == 'rms'", [True]),
        ("a string among others", "self.mode in ('rms', 'layer')", [True]),
        ("a string not among others", "self.mode not in ('rms', 'layer')", [False]),
        ("a string among unknown ones", "self.mode in (self.affine, 'layer')", [False, True]),
        ("None is None", "self.nothing is None", [True]),
        ("a number is not None", "self.three is None", [False]),
        ("a shape is true", "x.shape", [True]),
        ("an empty tuple is false", "()", [False]),
        ("a module is true", "self.inner is not None", [True, False]),
        ("three in a row", "1 < x.dim() < 4", [False, True]),
    ),
)
def test_a_test_is_decided_where_the_text_decides_it(test: str, paths: list[bool]) -> None:
    init = (
        "self.weight = nn.Parameter(torch.ones(dim))\nself.affine = affine\nself.plain = plain\nself.three = 3\n"
        "self.mode = 'rms'\nself.nothing = None\nself.inner = nn.Linear(dim, dim)"
    )
    forward = f"y = {SELF}\nif {test}:\n    y = y * self.weight\nreturn y"
    (norm,) = norms(module(init, forward, parameters="dim, affine=True, plain=False, eps=1e-6"))
    seen = dict.fromkeys(bool(c.gains) for c in norm.computations)
    assert list(seen) == list(dict.fromkeys(paths))


def test_the_constructor_and_the_forward_share_a_decision() -> None:
    init = """\
self.affine = affine
if affine:
    self.weight = nn.Parameter(torch.ones(dim))
    self.bias = nn.Parameter(torch.zeros(dim))
else:
    self.register_parameter('weight', None)
    self.register_parameter('bias', None)
"""
    forward = f"y = {SELF}\nif self.weight is not None:\n    y = y * self.weight + self.bias\nreturn y"
    norm = only(module(init, forward, parameters="dim, affine=True, eps=1e-6"))
    assert norm.spine == RMS + " → shift(bias)"
    assert [(len(c.gains), c.shift is not None) for c in norm.computations] == [(1, True), (0, False)]


def test_what_stands_behind_optional_kernels_is_followed() -> None:
    text = """import torch

try:
    from kernels import rms_norm as fast
except ImportError:
    fast = None
try:
    from apex.normalization import fused_rms_norm as fused
except ImportError:
    fused = None


def rms_norm(x, weight, eps=1e-6):
    if fast is not None:
        return fast(x, weight, eps)
    if fused is not None:
        return fused(x, weight, eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight
"""
    assert [n.kind for n in norms(text)] == ["rms"]
