"""Python's own functions and the odd values that a forward handles."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import PLAIN, RMS, ROOT_OF_MEAN, function, main, module, norms, spines, table

NORM = ROOT_OF_MEAN
SELF = NORM.replace("eps", "self.eps")


@pytest.mark.parametrize(
    "body",
    table(
        ("a gain that is zero below", f"return {NORM.replace('x *', 'x / 0 *')}"),
        ("a method that isn't called", "return x * torch.rsqrt(x.square().mean + eps)"),
        ("a cast of something unknown", "h = torch.asarray(k)\nreturn x * torch.rsqrt(h.mean(-1, True) + eps)"),
        ("a mean of a string", "return x * torch.rsqrt(torch.mean('x') + eps) * weight"),
        ("a sum of numbers", "return x * torch.rsqrt(sum([1, 2]) + eps) * weight"),
        ("a deviation of a name", "return x / torch.std(k) * weight"),
        ("an order that is no number", "return x / x.norm(p=[2], dim=-1, keepdim=True) * weight"),
        ("arrays of numpy", f"import numpy as np\nreturn {NORM.replace('torch', 'np')}"),
    ),
)
def test_what_has_no_meaning_is_silent(body: str) -> None:
    assert spines(function(body)) == []


@pytest.mark.parametrize(
    ("factor", "tail"),
    table(
        ("True is one", "weight * True", " → scale(weight)"),
        ("a method that isn't called is unknown", "weight * x.amax", " → scale(weight) → times(.amax)"),
        ("getattr by a name that isn't known", "getattr(weight, k)", " → times(getattr)"),
        ("getattr by two names", "getattr(weight)", " → times(getattr)"),
        ("a module is unknown", "nn.Linear(4, 4)", " → times(module torch.nn.Linear)"),
        ("a matrix of a module is unknown", "nn.Linear(4, 4).weight", " → times(module torch.nn.Linear.weight)"),
        ("a comparison is a mask", "(x > 0)", " → times(compare >)"),
        ("a random number in a list", "[weight][0]", " → scale(weight)"),
        ("a length of a list", "weight * len((1, 2))", " → scale(weight) → count(a number^1)"),
        ("the product of one length", "weight * math.prod((2,))", " → scale(weight) → count(a number^1)"),
        ("the product of a shape", "weight * math.prod(x.shape)", " → scale(weight) → count(math.prod(x.shape)^1)"),
        ("the larger of two lengths", "weight * max(x.shape[0], 2)", " → scale(weight) → count(max(size 0 of x, 2)^1)"),
        ("pi is a number", "weight * math.pi", " → scale(weight) → count(a number^1)"),
        ("a rounded number", "weight * round(2.0)", " → scale(weight) → count(a number^1)"),
        ("a whole number", "weight * int(2.0)", " → scale(weight) → count(a number^1)"),
        ("float of nothing is unknown", "float()", " → times()"),
        ("len of nothing is unknown", "len()", " → count(len of ^1)"),
        ("len of something unknown", "len(k)", " → count(len of k^1)"),
        ("tuple of nothing", "(weight, *tuple())[0]", " → scale(weight)"),
        ("a number out of an unknown list", "weight * [1, 2][eps]", " → scale(weight) → count([1, 2][eps]^1)"),
    ),
)
def test_a_factor_by_a_function_of_python(factor: str, tail: str) -> None:
    assert spines(function(f"return {NORM} * {factor}")) == [PLAIN + tail]


@pytest.mark.parametrize(
    ("eps", "value"),
    table(
        ("a flag as a number", "1e-5 * True", 1e-5),
        ("a length", "1e-5 * len((1, 2))", 2e-5),
        ("a product of one", "1e-5 * math.prod((3,))", 3e-5),
        ("a cast number", "torch.as_tensor(1e-5, dtype=torch.float32)", 1e-5),
        ("a number kept by a cast without a dtype", "torch.as_tensor(1e-5)", 1e-5),
        ("a choice of a flag", "(1e-5 if not False else 1e-6)", 1e-5),
        ("a comparison of numbers", "(1e-5 if (1 < 2) is True else 1e-6)", 1e-5),
        ("the first of two", "(1e-5 or 1e-6)", 1e-5),
        ("the second of two", "(1e-6 and 1e-5)", 1e-5),
        ("the rank of a tensor", "1e-5 * x.view(2, 3).dim()", 2e-5),
        ("an attribute of an instance", "getattr(E, 'value')", 1e-5),
    ),
)
def test_a_number_by_a_function_of_python(eps: str, value: float) -> None:
    text = function(f"return {NORM.replace('eps', eps)} * weight", before="\n\nclass E:\n    value = 1e-5\n")
    assert main(text).eps[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("test", "paths"),
    table(
        ("a comparison kept as a flag", "mode == 'rms'", [False, True]),
        ("the negation of a flag", "not off", [True, False]),
        ("a comparison of a tensor", "x > 0", [False, True]),
        ("whether it is a number", "isinstance(off, int)", [False, True]),
        ("whether a tuple is a number", "isinstance((1, 2), int)", [False]),
        ("whether a tuple is a tuple", "isinstance((1, 2), tuple)", [False, True]),
        ("whether it is contiguous", "x.is_contiguous()", [False, True]),
        ("whether it floats", "x.is_floating_point()", [True]),
        ("whether a shape is there", "x.shape is None", [False]),
        ("whether a module is there", "nn.Linear is None", [False]),
        ("a method as a test", "x.mean", [False, True]),
        ("a path as a test", "torch.cuda.is_available", [False, True]),
        ("an unknown dtype", "k == torch.float16", [False, True]),
        ("a rank", "x.dim() == 2", [False, True]),
        ("a length of a shape", "len(x.shape) == 2", [False, True]),
    ),
)
def test_a_flag_by_a_function_of_python(test: str, paths: list[bool]) -> None:
    text = function(f"flag = {test}\ny = {NORM}\nif flag:\n    y = y * weight\nreturn y", "x, weight, eps, off=False")
    (norm,) = norms(text)
    assert list(dict.fromkeys(bool(c.gains) for c in norm.computations)) == paths


@pytest.mark.parametrize(
    "init",
    table(
        ("a number made a tuple", "if isinstance(dim, int):\n    dim = (dim,)\nself.shape = tuple(dim)"),
        ("super in a class without a base", "super().anything(dim)"),
        ("an item of a dictionary", "table = {'a': 1}\ntable['b'] = dim\nself.n = table['b']"),
        ("an attribute of something else", "dim.n = 1\nother.m = 2"),
        ("an item in place", "rows = [1, 2]\nrows[0] += 1"),
        ("a method in place of a part", "w = torch.ones(dim)\nw[0].mul_(2)"),
        ("an in-place method by another name", "w = torch.ones(dim)\nf = w.mul_\nf(2)"),
    ),
)
def test_what_a_constructor_does_beside_the_gain_is_no_matter(init: str) -> None:
    text = module(f"{init}\nself.weight = nn.Parameter(torch.ones(4))")
    assert spines(text) == [RMS]


def test_super_outside_a_class_is_unknown() -> None:
    assert spines(function(f"super().check(x)\nreturn {NORM} * weight")) == [RMS]


def test_an_output_of_a_model_is_an_input_of_its_own() -> None:
    (spine,) = spines(function(f"h = model(x).last_hidden_state\nreturn {NORM.replace('x', 'h')}"))
    assert spine.startswith("mean[-1] keepdim | eps → rsqrt → input(.last_hidden_state(model()")
