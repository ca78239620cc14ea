"""From a program to a norm that can be run in any size: each case is run and compared with a formula in fp64."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from normlint.verify.build import Built, subject
from normlint.verify.job import Job, Meaning
from normlint.verify.subject import CannotBuildError, Made

torch.set_num_threads(1)

HEAD = """from __future__ import annotations
import math
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

class Core(nn.Module):
    def __init__(self, *shape, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))
        self.eps = eps

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
"""
FORWARD = "    def forward(self, x):\n        return self._norm(x) * self.weight\n"
LEAD = (2, 3, 4, 5)


def built(text: str, meaning: Meaning, method: str = "forward", **more: Any) -> Built:
    """The subject of a text that defines `Norm` or, for functions, `norm`."""
    program = HEAD + text
    space = vars(sys.modules.setdefault("case", ModuleType("case")))
    exec(compile(program, "case", "exec"), space)
    entry = more.pop("entry", "Norm" if method else "norm")
    return subject(Job("case", meaning, program, entry, method, **more), space)


def rms(gain: str = "weight", **more: Any) -> Meaning:
    return Meaning("rms", gain=gain, **more)


def layer(gain: str = "weight", shift: str = "bias", **more: Any) -> Meaning:
    return Meaning("layer", gain=gain, shift=shift, **more)


def expected(x: Tensor, made: Made, meaning: Meaning) -> Tensor:
    """The norm by its definition."""
    x = x.double()
    if meaning.kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    power = x.square().sum(-1, keepdim=True) if meaning.kind == "l2" else x.square().mean(-1, keepdim=True)
    y = x / (power + (made.eps or 0.0)).sqrt()
    if made.gain is not None:
        y = y * (made.gain.detach().double().flatten() + made.offset)
    return y if made.shift is None else y + made.shift.detach().double().flatten()


def check(built: Built, d: int = 24) -> Made:
    """Every rank that it says it takes, with gain and shift that show; both dtypes keep shape and dtype."""
    made = built.make(d)
    for tensor in (made.gain, made.shift):
        if tensor is not None:
            with torch.no_grad():
                tensor.uniform_(0.5, 2.0)
    assert built.ranks
    for rank in built.ranks:
        x = torch.randn((*LEAD[: rank - 1], d)) * 3
        y = made.run(x)
        assert y.shape == x.shape
        torch.testing.assert_close(y.double(), expected(x, made, built.meaning), rtol=1e-3, atol=1e-3)
    half = built.make(d, dtype=torch.float16).run(torch.randn((*LEAD[: built.ranks[0] - 1], d)).half())
    assert half.shape[-1] == d
    return made


@dataclass(frozen=True)
class Case:
    text: str
    meaning: Meaning
    eps: float | None = 1e-6
    gain: bool = True
    takes_eps: bool = False
    ranks: tuple[int, ...] = (3, 2, 4, 1, 5)


def cls(parameters: str, shape: str, more: str = "", forward: str = FORWARD) -> str:
    """A class Norm with a constructor."""
    return (
        f"class Norm(Core):\n    def __init__(self{parameters}):\n        super().__init__({shape})\n"
        + "".join(f"        {line}\n" for line in more.split("\n") if line)
        + forward
    )


CONSTRUCTORS = {
    "a hidden_size": Case(cls(", hidden_size", "hidden_size"), rms()),
    "a hidden_size with an eps": Case(cls(", hidden_size, eps=1e-5", "hidden_size, eps=eps"), rms(), 1e-5, True, True),
    "an eps that is required": Case(cls(", dim, eps", "dim, eps=eps"), rms(), 1e-6, True, True),
    "an eps that is stored nowhere": Case(cls(", dim, eps=1e-3", "dim"), rms(), 1e-3, True, True),
    "a config": Case(
        cls(", config", "config.hidden_size, eps=config.rms_norm_eps"), rms(), 1e-6, True, True
    ),
    "a config read like a dict, by getattr and by get": Case(
        cls(", cfg", "cfg['dim'], eps=getattr(cfg, 'eps', 1e-3)", "self.drop = cfg.get('dropout', 0.1)"),
        rms(), 1e-6, True, True,
    ),
    "a config known by its annotation": Case(cls(", c: LlamaConfig", "c.n_embd"), rms()),
    "an unknown name annotated int": Case(cls(", many: int", "many"), rms()),
    "an unknown name, alone": Case(cls(", k", "k"), rms()),
    "several unknown things of known types": Case(
        cls(", dim: int, layer_idx: int, dropout: float, fused: bool, act_layer, mode: str", "dim"), rms()
    ),
    "a features name with None for its default": Case(cls(", dim=None, eps=1e-6", "dim", "self.eps = eps"), rms(), 1e-6, True, True),
    "a dim that is an axis": Case(
        "class Norm(nn.Module):\n    def __init__(self, dim=-1, eps=1e-6):\n        super().__init__()\n"
        "        self.dim, self.eps = dim, eps\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(x.pow(2).mean(self.dim, keepdim=True) + self.eps)\n",
        rms(""), 1e-6, False, True,
    ),
    "eps as its first and only parameter": Case(
        "class Norm(nn.Module):\n    def __init__(self, eps=1e-4):\n        super().__init__()\n        self.e = eps\n"
        "    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.e)\n",
        rms(""), 1e-4, False, True,
    ),
    "a normalized_shape that must be a tuple": Case(
        cls(", normalized_shape", "*normalized_shape", "self.n = len(normalized_shape)"), rms(axes=None)
    ),
    "a normalized_shape that may be a number": Case(cls(", normalized_shape: int", "normalized_shape"), rms(axes=None)),
    "a bias that is required": Case(
        "class Norm(nn.Module):\n    def __init__(self, ndim, bias):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(ndim))\n"
        "        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None\n"
        "    def forward(self, input):\n"
        "        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)\n",
        layer(eps=1e-5), 1e-5,
    ),
    "all arguments handed on to nn.LayerNorm": Case(
        "class Norm(nn.LayerNorm):\n    def __init__(self, *args, mode='plain', **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n", layer(axes=None), 1e-5, True, True,
    ),
    "the rest handed on to a base": Case(
        "class Norm(Core):\n    def __init__(self, hidden_size, **kwargs):\n"
        "        super().__init__(hidden_size, **kwargs)\n" + FORWARD, rms(), 1e-6, True, True,
    ),
    "no constructor of its own": Case("class Norm(nn.RMSNorm):\n    pass\n", rms(axes=None), 1.1920928955078125e-07, True, True),
    "groups that may be one": Case(
        cls(", dim, num_groups", "dim", "self.g = num_groups",
            "    def forward(self, x):\n        y = x.unflatten(-1, (self.g, -1))\n"
            "        return self._norm(y).flatten(-2) * self.weight\n"), rms(),
    ),
    "a group_size": Case(
        cls(", hidden_size, group_size", "hidden_size", "self.g = group_size",
            "    def forward(self, x):\n        y = x.view(*x.shape[:-1], -1, self.g)\n"
            "        return self._norm(y).view(x.shape) * self.weight\n"), rms(),
    ),
    "two groups and no choice": Case(
        cls(", dim", "dim", "",
            "    def forward(self, x):\n        y = x.unflatten(-1, (2, -1))\n"
            "        return self._norm(y).flatten(-2) * self.weight\n"), rms(), 1e-6, False,
    ),
    "a gain one level down": Case(
        "class Norm(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.inner = Core(dim)\n    def forward(self, x):\n        return self.inner._norm(x) * self.inner.weight\n",
        rms("inner.weight"),
    ),
    "a gain in a list": Case(
        cls(", dim", "dim", "self.gains = nn.ParameterList([nn.Parameter(torch.ones(dim))])",
            "    def forward(self, x):\n        return self._norm(x) * self.gains[0]\n"), rms("gains.0"),
    ),
    "a gain that is a plain tensor": Case(
        "class Norm:\n    def __init__(self, dim):\n        self.weight = torch.ones(dim)\n"
        "    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * self.weight\n",
        rms(), None,
    ),
    "a gain that counts from zero": Case(
        cls(", dim", "dim", "self.weight.data.zero_()",
            "    def forward(self, x):\n        return self._norm(x) * (1 + self.weight)\n"), rms(offset=1.0),
    ),
    "a gain for one input of a block with a mode": Case(
        "class Norm(nn.LayerNorm):\n    def __init__(self, dim, data_format='channels_last'):\n"
        "        super().__init__(dim)\n        self.mode = data_format\n    def forward(self, x):\n"
        "        if self.mode == 'channels_first':\n            return super().forward(x.movedim(1, -1)).movedim(-1, 1)\n"
        "        return super().forward(x)\n", layer(axes=(1,)), 1e-5, True, False, (3, 4, 5),
    ),
}  # fmt: skip

CORE = "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(dim)\n"
ADA = (
    "class Norm(nn.Module):\n    def __init__(self, dim, cond_dim):\n        super().__init__()\n"
    "        self.linear = nn.Linear(cond_dim, 2 * dim)\n    def forward(self, x, emb):\n"
    "        scale, shift = self.linear(F.silu(emb)).chunk(2, -1)\n"
    "        y = F.layer_norm(x, x.shape[-1:], eps=1e-6)\n"
)
SQUARES = "x.pow(2).mean(1, keepdim=True)"
FORWARDS = {
    "a residual": Case(
        CORE + "    def forward(self, x, residual):\n        return self._norm(x + residual) * self.weight\n", rms()
    ),
    "a residual that may be left out, and two outputs": Case(
        CORE + "    def forward(self, x, residual=None):\n        x = x if residual is None else x + residual\n"
        "        return x, self._norm(x) * self.weight\n", rms(),
    ),
    "an output in a dict": Case(
        CORE + "    def forward(self, x):\n        return {'in': x, 'out': self._norm(x) * self.weight}\n", rms()
    ),
    "an output in a dataclass": Case(
        "@dataclass\nclass Out:\n    mean: object\n    y: object\n" + CORE
        + "    def forward(self, x):\n        return Out(None, self._norm(x) * self.weight)\n", rms(),
    ),
    "a gate through silu": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x) * self.weight * F.silu(gate)\n", rms()
    ),
    "a gate through sigmoid": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x) * self.weight * gate.sigmoid()\n", rms()
    ),
    "a gate that is a plain factor": Case(
        CORE + "    def forward(self, x, z):\n        return self._norm(x) * self.weight * z\n", rms()
    ),
    "a gate in front of the norm": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x * F.silu(gate)) * self.weight\n", rms()
    ),
    "a gate that may be None": Case(
        CORE + "    def forward(self, x, gate):\n        y = self._norm(x) * self.weight\n"
        "        return y if gate is None else y * gate * 3\n", rms(),
    ),
    "an adaptive scale and shift for a sequence": Case(
        CORE + "    def forward(self, x, scale, shift):\n"
        "        return self._norm(x) * self.weight * (1 + scale[:, None]) + shift[:, None]\n", rms(),
        ranks=(3, 2, 4, 1, 5),
    ),
    "a condition through a layer": Case(
        ADA + "        return y * (1 + scale[:, None]) + shift[:, None]\n", layer("", "", eps=1e-6), 1e-6, False, False, (3,)
    ),
    "a mask": Case(
        CORE + "    def forward(self, x, attention_mask):\n"
        "        return self._norm(x) * self.weight * attention_mask[..., None]\n", rms(),
    ),
    "a weight handed over": Case(
        "class Norm(nn.Module):\n    def forward(self, x, weight, eps=1e-6):\n"
        "        return F.rms_norm(x, weight.shape, weight, eps)\n", rms("weight"), 1e-6, True, True,
    ),
    "an input that isn't the first": Case(
        CORE + "    def forward(self, residual, x):\n        return self._norm(x + residual) * self.weight\n", rms()
    ),
    "channels first in four axes": Case(
        cls(", num_channels", "num_channels, 1, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,)), 1e-6, True, False, (4,),
    ),
    "channels first in three axes": Case(
        cls(", channels", "1, channels, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,)), 1e-6, True, False, (3,),
    ),
    "features three from the end": Case(
        cls(", channels", "channels, 1, 1", "",
            "    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(-3, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(-3,)), 1e-6, True, False, (3, 4, 5),
    ),
    "two axes by their normalized_shape": Case(
        cls(", normalized_shape", "*normalized_shape", "",
            "    def forward(self, x):\n        d = (-2, -1)\n"
            "        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(-2, -1)),
    ),
    "channels and a plane, a gain for each channel": Case(
        cls(", channels", "1, channels, 1, 1", "",
            "    def forward(self, x):\n        d = (1, 2, 3)\n"
            "        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(1, 2, 3), rank=4), 1e-6, True, False, (2,),
    ),
    "only the factor is returned": Case(
        CORE + "    def forward(self, x):\n        return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)\n",
        rms(""), 1e-6, False,
    ),
}  # fmt: skip
FORWARDS["an adaptive scale and shift for a sequence"] = Case(
    FORWARDS["an adaptive scale and shift for a sequence"].text, rms(), ranks=(3,)
)

BODY = "    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + "
FUNCTIONS = {
    "the input alone": Case(f"def norm(x):\n{BODY}1e-6)\n", rms("", eps=1e-6), 1e-6, False),
    "a weight and an eps": Case(f"def norm(x, weight, eps=1e-5):\n{BODY}eps) * weight\n", rms(), 1e-5, True, True),
    "an eps that is required": Case(f"def norm(x, w, eps):\n{BODY}eps) * w\n", rms("w"), 1e-6, True, True),
    "a weight that may be left out": Case(
        f"def norm(x, weight=None):\n    w = 1 if weight is None else weight\n{BODY}1e-6) * w\n", rms(eps=1e-6)
    ),
    "a gain of one more": Case(f"def norm(x, g):\n{BODY}1e-6) * (1 + g)\n", rms("g", offset=1.0, eps=1e-6)),
    "a normalized_shape, a weight and a bias": Case(
        "def norm(x, normalized_shape, weight, bias, eps: float):\n"
        "    return F.layer_norm(x, normalized_shape, weight, bias, eps)\n", layer(), 1e-6, True, True,
    ),
    "a dim that is required": Case(
        "def norm(t, dim):\n    return t / t.norm(dim=dim, keepdim=True)\n", Meaning("l2"), None, False
    ),
    "a weight of channels": Case(
        "def norm(x, weight):\n    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * weight[:, None, None]\n",
        rms(axes=(1,), eps=1e-6), 1e-6, True, False, (4,),
    ),
    "a weight that broadcasts": Case(
        "def norm(x, weight):\n    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * weight\n",
        rms(axes=(1,), eps=1e-6), 1e-6, True, False, (3, 4, 5),
    ),
}  # fmt: skip


def params(table: dict[str, Case]) -> list[Any]:
    return [pytest.param(case, id=name) for name, case in table.items()]


@pytest.mark.parametrize("case", params(CONSTRUCTORS) + params(FORWARDS))
def test_a_class_is_built_called_and_computes(case: Case) -> None:
    found = built(case.text, case.meaning, input="x" if "residual, x)" in case.text else "")
    made = check(found)
    assert (made.eps, found.takes_eps) == (case.eps, case.takes_eps)
    assert (made.gain is not None) == case.gain
    assert found.ranks == case.ranks


@pytest.mark.parametrize("case", params(FUNCTIONS))
def test_a_function_is_called_and_computes(case: Case) -> None:
    found = built(case.text, case.meaning, method="")
    made = check(found)
    assert (made.eps, found.takes_eps) == (case.eps, case.takes_eps)
    assert (made.gain is not None) == case.gain
    assert found.ranks == case.ranks


UNBUILT = {
    "a helper that isn't there": (
        "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(dim)\n"
        "    def forward(self, x):\n        return my_kernel(x) * self.weight\n", "my_kernel",
    ),
    "a name missing in the constructor": (cls(", dim", "dim", "self.act = ACT2FN['silu']"), "ACT2FN"),
    "a package that isn't installed": (cls(", dim", "dim", "import no_such_package"), "no_such_package"),
    "an argument that nobody can guess": (cls(", dim, callback", "dim"), "a value for callback"),
    "a constructor that raises": (
        cls(", dim", "dim", "raise ValueError('dim must be prime')"),
        "a constructor that runs (ValueError: dim must be prime)",
    ),
    "a condition with no neutral value": (
        CORE + "    def forward(self, x, cond):\n        return self._norm(x) * self.weight * (cond.sin() + x.roll(1, -1))\n",
        "a value for cond",
    ),
    "an attribute that nobody sets": (
        CORE + "    def forward(self, x):\n        return self._norm(x) * self.weight * self.factor\n",
        "the attribute factor",
    ),
    "an entry that isn't there": ("", "Norm"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "needs"), [pytest.param(*case, id=name) for name, case in UNBUILT.items()])
def test_what_cannot_be_built_is_told_by_what_it_needs(text: str, needs: str) -> None:
    vars(sys.modules.setdefault("case", ModuleType("case"))).pop("Norm", None)
    with pytest.raises(CannotBuildError) as caught:
        built(text, rms())
    assert str(caught.value) == needs


def wrong(forward: str, constructor: str = ", dim", shape: str = "dim") -> Built:
    return built(cls(constructor, shape, "", f"    def forward(self, x):\n        {forward}\n"), rms())


def test_an_exception_of_a_norm_that_never_runs_is_left_to_the_judge() -> None:
    found = wrong("return self._norm(x).reshape(3, 7) * self.weight")
    with pytest.raises(RuntimeError):
        found.make(16).run(torch.randn(2, 3, 16))


def test_a_norm_over_the_wrong_axis_is_still_run_in_every_rank() -> None:
    found = wrong("return x * torch.rsqrt(x.pow(2).mean(-1) + self.eps) * self.weight")
    assert 2 in found.ranks
    assert found.make(16).run(torch.randn(16, 16)).shape == (16, 16)


def test_a_gain_that_is_never_used_is_still_the_gain() -> None:
    made = built(CORE + "    def forward(self, x):\n        return self._norm(x)\n", rms("")).make(16)
    assert made.gain is not None
    assert made.gain.shape == (16,)


def test_a_norm_of_one_size_says_so() -> None:
    found = built(cls("", "48"), rms())
    assert found.sizes == (48,)
    check(found, 48)


def test_every_make_is_a_fresh_and_equal_one() -> None:
    text = cls(", dim", "dim", "self.weight.data.normal_()")
    found = built(text, rms())
    state = torch.get_rng_state()
    one, two = found.make(16), found.make(16)
    assert torch.equal(torch.get_rng_state(), state)
    assert one.gain is not None
    assert two.gain is not None
    assert one.gain is not two.gain
    assert torch.equal(one.gain, two.gain)


def test_an_eps_that_is_passed_arrives() -> None:
    for text in (CONSTRUCTORS["a config"].text, CONSTRUCTORS["a hidden_size with an eps"].text):
        made = built(text, rms()).make(16, eps=0.5)
        assert made.eps == 0.5
        x = torch.full((1, 16), 2.0)
        assert float(made.run(x)[0, 0].detach()) == pytest.approx(2 / (4 + 0.5) ** 0.5)
    made = built(FUNCTIONS["a weight and an eps"].text, rms(), method="").make(16, eps=0.5)
    assert float(made.run(torch.full((1, 16), 2.0))[0, 0].detach()) == pytest.approx(2 / (4 + 0.5) ** 0.5)


def test_methods_and_functions_of_a_class_are_called_on_their_own() -> None:
    check(built("class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(dim)\n", rms(""), "_norm"))
    static = "class Norm:\n    def __init__(self, what):\n        raise ValueError\n    @staticmethod\n    def of(x, eps=1e-6):\n    "
    check(built(static + BODY + "eps)\n", rms(""), "of"))
    apply = "class Norm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, weight, eps):\n"
    apply += f"        ctx.save_for_backward(x)\n    {BODY}eps) * weight\n"
    made = check(built(apply, rms()))
    assert made.run(torch.randn(2, 24, requires_grad=True)).requires_grad


def test_the_input_keeps_its_memory_layout_and_its_changes_in_place_show() -> None:
    text = (
        "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(1, dim, 1)\n    def forward(self, x):\n"
        "        x.mul_(torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps))\n        return x.view(x.shape) * self.weight\n"
    )
    made = built(text, rms(axes=(1,))).make(16)
    x = torch.randn(2, 3, 16)
    before = x.clone()
    with torch.no_grad():
        made.run(x)
    assert not torch.equal(x, before)
