"""Classes: what a forward reaches through helpers, bases, properties, attributes and configurations."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.evaluate.spines import IMPORTS, PLAIN, RMS, main, module, norms, only, spines, table

NORM = "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)"
FREE = NORM.replace("self.eps", "eps")
BASE = f"""{IMPORTS}
class Base(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

"""


def derived(base: str, body: str) -> str:
    """A base class with more methods, and a class that derives from it."""
    return BASE + indent(base, "    ") + f"\n\n\nclass RMSNorm(Base):\n{indent(body, '    ')}\n"


def named(text: str) -> list[tuple[str, str]]:
    return [(norm.qualname, norm.spine) for norm in norms(text)]


@pytest.mark.parametrize(
    "forward",
    table(
        ("a module of the text is judged where it is defined", "return self.inner(x) * self.weight"),
        ("a module that torch made", "return nn.RMSNorm(4)(x) * self.weight"),
        ("a method that isn't there", "return self.norm(x) * self.weight"),
        ("a method of a base outside the text", "return super().norm(x) * self.weight"),
        ("an exception", f"y = {NORM}\nraise NotImplementedError(y)"),
    ),
)
def test_a_forward_that_reaches_no_statistic_is_silent(forward: str) -> None:
    assert spines(module(forward=forward)) == []


@pytest.mark.parametrize(
    ("forward", "rest"),
    table(
        ("a method", "return self._norm(x) * self.weight", f"def _norm(self, x):\n    return {NORM}"),
        (
            "a method by keyword",
            "return self._norm(x=x) * self.weight",
            f"def _norm(self, x, scale=None):\n    return {NORM}",
        ),
        (
            "two methods deep",
            "return self._norm(x) * self.weight",
            f"def _norm(self, x):\n    return self._root(x)\n\ndef _root(self, x):\n    return {NORM}",
        ),
        (
            "a static method",
            "return self._norm(x, self.eps) * self.weight",
            f"@staticmethod\ndef _norm(x, eps):\n    return {FREE}",
        ),
        (
            "a static method by its class",
            "return RMSNorm._norm(x, self.eps) * self.weight",
            f"@staticmethod\ndef _norm(x, eps):\n    return {FREE}",
        ),
        (
            "a class method",
            "return self._norm(x, self.eps) * self.weight",
            f"@classmethod\ndef _norm(cls, x, eps):\n    return {FREE}",
        ),
        (
            "a method that gives the inverse root",
            "return x * self._root(x) * self.weight",
            "def _root(self, x):\n    return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)",
        ),
        (
            "a method that gives the mean square",
            "return x * torch.rsqrt(self._mean(x) + self.eps) * self.weight",
            "def _mean(self, x):\n    return x.square().mean(-1, keepdim=True)",
        ),
        (
            "a property",
            f"return {NORM} * self.gain",
            "@property\ndef gain(self):\n    return self.weight",
        ),
        (
            "a cached property",
            f"return {NORM} * self.gain",
            "@cached_property\ndef gain(self):\n    return self.weight",
        ),
        ("a class constant", f"return {NORM.replace('eps', 'EPS')} * self.weight", "EPS = 1e-5"),
        ("an annotated class constant", f"return {NORM.replace('-1', 'self.AXIS')} * self.weight", "AXIS: int = -1"),
        (
            "a class constant by the class",
            f"return {NORM.replace('-1', 'RMSNorm.AXIS')} * self.weight",
            "AXIS = -1",
        ),
        ("an attribute of the class by getattr", f"return {NORM} * getattr(self, 'weight', None)", ""),
    ),
)
def test_a_forward_is_followed_through_its_own_methods(forward: str, rest: str) -> None:
    assert named(module(forward=forward, rest=rest)) == [("RMSNorm.forward", RMS)]


def test_a_helper_is_judged_with_the_cast_of_its_caller() -> None:
    text = module(
        forward="return self._norm(x.float()).type_as(x) * self.weight", rest=f"def _norm(self, x):\n    return {NORM}"
    )
    assert [c.statistic.square.value for c in only(text).computations] == ["fp32"]


@pytest.mark.parametrize(
    ("base", "body"),
    table(
        ("the constructor of the base", "", f"def forward(self, x):\n    return {NORM} * self.weight"),
        (
            "a constructor that calls the base's",
            "",
            "def __init__(self, dim):\n    super().__init__(dim)\n\n"
            f"def forward(self, x):\n    return {NORM} * self.weight",
        ),
        (
            "super with arguments",
            "",
            "def __init__(self, dim):\n    super(RMSNorm, self).__init__(dim)\n\n"
            f"def forward(self, x):\n    return {NORM} * self.weight",
        ),
        (
            "a method of the base",
            f"def norm(self, x):\n    return {NORM}",
            "def forward(self, x):\n    return self.norm(x) * self.weight",
        ),
        (
            "a method of the base by super",
            f"def norm(self, x):\n    return {NORM}",
            "def forward(self, x):\n    return super().norm(x) * self.weight",
        ),
        (
            "a method that overrides the base's",
            "def norm(self, x):\n    return x\n\ndef forward(self, x):\n    return self.norm(x) * self.weight",
            f"def norm(self, x):\n    return {NORM}",
        ),
        (
            "a method of the base by its name",
            f"def norm(self, x):\n    return {NORM}",
            "def forward(self, x):\n    return Base.norm(self, x) * self.weight",
        ),
        (
            "a constant of the base",
            "AXIS = -1",
            f"def forward(self, x):\n    return {NORM.replace('-1', 'self.AXIS')} * self.weight",
        ),
    ),
)
def test_a_forward_is_followed_through_its_bases(base: str, body: str) -> None:
    assert ("RMSNorm.forward", RMS) in named(derived(base, body))


def test_a_base_at_the_end_of_a_diamond_gives_its_attributes() -> None:
    text = f"""{IMPORTS}
class A(nn.Module):
    eps = 1e-6

class B(A):
    pass

class C(A):
    pass

class RMSNorm(B, C):
    def forward(self, x):
        return {NORM} * self.weight
"""
    assert named(text) == [("RMSNorm.forward", RMS)]


def test_a_norm_of_torch_as_a_base_brings_its_attributes() -> None:
    text = f"""{IMPORTS}
class MyNorm(nn.LayerNorm):
    def forward(self, x):
        c = x - x.mean(-1, keepdim=True)
        return c * torch.rsqrt(c.square().mean(-1, keepdim=True) + self.eps) * self.weight + self.bias
"""
    assert spines(text) == ["var[-1] keepdim | eps → rsqrt → input(x) → scale(weight) → shift(bias)"]


@pytest.mark.parametrize(
    ("init", "mean", "parameters"),
    table(
        ("D by an attribute", "self.dim = dim", "x.square().sum(-1, keepdim=True) / self.dim", "dim, eps=1e-6"),
        ("D by a configuration", "self.n = config.hidden_size", "x.square().sum(-1, True) / self.n", "config, eps=1"),
        (
            "D by a configuration that is kept",
            "self.config = config",
            "x.square().sum(-1, True) / self.config.hidden_size",
            "config, eps=1e-6",
        ),
        (
            "D by an item of a configuration",
            "self.n = config['dim']\nself.weight = nn.Parameter(torch.ones(config['dim']))",
            "x.square().sum(-1, True) / self.n",
            "config, eps=1e-6",
        ),
        ("the axis by a default", "self.axis = axis", "x.square().mean(self.axis, True)", "axis=-1, eps=1e-6"),
        ("the axes by a default", "self.axis = (axis,)", "x.square().mean(self.axis, True)", "axis=-1, eps=1e-6"),
        ("keepdim by an attribute", "self.keep = True", "x.square().mean(-1, self.keep)", "dim, eps=1e-6"),
    ),
)
def test_numbers_come_from_the_constructor(init: str, mean: str, parameters: str) -> None:
    forward = f"return x * torch.rsqrt({mean} + self.eps) * self.weight"
    assert spines(module(init, forward, parameters=parameters)) == [RMS]


def test_the_axis_of_a_default_may_be_a_constant_of_the_file() -> None:
    forward = "return x * torch.rsqrt(x.square().mean(self.axis, True) + self.eps) * self.weight"
    text = module("self.axis = axis", forward, parameters="axis=AXIS, eps=1e-6", before="\nAXIS = -1\n")
    assert spines(text) == [RMS]


@pytest.mark.parametrize(
    ("init", "name", "default"),
    table(
        ("a default", "self.eps = eps", "eps", 1e-6),
        ("an attribute of a configuration", "self.eps = config.rms_norm_eps", "config.rms_norm_eps", None),
        ("getattr of a configuration", "self.eps = getattr(config, 'layer_eps', 1)", "config.layer_eps", None),
    ),
)
def test_the_name_of_eps_says_where_it_comes_from(init: str, name: str, default: float | None) -> None:
    (eps,) = main(module(init, parameters="config, dim, eps=1e-6")).eps
    assert (eps.name, eps.default) == (name, default)


@pytest.mark.parametrize(
    ("axes", "shown"),
    table(
        ("a range to zero", "tuple(range(-len(self.normalized_shape), 0))", "normalized_shape"),
        ("a comprehension", "[-(i + 1) for i in range(len(self.normalized_shape))]", "normalized_shape"),
        ("one comprehension in another isn't followed", "[-i for j in x for i in range(j)]", "?"),
    ),
)
def test_the_axes_of_a_shape_are_its_last(axes: str, shown: str) -> None:
    init = "self.normalized_shape = normalized_shape\nself.weight = nn.Parameter(torch.ones(normalized_shape))"
    forward = f"axes = {axes}\nreturn x * torch.rsqrt(x.square().mean(axes, True) + self.eps) * self.weight"
    assert spines(module(init, forward, parameters="normalized_shape, eps=1e-6")) == [RMS.replace("-1", shown)]


@pytest.mark.parametrize(
    ("layer", "square"),
    table(
        ("a linear layer keeps the dtype", "nn.Linear(dim, dim)", "input"),
        ("so does dropout", "nn.Dropout(0.1)", "input"),
        ("a softmax may not", "nn.Softmax(dim)", "unknown"),
        ("a module of the text may not", "Inner()", "unknown"),
    ),
)
def test_a_layer_before_the_norm_keeps_the_dtype_or_not(layer: str, square: str) -> None:
    before = "\n\nclass Inner(nn.Module):\n    def forward(self, x):\n        return x\n"
    text = module(f"self.layer = {layer}", f"x = self.layer(x)\nreturn {NORM} * self.weight", before=before)
    norm = only(text)
    assert norm.spine.startswith("mean[-1] keepdim | eps → rsqrt → input(module ")
    assert norm.main.statistic.square.value == square


def test_a_forward_that_gives_the_norm_and_its_root_is_one_norm() -> None:
    text = module(
        forward="r = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)\nreturn x * r * self.weight, r"
    )
    assert named(text) == [("RMSNorm.forward", RMS)]


def test_a_class_that_gives_only_the_inverse_root_is_a_norm_in_part() -> None:
    norm = only(module(forward="return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)"))
    assert (norm.spine, norm.main.partial) == (PLAIN, True)
