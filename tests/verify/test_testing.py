"""`normlint.testing.assert_norm` on live modules and functions."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="live norms are torch's")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from normlint.testing import PrecisionWarning, assert_norm, table  # noqa: E402
from normlint.text.verdict import Probe  # noqa: E402
from tests.fences import blocks  # noqa: E402
from tests.verify.judging import LLAMA, MS, norm  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tiny tensors: threads only get in the way."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Wrapped(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class ChannelsFirst(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, d, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, d, 1, 1))
        self.variance_epsilon = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        c = h - h.mean(1, keepdim=True)
        y = c * torch.rsqrt(c.pow(2).mean(1, keepdim=True) + self.variance_epsilon)
        return (self.gamma.float() * y + self.beta.float()).to(x.dtype)


def scaled(x: Tensor) -> Tensor:
    return functional.normalize(x.float(), dim=-1).type_as(x) * x.shape[-1] ** 0.5


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight


def added(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    total = x + residual
    return rms_norm(total, weight, eps), total


def forgets_the_sum(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    return rms_norm(x + residual, weight, eps), residual


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    odd = torch.arange(x.shape[-1]) % 2
    return x * odd, x * (1 - odd)


def reads_rows_as_if_contiguous(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    return rms_norm(x.as_strided(x.shape, (*x.stride()[:-1], 1)), weight, eps)


def overwrites(x: Tensor, weight: Tensor) -> Tensor:
    y = rms_norm(x * 1, weight)
    x.data.copy_(y)
    return y


class Masked(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor, *, mask: Tensor) -> Tensor:
        return rms_norm(x * mask, self.weight)


class OfOneShape(ChannelsFirst):
    def forward(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        assert (batch, height, width) == (2, 6, 4)
        return super().forward(x)


class Fused(torch.autograd.Function):
    """A norm with a backward of its own, as kernels have it; `term` is what mistakes leave out."""

    term = 1.0

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        inverse = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, inverse)
        return ((x.float() * inverse) * weight.float()).to(x.dtype)

    @classmethod
    def backward(cls, ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, inverse = ctx.saved_tensors
        h = x.float() * inverse
        dh = dy.float() * weight.float()
        dx = inverse * (dh - cls.term * h * (dh * h).mean(-1, keepdim=True))
        return dx.to(x.dtype), (dy.float() * h).reshape(-1, x.shape[-1]).sum(0).to(weight.dtype), None


class Constant(Fused):
    term = 0.0


def fused(of: Any, eps: float = 1e-6) -> Any:
    return lambda x, weight: of.apply(x, weight, eps)


def no_eps(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    h = x.float()
    y = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True))).type_as(x)
    return y if weight is None else y * weight


Llama = norm(LLAMA)
Gemma = norm(
    f"h = x.float(); h = h * torch.rsqrt({MS} + self.eps); return (h * (1 + self.weight.float())).type_as(x)",
    "torch.zeros(d)",
)
Half = norm("return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight")

RIGHT: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "torch.nn.RMSNorm": (lambda: nn.RMSNorm(64), {}),
    "torch.nn.RMSNorm with an eps of its own": (lambda: nn.RMSNorm(48, eps=1e-5), {"eps": 1e-5}),
    "torch.nn.RMSNorm without a gain": (lambda: nn.RMSNorm(16, elementwise_affine=False), {}),
    "torch.nn.LayerNorm": (lambda: nn.LayerNorm(64), {}),
    "torch.nn.LayerNorm without gain and shift": (lambda: nn.LayerNorm(32, elementwise_affine=False), {}),
    "torch.nn.LayerNorm without a shift": (lambda: nn.LayerNorm(32, bias=False), {}),
    "torch.nn.LayerNorm over two axes": (lambda: nn.LayerNorm((4, 8)), {}),
    "a hand-written one": (lambda: Llama(64), {}),
    "a hand-written one in bf16": (lambda: Llama(64).bfloat16(), {}),
    "a wide one": (lambda: Llama(4096), {}),
    "a gain that is added to 1": (lambda: Gemma(64), {}),
    "a norm in another module": (lambda: Wrapped(Llama(64)), {}),
    "channels first": (lambda: ChannelsFirst(12), {"axis": 1, "kind": "layer"}),
    "channels first, its kind tried": (lambda: ChannelsFirst(12), {"axis": 1}),
    "a function": (lambda: rms_norm, {}),
    "a function with its eps bound": (lambda: partial(rms_norm, eps=1e-3), {"kind": "rms", "eps": 1e-3}),
    "torch's rms_norm": (lambda: functional.rms_norm, {}),
    "torch's layer_norm": (lambda: functional.layer_norm, {}),
    "a function without a gain": (lambda: scaled, {}),
    "a lambda of the L2 kind": (lambda: lambda x: functional.normalize(x.float(), dim=-1).type_as(x), {}),
    "a residual that is added first": (lambda: added, {"inputs": split}),
    "all its arguments by name": (lambda: Masked(16), {"inputs": lambda x: {"x": x, "mask": torch.ones_like(x)}}),
    "one shape only, channels first": (lambda: OfOneShape(12), {"axis": 1, "shape": (2, 12, 6, 4)}),
    "one shape only, over two axes": (lambda: nn.LayerNorm((4, 8)), {"shape": (3, 4, 8)}),
    "other numbers": (lambda: nn.RMSNorm(64), {"seed": 5}),
    "torch's normalize, over the channels": (
        lambda: functional.normalize,
        {"axis": 1, "kind": "l2", "dtypes": [torch.float32]},
    ),
}

WRONG: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "no upcast": (lambda: Half(64), {}, "fp16 input ×1e4: output is all zeros"),
    "another eps than the one that must act": (
        lambda: Llama(64),
        {"eps": 1e-5},
        "eps 1e-05 is given, but 1e-06 acts",
    ),
    "another kind than the one that is said": (
        lambda: Llama(64),
        {"kind": "layer"},
        "the mean is not subtracted",
    ),
    "no keepdim, too wide for a cube": (
        lambda: norm("h = x.float(); return h * torch.rsqrt(h.pow(2).mean(-1) + self.eps) * self.weight")(4096),
        {"kind": "rms"},
        "fp32 input: raises RuntimeError: The size of tensor a",
    ),
    "a function whose eps does nothing": (lambda: no_eps, {"kind": "rms"}, "eps 1e-06 is given, but has no effect"),
    "a second output that isn't the sum": (
        lambda: forgets_the_sum,
        {"inputs": split},
        "the second output is not the tensor that is normalised",
    ),
    "rows read as if they were contiguous": (
        lambda: reads_rows_as_if_contiguous,
        {},
        "input with a stride of 2: output is off",
    ),
    "batch statistics": (lambda: nn.BatchNorm1d(8), {"axis": 1, "kind": "layer"}, "changing one token changes"),
    "no norm": (nn.Identity, {}, "fp32 input: output is off"),
    "a matrix product": (lambda: nn.Linear(8, 8), {}, "fp32 input: output is off"),
    "what can't be called": (lambda: lambda: None, {}, "raises TypeError"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_norm_passes(name: str) -> None:
    made, asked = RIGHT[name]
    assert_norm(made(), **asked)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_norm_is_reported_with_its_probes(name: str) -> None:
    made, asked, words = WRONG[name]
    with pytest.raises(AssertionError) as raised:
        assert_norm(made(), **asked)
    first, _, rest = str(raised.value).partition("\n")
    assert words in first
    assert "probe" in rest
    assert any(line.startswith("x") for line in rest.splitlines())


SAME: dict[str, tuple[Callable[[], Any], Callable[[], Any], dict[str, Any]]] = {
    "torch's against a hand-written one": (lambda: nn.RMSNorm(64, eps=1e-6), lambda: Llama(64), {}),
    "torch's against itself, eps of each dtype": (lambda: nn.RMSNorm(64), lambda: nn.RMSNorm(64), {}),
    "torch's layer norm": (lambda: nn.LayerNorm(48), lambda: nn.LayerNorm(48), {}),
    "a backward of its own": (lambda: fused(Fused), lambda: rms_norm, {}),
    "channels first": (lambda: ChannelsFirst(12), lambda: ChannelsFirst(12), {"axis": 1}),
    "a residual that is added first": (lambda: added, lambda: added, {"inputs": split}),
    "what no definition fits": (lambda: nn.Linear(16, 16), lambda: nn.Linear(16, 16), {}),
    "both overflow in fp16": (lambda: Half(64), lambda: Half(64), {}),
}
OTHER: dict[str, tuple[Callable[[], Any], Callable[[], Any], dict[str, Any], str]] = {
    "another eps": (lambda: nn.RMSNorm(64, eps=1e-5), lambda: Llama(64), {}, "input ×1e-2: output is off by"),
    "no upcast": (lambda: Half(64), lambda: Llama(64), {}, "fp16 input ×1e4: output is off by"),
    "a gradient without the statistic's": (
        lambda: fused(Constant),
        lambda: rms_norm,
        {},
        "fp32 input: gradient of the input is off by",
    ),
    "no gradient for the gain": (
        lambda: lambda x, weight: rms_norm(x, weight.detach()),
        lambda: rms_norm,
        {},
        "the reference has a gradient of the gain, the norm has none",
    ),
    "rows read as if they were contiguous": (
        lambda: reads_rows_as_if_contiguous,
        lambda: rms_norm,
        {},
        "input with a stride of 2: output is off by",
    ),
    "a fp32 output": (
        lambda: lambda x, weight: rms_norm(x.float(), weight.float()),
        lambda: rms_norm,
        {},
        "bf16 input: output is (3, 5, 16) in float32, the reference's is (3, 5, 16) in bfloat16",
    ),
    "an input that is overwritten": (
        lambda: overwrites,
        lambda: rms_norm,
        {},
        "input afterwards is off by",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_norm_that_computes_what_its_reference_does_passes(name: str) -> None:
    made, reference, asked = SAME[name]
    assert_norm(made(), reference=reference(), **asked)


@pytest.mark.parametrize("name", OTHER)
def test_what_differs_from_the_reference_is_reported(name: str) -> None:
    made, reference, asked, words = OTHER[name]
    with pytest.raises(AssertionError) as raised:
        assert_norm(made(), reference=reference(), **asked)
    assert words in str(raised.value)


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "a kind that there is none of": ({"kind": "batch"}, "kind must be one of 'rms', 'layer', 'l2', not 'batch'"),
    "a kind and a reference": ({"kind": "rms", "reference": nn.RMSNorm(16)}, "kind and reference cannot be combined"),
    "an axis that the shape doesn't have": ({"shape": (2, 16), "axis": 2}, "axis 2 is not an axis of shape (2, 16)"),
    "a reference with other parameters": (
        {"reference": nn.LayerNorm(16)},
        "different parameters: weight (16,); weight (16,), bias (16,)",
    ),
    "a reference that can't be run": ({"reference": lambda x, y, z: x}, "the reference raises TypeError"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_arguments_that_do_not_fit_are_an_error_of_the_call(name: str) -> None:
    asked, words = UNFIT[name]
    norm = (lambda x: x) if "can't be run" in name else nn.RMSNorm(16)
    with pytest.raises(ValueError, match=re.escape(words)):
        assert_norm(norm, **asked)


def test_where_the_norm_raises_the_arguments_that_may_help_are_named() -> None:
    with pytest.raises(AssertionError, match=r"inputs=lambda x: \(x, mask\), shape=\(2, 8, 16\), axis=1"):
        assert_norm(Masked(16))


def test_lost_precision_is_a_warning() -> None:
    def rounded(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).type_as(x)

    with pytest.warns(PrecisionWarning, match="rows are scaled off by .* a statistic kept in fp16"):
        assert_norm(rounded, "rms")


def test_the_object_its_gradients_and_its_hooks_stay_as_they_are() -> None:
    module, called = Llama(16), []
    module.register_forward_hook(lambda *_: called.append("forward"))
    module.register_full_backward_hook(lambda *_: called.append("backward"))
    module(torch.randn(2, 16, requires_grad=True)).sum().backward()
    module.seen = module(torch.randn(2, 16))  # autograd's own: copies of it are refused
    called.clear()
    weight, grad, state = (
        module.weight,
        module.weight.grad.clone(),
        {k: v.clone() for k, v in module.state_dict().items()},
    )
    module.eval()
    random = torch.get_rng_state()
    assert_norm(module)
    assert called == []
    assert module.weight is weight
    assert torch.equal(module.weight.grad, grad)
    assert all(torch.equal(v, state[k]) for k, v in module.state_dict().items())
    assert not module.training
    assert len(module._forward_hooks) == 1
    assert torch.equal(torch.get_rng_state(), random)


def test_what_a_trained_gain_has_become_is_no_mistake() -> None:
    module = Llama(16)
    with torch.no_grad():
        module.weight.uniform_(-3, 3)
    assert_norm(module)


def test_nothing_is_printed_in_passing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="prints at every call: 'here'"):
        assert_norm(norm("print('here'); " + LLAMA)(16), "rms")
    assert capsys.readouterr().out == ""


@pytest.fixture(scope="module")
def compiler() -> Callable[..., Any]:
    """torch.compile, whose own imports may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(nn.Identity(), backend="eager")(torch.ones(1))
    return partial(torch.compile, backend="eager")


