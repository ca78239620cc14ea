"""Where a gain comes from: how it is made, filled, owned and named."""

from __future__ import annotations

import pytest

from normlint.norm.norm import Gain
from tests.evaluate.spines import PLAIN, RMS, main, module, only, spines, table

EMPTY = "self.weight = nn.Parameter(torch.empty(dim))\n"


def gain(init: str, parameters: str = "dim, eps=1e-6") -> Gain:
    (found,) = main(module(init, parameters=parameters)).gains
    return found


@pytest.mark.parametrize(
    "init",
    table(
        ("a number is no gain", "self.weight = 1.0"),
        ("a size is no gain", "self.weight = dim"),
        ("None is no gain", "self.weight = None"),
        ("a parameter of None is no gain", "self.register_parameter('weight', None)"),
        ("a module is no gain", "self.weight = nn.Linear(dim, dim)"),
        ("a string is no gain", "self.weight = 'weight'"),
    ),
)
def test_what_is_no_tensor_is_no_gain(init: str) -> None:
    assert main(module(init)).gains == ()


@pytest.mark.parametrize(
    ("init", "filled"),
    table(
        ("ones", "self.weight = nn.Parameter(torch.ones(dim))", "ones"),
        ("ones, with requires_grad", "self.weight = nn.Parameter(torch.ones(dim), requires_grad=True)", "ones"),
        ("ones, by keyword", "self.weight = nn.Parameter(data=torch.ones(size=(dim,)))", "ones"),
        ("ones with an annotation", "self.weight: nn.Parameter = nn.Parameter(torch.ones(dim))", "ones"),
        ("zeros", "self.weight = torch.nn.Parameter(torch.zeros((dim,)))", "zeros"),
        ("full of ones", "self.weight = nn.Parameter(torch.full((dim,), 1.0))", "ones"),
        ("full of zeros", "self.weight = nn.Parameter(torch.full(size=(dim,), fill_value=0))", "zeros"),
        ("full of something else", "self.weight = nn.Parameter(torch.full((dim,), 0.5))", "full"),
        ("full of a name", "self.weight = nn.Parameter(torch.full((dim,), eps))", "full"),
        ("random", "self.weight = nn.Parameter(torch.randn(dim))", "random"),
        ("scaled random numbers", "self.weight = nn.Parameter(torch.randn(dim) * 0.02)", "data"),
        ("like another tensor", "self.weight = nn.Parameter(torch.ones_like(torch.empty(dim)))", "ones"),
        ("zeros like another", "self.weight = nn.Parameter(torch.zeros_like(torch.empty(dim)))", "zeros"),
        ("one number", "self.weight = nn.Parameter(torch.tensor(1.0))", "ones"),
        ("one zero", "self.weight = nn.Parameter(torch.tensor(0.0))", "zeros"),
        ("a list with a one", "self.weight = nn.Parameter(torch.tensor([1.0]))", "ones"),
        ("a list of ones", "self.weight = nn.Parameter(torch.tensor([1.0, 1.0]))", "ones"),
        ("a list of different numbers", "self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))", "data"),
        ("a name in a tensor", "self.weight = nn.Parameter(torch.tensor(dim))", "data"),
        ("a list that holds D", "self.weight = nn.Parameter(torch.Tensor([dim]))", "data"),
        ("what a function makes", "self.weight = nn.Parameter(make(dim))", "data"),
        ("nothing", "self.weight = nn.Parameter()", ""),
        ("uninitialised", "self.weight = nn.UninitializedParameter()", ""),
        ("declared only", "self.weight: nn.Parameter", ""),
        ("empty", EMPTY, "empty"),
        ("an old tensor", "self.weight = nn.Parameter(torch.Tensor(dim))", "empty"),
        ("filled by init.ones_", f"{EMPTY}nn.init.ones_(self.weight)", "ones"),
        ("filled by init.zeros_", f"{EMPTY}nn.init.zeros_(self.weight.data)", "zeros"),
        ("filled by constant_(1)", f"{EMPTY}nn.init.constant_(self.weight, 1.0)", "ones"),
        ("filled by constant_(0)", f"{EMPTY}nn.init.constant_(self.weight, 0.0)", "zeros"),
        ("filled by another constant", f"{EMPTY}nn.init.constant_(self.weight, 0.3)", "data"),
        ("filled by normal_", f"{EMPTY}nn.init.normal_(self.weight, std=0.02)", "random"),
        ("filled by fill_(1)", f"{EMPTY}self.weight.data.fill_(1.0)", "ones"),
        ("filled by fill_(0)", f"{EMPTY}self.weight.data.fill_(0)", "zeros"),
        ("filled by zero_", f"{EMPTY}self.weight.data.zero_()", "zeros"),
        ("filled by normal_ as a method", f"{EMPTY}self.weight.data.normal_(0, 0.02)", "random"),
        ("filled by a method of its own", f"{EMPTY}self.reset()", "ones"),
        ("the init of nothing", f"{EMPTY}nn.init.ones_()", "empty"),
        ("the init of something else", f"{EMPTY}nn.init.ones_(other)", "empty"),
        ("the fill of something else", f"{EMPTY}other.fill_(1.0)", "empty"),
    ),
)
def test_what_a_gain_holds_at_first_is_known(init: str, filled: str) -> None:
    text = module(init, rest="def reset(self):\n    nn.init.ones_(self.weight)")
    assert [(g.param.name, g.param.init) for g in main(text).gains] == [("weight", filled)]


