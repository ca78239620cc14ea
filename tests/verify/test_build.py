"""From a program to a norm that can be run in any size: each case is run and compared with a formula in fp64."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from normlint.verify.assembly.build import Built, subject
from normlint.verify.job import Job, Meaning
from normlint.verify.subject import CannotBuildError, Made
from tests.building.case import CORE, HEAD, Case, cls, rms
from tests.building.constructors import CONSTRUCTORS
from tests.building.forwards import FORWARDS
from tests.building.functions import BODY, FUNCTIONS, UNBUILT

torch.set_num_threads(1)

LEAD = (2, 3, 4, 5)


def built(text: str, meaning: Meaning, method: str = "forward", **more: Any) -> Built:
    """The subject of a text that defines `Norm` or, for functions, `norm`."""
    program = HEAD + text
    space = vars(sys.modules.setdefault("case", ModuleType("case")))
    exec(compile(program, "case", "exec"), space)
    entry = more.pop("entry", "Norm" if method else "norm")
    return subject(Job("case", meaning, program, entry, method, **more), space)


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


@pytest.mark.parametrize(("text", "needs"), [pytest.param(*case, id=name) for name, case in UNBUILT.items()])
def test_what_cannot_be_built_is_reported_by_what_it_needs(text: str, needs: str) -> None:
    vars(sys.modules.setdefault("case", ModuleType("case"))).pop("Norm", None)
    with pytest.raises(CannotBuildError) as caught:
        built(text, rms())
    assert str(caught.value) == needs


def wrong(forward: str, constructor: str = ", dim", shape: str = "dim") -> Built:
    return built(cls(constructor, shape, "", f"    def forward(self, x):\n        {forward}\n"), rms())


def test_a_norm_that_never_runs_needs_another_input() -> None:
    with pytest.raises(CannotBuildError, match=r"an input that it takes \(RuntimeError: shape '\[3, 7\]' is invalid"):
        wrong("return self._norm(x).reshape(3, 7) * self.weight")


def test_a_norm_over_the_wrong_axis_is_still_run_in_every_rank() -> None:
    found = wrong("return x * torch.rsqrt(x.pow(2).mean(-1) + self.eps) * self.weight")
    assert 2 in found.ranks
    assert found.make(16).run(torch.randn(16, 16)).shape == (16, 16)


def test_a_count_of_one_axis_for_two_is_not_hidden_by_the_shape_of_the_input() -> None:
    forward = "    def forward(self, x):\n        s = x.pow(2).sum((-2, -1), keepdim=True) / self.dim\n"
    text = cls(", dim", "1", "self.dim = dim", forward + "        return x * torch.rsqrt(s + self.eps)\n")
    found = built(text, rms("", axes=(-2, -1)))
    x = torch.randn(3, 5, 16)
    got, wanted = found.make(16).run(x).double(), x.double() / x.double().pow(2).mean(-1, keepdim=True).sqrt()
    assert float((got - wanted).abs().max()) > 0.1


def test_an_axis_too_many_is_not_hidden_by_the_shape_of_the_input() -> None:
    found = wrong("return x * torch.rsqrt(x.pow(2).sum((-2, -1), keepdim=True) / x.shape[-1] + 1e-6) * self.weight")
    x = torch.randn(3, 5, 16)
    assert not torch.allclose(found.make(16).run(x)[:, :1], found.make(16).run(x[:, :1]))


def test_a_gain_that_is_never_used_is_still_the_gain() -> None:
    made = built(CORE + "    def forward(self, x):\n        return self._norm(x)\n", rms()).make(16)
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
    static = "class Norm:\n    def __init__(self, what):\n        raise ValueError\n    @staticmethod\n"
    static += "    def of(x, eps=1e-6):\n    "
    check(built(static + BODY + "eps)\n", rms(""), "of"))
    apply = "class Norm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, weight, eps):\n"
    apply += f"        ctx.save_for_backward(x)\n    {BODY}eps) * weight\n"
    made = check(built(apply, rms()))
    assert made.run(torch.randn(2, 24, requires_grad=True)).requires_grad


def test_the_input_keeps_its_memory_layout_and_its_changes_in_place_show() -> None:
    text = (
        "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(1, dim, 1)\n"
        "    def forward(self, x):\n"
        "        x.mul_(torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps))\n"
        "        return x.view(x.shape) * self.weight\n"
    )
    made = built(text, rms(axes=(1,))).make(16)
    x = torch.randn(2, 3, 16)
    before = x.clone()
    with torch.no_grad():
        made.run(x)
    assert not torch.equal(x, before)