def test_a_compiled_norm_is_run_compiled(compiler: Callable[..., Any]) -> None:
    ran = []

    def counting(graph: Any, _inputs: Any) -> Any:
        ran.append(graph)
        return graph.forward

    module = torch.compile(Llama(16), backend=counting)
    assert_norm(module)
    assert ran
    before = len(ran)
    module(torch.randn(2, 16))
    assert len(ran) <= before + 1
    with pytest.raises(AssertionError, match="fp16 input ×1e4"):
        assert_norm(compiler(Half(16)))


def test_a_table_of_probes_is_aligned() -> None:
    probes = [Probe("small", "fp32", 0.5, 64.0), Probe("large", "fp16", float("inf"), 4.0, "output is all zeros")]
    assert table(probes).splitlines() == [
        "   probe  dtype  error  limit",
        "   small  fp32   0.5    64",
        "x  large  fp16   inf    4      output is all zeros",
    ]


EXAMPLES = [block.text for block in blocks(DOCS / "testing.md") if "assert_norm" in block.text]


@pytest.mark.parametrize("example", EXAMPLES, ids=[re.findall(r"def (test_\w+)", text)[0] for text in EXAMPLES])
def test_an_example_of_the_page_passes(example: str) -> None:
    space: dict[str, Any] = {}
    exec(compile(example, "testing.md", "exec"), space)
    for name in [name for name in space if name.startswith("test_")]:
        space[name]()


def test_importing_needs_no_torch_and_using_says_what_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from normlint.testing import assert_norm\n"
        "try: assert_norm(lambda x: x)\n"
        "except ImportError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "normlint.testing needs torch: pip install 'normlint[verify]'\n"