@pytest.mark.parametrize(
    ("init", "role"),
    table(
        ("a parameter", "self.weight = nn.Parameter(torch.ones(dim))", "parameter"),
        ("a tensor", "self.weight = torch.ones(dim)", "tensor"),
        ("a buffer", "self.weight = nn.Buffer(torch.ones(dim))", "buffer"),
        ("register_buffer", "self.register_buffer('weight', torch.ones(dim))", "buffer"),
        ("register_buffer by keyword", "self.register_buffer('weight', tensor=torch.ones(dim))", "buffer"),
        ("register_buffer of what a function makes", "self.register_buffer('weight', make(dim))", "buffer"),
        ("register_parameter", "self.register_parameter('weight', nn.Parameter(torch.ones(dim)))", "parameter"),
        (
            "register_parameter by keyword",
            "self.register_parameter('weight', param=nn.Parameter(torch.ones(dim)))",
            "parameter",
        ),
        ("setattr", "setattr(self, 'weight', nn.Parameter(torch.ones(dim)))", "parameter"),
        ("setattr by a name", "name = 'weight'\nsetattr(self, name, torch.ones(dim))", "tensor"),
        ("two at once", "self.bias, self.weight = None, nn.Parameter(torch.ones(dim))", "parameter"),
        ("set elsewhere", "self.bias = None", "unknown"),
        ("setattr of something else", "setattr(other, 'weight', torch.ones(dim))", "unknown"),
        ("a buffer by a name that isn't known", "self.register_buffer(name, torch.ones(dim))", "unknown"),
        ("a buffer of another module", "self.inner.register_buffer('weight', torch.ones(dim))", "unknown"),
    ),
)
def test_who_owns_a_gain_is_known(init: str, role: str) -> None:
    assert gain(init).param.role == role


