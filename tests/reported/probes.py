"""What torch says of a reported norm: each probe holds for the repaired one and not for the broken one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

Axes = int | tuple[int, ...]
HALF: Final = 5e-3  # the error of a result in fp16
SINGLE: Final = 1e-4


def rms(x: Tensor, eps: float, dim: Axes = -1) -> Tensor:
    """The RMS norm."""
    return x / (x.pow(2).mean(dim, keepdim=True) + eps).sqrt()


def layer(x: Tensor, eps: float, dim: Axes = -1) -> Tensor:
    """The layer norm."""
    return rms(x - x.mean(dim, keepdim=True), eps, dim)


def l2(x: Tensor, dim: Axes = -1) -> Tensor:
    """The unit vectors."""
    return x / x.pow(2).sum(dim, keepdim=True).sqrt()


@dataclass(frozen=True)
class Case:
    """A norm that can be called, and its reference."""

    make: Callable[[], Any]
    reference: Callable[[Tensor], Tensor] | None
    shape: tuple[int, ...]

    def x(self) -> Tensor:
        """Rows of several sizes, with an offset."""
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(self.shape, generator=generator)
        return (x + 0.5) * torch.linspace(0.5, 3.0, x[..., :1].numel()).view(x[..., :1].shape)

    def error(self, x: Tensor) -> float:
        """The largest error, beside the largest value; infinite if it raises or isn't finite."""
        assert self.reference is not None
        expected = self.reference(x.double())
        try:
            out = self.make()(x.clone()).detach().double()
        except RuntimeError:
            return float("inf")
        error = ((out - expected).abs().max() / expected.abs().max()).item()
        return error if error == error else float("inf")


def case(text: str, run: str, reference: str, shape: tuple[int, ...]) -> Case:
    """The norm of a text: `run` is evaluated in it, anew for each call."""
    names: dict[str, Any] = {"__name__": "reported"}
    exec(compile(text, "reported", "exec", dont_inherit=True), names)
    given = {**globals(), "torch": torch}
    formula = None if reference == "None" else lambda x: eval(reference, given, {"x": x})
    return Case(lambda: eval(run, names), formula, shape)


def _values(one: Case) -> bool:
    return one.error(one.x()) < SINGLE


def _tiny(one: Case) -> bool:
    return one.error(one.x() * 1e-3) < SINGLE


def _offset(one: Case) -> bool:
    return one.error(one.x() + 1e4) < 1e-2


def _half(one: Case) -> bool:
    return one.error((one.x() * 400).half()) < HALF


def _zero_rows(one: Case) -> Tensor:
    x = one.x()
    x[-1] = 0
    return x


def _zeros(one: Case) -> bool:
    return bool(one.make()(_zero_rows(one)).isfinite().all())


def _half_zeros(one: Case) -> bool:
    return bool(one.make()(_zero_rows(one).half()).isfinite().all())


def _gradient(one: Case) -> bool:
    x = one.x()
    x[-2:] = 0
    x.requires_grad_()
    one.make()(x).square().sum().backward()
    assert x.grad is not None
    return bool(x.grad.isfinite().all())


@contextlib.contextmanager
def _made_in(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _dtype(one: Case) -> bool:
    x = one.x().half()
    with _made_in(torch.float16):
        return one.make()(x).dtype == torch.float16


def _untouched(one: Case) -> bool:
    x = one.x()
    before = x.clone()
    one.make()(x)
    return torch.equal(x, before)


def _module(one: Case) -> nn.Module:
    module = one.make()
    assert isinstance(module, nn.Module)
    return module


def _saved(one: Case) -> bool:
    return bool(_module(one).state_dict())


def _moves(one: Case) -> bool:
    module = _module(one).double()
    return not any(isinstance(value, Tensor) for value in vars(module).values())


def _shape(one: Case) -> bool:
    return all(parameter.numel() == one.shape[-1] for parameter in _module(one).parameters())


def _filled(one: Case) -> bool:
    torch.use_deterministic_algorithms(True)  # what is empty is NaN
    try:
        return all(bool(parameter.isfinite().all()) for parameter in _module(one).parameters())
    finally:
        torch.use_deterministic_algorithms(False)


def _bf16_mean(one: Case) -> bool:
    assert one.reference is not None
    x = one.x()
    ratio = one.make()(x).double() / one.reference(x)
    return abs(ratio.mean().item() - 1) < 1e-3


def _bf16_rows(one: Case) -> bool:
    """No row is off as a whole."""
    assert one.reference is not None
    x = one.x()
    ratio = one.make()(x).double() / one.reference(x)
    return (ratio.mean(-1) - 1).abs().max().item() < 1.5e-3


def _anywhere(one: Case) -> bool:
    """It is made on the device that is asked for."""
    try:
        with torch.device("meta"):
            return all(parameter.is_meta for parameter in _module(one).parameters())
    except (AssertionError, RuntimeError):  # there is no GPU
        return False


def _spared(one: Case) -> bool:
    """An optimizer's weight decay takes matrices alone."""
    groups = one.make().param_groups
    return all(parameter.ndim > 1 for group in groups if group["weight_decay"] for parameter in group["params"])


PROBES: Final[dict[str, Callable[[Case], bool]]] = {
    "values": _values,
    "tiny": _tiny,
    "offset": _offset,
    "half": _half,
    "zeros": _zeros,
    "half-zeros": _half_zeros,
    "gradient": _gradient,
    "dtype": _dtype,
    "untouched": _untouched,
    "saved": _saved,
    "moves": _moves,
    "shape": _shape,
    "filled": _filled,
    "anywhere": _anywhere,
    "spared": _spared,
    "bf16-mean": _bf16_mean,
    "bf16-rows": _bf16_rows,
}