@pytest.mark.parametrize(
    ("made", "axis", "rank"),
    table(
        ("D numbers", "torch.ones(dim)", "last", 1),
        ("a tuple of sizes", "torch.ones((dim,))", "last", 1),
        ("a list of sizes", "torch.ones([dim])", "last", 1),
        ("a tuple by name", "torch.ones(shape)", "last", None),
        ("a list of its lengths as ints", "torch.ones([int(n) for n in shape])", "last", None),
        ("a shape that is unpacked, of unknown length", "torch.ones(*shape)", "", None),
        ("one row", "torch.ones(1, dim)", "last", 2),
        ("channels first", "torch.ones(dim, 1, 1)", "other", 3),
        ("channels first in a batch", "torch.ones((1, dim) + (1, 1))", "other", 4),
        ("one number", "torch.tensor(1.0)", "last", 0),
        ("a column by a view", "torch.ones(dim).view(-1, 1)", "other", None),
        ("a column by a slice", "torch.ones(dim)[:, None]", "other", None),
        ("a row by a view", "torch.ones(dim).view(1, -1)", "last", None),
    ),
)
def test_along_which_axis_a_gain_lies_is_known(made: str, axis: str, rank: int | None) -> None:
    param = gain(f"self.weight = nn.Parameter({made})", "dim, shape, eps=1e-6").param
    assert param.axis == axis
    assert rank is None or len(param.shape or ()) == rank


@pytest.mark.parametrize(
    ("factor", "offset", "axis"),
    table(
        ("as it is", "self.weight", None, "last"),
        ("one plus", "(1 + self.weight)", 1.0, "last"),
        ("plus one", "(self.weight + 1)", 1.0, "last"),
        ("one plus in fp32", "(1.0 + self.weight.float())", 1.0, "last"),
        ("one plus a row", "(1 + self.weight[None, :])", 1.0, "last"),
        ("a column", "self.weight[:, None]", None, "other"),
        ("a column by unsqueeze", "self.weight.unsqueeze(-1)", None, "other"),
        ("a row by unsqueeze", "self.weight.unsqueeze(0)", None, "last"),
        ("a view for channels first", "self.weight.view(1, -1, 1)", None, "other"),
        ("expanded", "self.weight.expand_as(x)", None, "last"),
        ("repeated", "self.weight.repeat(2, 1)", None, "last"),
        ("permuted", "self.weight.permute(0)", None, "last"),
        ("rearranged", "einops.rearrange(self.weight, 'd -> d 1')", None, "other"),
        ("as the input", "self.weight.type_as(x)", None, "last"),
        ("by getattr", "getattr(self, 'weight')", None, "last"),
    ),
)
def test_how_a_gain_is_applied_is_known(factor: str, offset: float | None, axis: str) -> None:
    forward = f"return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * {factor}"
    (found,) = main(module(forward=forward)).gains
    assert (found.param.name, found.offset, found.param.axis, found.power) == ("weight", offset, axis, 1)


@pytest.mark.parametrize(
    ("name", "shown"),
    table(
        ("an unknown attribute is no gain", "factor", PLAIN + " → times(self.factor)"),
        ("gamma is a gain", "gamma", PLAIN + " → scale(gamma)"),
        ("g is a gain", "g", PLAIN + " → scale(g)"),
        ("a_2 is a gain", "a_2", PLAIN + " → scale(a_2)"),
        ("an eps is a number", "eps_factor", PLAIN + " → count(self.eps_factor^1)"),
    ),
)
def test_an_attribute_that_is_set_elsewhere_is_judged_by_its_name(name: str, shown: str) -> None:
    forward = f"return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.{name}"
    assert spines(module("pass", forward)) == [shown]


def test_a_parameter_that_is_named_on_the_way_keeps_the_attribute_it_had_first() -> None:
    init = "w = nn.Parameter(torch.ones(dim))\nself.weight = w"
    assert gain(init).param.name == "weight"


def test_an_attribute_can_be_bias_and_shift() -> None:
    init = "self.weight = nn.Parameter(torch.ones(dim))\nself.bias = nn.Parameter(torch.zeros(dim))"
    forward = "return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight + self.bias"
    assert spines(module(init, forward)) == [RMS + " → shift(bias)"]


def test_an_eps_in_a_buffer_is_an_eps() -> None:
    init = "self.weight = nn.Parameter(torch.ones(dim))\nself.register_buffer('eps', torch.tensor(eps))"
    norm = only(module(init))
    assert norm.spine == RMS
    assert [e.name for e in norm.main.eps] == ["eps"]
