"""Run a case against its reference: the probes it fails, by name.

A sound case fails none; a defect fails, without raising, the probe that is there to show it.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from tests.grid.build import Built, build, cast, namespace, randomise, saved, takes_eps
from tests.grid.cases import Case, extras
from tests.grid.reference import Reference, reference

LIMIT: Final = {torch.float32: 64.0, torch.float16: 4.0, torch.bfloat16: 4.0}
GRADIENT: Final = 64.0
ROW_GAIN: Final = 0.1


@dataclass(frozen=True, slots=True)
class Probe:
    """One input: its shape, scale, dtype and what is special about it."""

    name: str
    shape: tuple[int, ...]
    scale: float = 1.0
    dtype: torch.dtype = torch.float32
    offset: float = 0.0
    twist: str = ""


PROBES: Final = (
    Probe("fp32, small", (3, 5, 16), 1e-2),
    Probe("fp32, (D, D, D)", (8, 8, 8)),
    Probe("fp32, (D, D)", (8, 8)),
    Probe("fp32, four axes", (2, 3, 4, 16)),
    Probe("fp32, offset", (3, 5, 64), offset=1e3),
    Probe("fp32, transposed", (3, 5, 16), twist="transposed"),
    Probe("fp32, a zero row", (3, 5, 16), twist="zero row"),
    Probe("fp32, tiny", (3, 5, 16), 1e-4),
    Probe("fp16, large", (3, 5, 64), 1e4, torch.float16),
    Probe("fp16, small", (3, 5, 64), 1e-3, torch.float16),
    Probe("bf16", (3, 5, 16), 1.0, torch.bfloat16),
)

CUBE: Final = ("fp32, (D, D, D)",)
SHOWN_BY: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("NRM101", "NRM102", "NRM103", "NRM106", "NRM401", "NRM402", "NRM403", "NRM404"), CUBE),
    **dict.fromkeys(("NRM104", "NRM105", "NRM505"), ("fp32, four axes",)),
    **dict.fromkeys(("NRM201", "NRM202"), ("fp16, large",)),
    **dict.fromkeys(("NRM302", "NRM303"), ("fp32, tiny",)),
    "NRM203": ("bf16",),
    "NRM204": ("fp32, offset",),
    "NRM205": ("row gain", "fp32, small"),
    "NRM301": ("fp32, a zero row",),
    "NRM304": ("eps as passed",),
    "NRM405": ("gradient",),
    "NRM406": ("initial gain",),
    "NRM501": ("saved",),
    "NRM502": ("input untouched",),
    "NRM503": ("no print",),
    "NRM504": ("initial gain",),
}


def _input(probe: Probe, g: torch.Generator) -> Tensor:
    shape = probe.shape
    x = torch.randn(shape, generator=g) * 2 ** (torch.rand(*shape[:-1], 1, generator=g) * 4 - 2)
    if probe.dtype == torch.float16 and probe.scale > 1:
        x = x.clamp(-6, 6)
    x = x * probe.scale + probe.offset
    if probe.twist == "zero row":
        x[0, 0] = 0
    if probe.twist == "transposed":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    return x.to(probe.dtype)


def _doubled(built: Built) -> tuple[Tensor | None, Tensor | None]:
    gain, bias = built.weight, built.bias
    gain = built.gain if gain is None else _as_double(built)
    return gain, None if bias is None else bias.detach().double()


def _as_double(built: Built) -> Tensor:
    assert built.weight is not None
    whole = Built(built.case, built.target, built.weight.detach().double(), None, None)
    assert whole.gain is not None
    return whole.gain


def _agrees(y: Tensor, x: Tensor, built: Built, meant: Reference) -> bool:
    """Whether an output is right: shape, dtype, finite, and close in units of the dtype."""
    w, b = _doubled(built)
    ref = meant(x.double(), w, b)
    if y.shape != ref.shape or y.dtype != x.dtype or not bool(torch.isfinite(y).all()):
        return False
    spread = meant.spread(x.double(), ref, w, b).clamp(min=1e-30)
    spread = torch.where(ref == 0, torch.finfo(x.dtype).tiny / torch.finfo(x.dtype).eps, spread)
    worst = ((y.double() - ref).abs() / spread).nan_to_num(float("inf")).max().item() / torch.finfo(x.dtype).eps
    return worst <= LIMIT[x.dtype]


class Bench:
    """One case on the bench: its text executed once, a norm built for each probe."""

    def __init__(self, case: Case, meant: Reference | None = None) -> None:
        self.case = case
        torch.use_deterministic_algorithms(True)  # fills what torch.empty leaves open with NaN
        self.generator = torch.Generator().manual_seed(1234)
        self.space: dict[str, Any] = namespace(case)
        self.meant = meant or reference(case.recipe)

    def norm(self, d: int, dtype: torch.dtype = torch.float32, eps: float | None = None) -> Built:
        """A norm of `d` features with gains that show."""
        built = build(self.case, self.space, d, eps)
        randomise(built, self.generator)
        return cast(built, dtype)

    def value(self, probe: Probe) -> bool:
        """The output is right."""
        built, x = self.norm(probe.shape[-1], probe.dtype), _input(probe, self.generator)
        with torch.no_grad():
            y = built(x.clone())
        return _agrees(y, x, built, self.meant)

    def untouched(self) -> bool:
        """The input is still what it was."""
        x = torch.randn(3, 16, generator=self.generator)
        before = x.clone()
        with torch.no_grad():
            self.norm(16)(x)
        return torch.equal(x, before)

    def first(self) -> bool:
        """Freshly made, the gain is one and the shift zero; nothing is left unfilled or misshapen."""
        built, x = build(self.case, self.space, 16), torch.randn(3, 16, generator=self.generator)
        if built.weight is not None and built.weight.shape != (16,):
            return False
        plain = Built(self.case, None, None, None, None)
        return _agrees(built(x.clone()).detach(), x, plain, self.meant)

    def eps(self) -> bool:
        """An eps that is passed is the eps that acts."""
        fixed = self.case.recipe.power == 0 and "eps" not in self.case.recipe.reduction
        if fixed or not takes_eps(self.case):
            return True
        built = self.norm(16, eps=0.3)
        x = torch.randn(4, 16, generator=self.generator) * 0.01
        return _agrees(built(x.clone()).detach(), x, built, replace(self.meant, eps=0.3))

    def gradient(self) -> bool:
        """The gradient of the input is the reference's."""
        built = self.norm(16)
        x = torch.randn(4, 5, 16, generator=self.generator)
        up = torch.randn(4, 5, 16, generator=self.generator)
        mine, exact = x.clone().requires_grad_(), x.double().requires_grad_()
        (got,) = torch.autograd.grad(built(mine), mine, up)
        (want,) = torch.autograd.grad(self.meant(exact, *_doubled(built)), exact, up.double())
        error = (got.double() - want).abs() / want.abs().amax(-1, keepdim=True)
        return bool((error <= GRADIENT * torch.finfo(torch.float32).eps).all())

    def zero_gradient(self) -> bool:
        """The gradient at a zero row is finite."""
        built = self.norm(16)
        x = _input(PROBES[6], self.generator).requires_grad_()
        (got,) = torch.autograd.grad(built(x).sum(), x)
        return bool(torch.isfinite(got).all())

    def trained(self) -> bool:
        """Every parameter gets a gradient."""
        target = self.norm(16).target
        if not isinstance(target, torch.nn.Module) or not list(target.parameters()):
            return True
        target(torch.randn(4, 16, generator=self.generator)).square().sum().backward()
        return all(p.grad is not None for p in target.parameters())

    def kept(self) -> bool:
        """Gain and shift are saved with the module."""
        return saved(build(self.case, self.space, 16))

    def quiet(self) -> bool:
        """It runs; whether something is printed, `failures` sees."""
        self.norm(16)(torch.ones(2, 16))
        return True

    def row_gain(self) -> bool:
        """In halves, no row is scaled by more than rounding explains."""
        built = self.norm(1024, torch.float16)
        x = torch.randn(64, 1024, generator=self.generator).half()
        with torch.no_grad():
            y = built(x).double()
        w, b = _doubled(built)
        ref = self.meant(x.double(), w, None)
        y = y if b is None else y - b
        gain = (y * ref).sum(-1) / ref.square().sum(-1) - 1
        return gain.square().mean().sqrt().item() <= ROW_GAIN * torch.finfo(torch.float16).eps


def _checks(bench: Bench) -> Iterator[tuple[str, Callable[[], bool]]]:
    halves = not {"NRM206", "NRM305"} & set(extras(bench.case.recipe))
    for probe in PROBES:
        if halves or probe.dtype != torch.float16:
            yield probe.name, lambda probe=probe: bench.value(probe)  # type: ignore[misc]
    yield "input untouched", bench.untouched
    yield "initial gain", bench.first
    yield "eps as passed", bench.eps
    yield "gradient", bench.gradient
    yield "gradient at zero", bench.zero_gradient
    yield "all trained", bench.trained
    yield "saved", bench.kept
    yield "no print", bench.quiet
    if halves:
        yield "row gain", bench.row_gain


def failures(case: Case, only: tuple[str, ...] = (), meant: Reference | None = None) -> list[str]:
    """The probes a case fails, of those in `only` if it names any; with the exception where there was one.

    `meant`: another reference than the recipe's.
    """
    bench, found = Bench(case, meant), []
    for name, check in _checks(bench):
        if only and name not in only:
            continue
        told, error = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(told):
                fine = check()
        except Exception as raised:  # noqa: BLE001  # whatever the case's text raises is its failure
            fine, error = False, f": {type(raised).__name__}: {raised}"
        if not fine or (name == "no print" and told.getvalue()):
            found.append(name + error)
    return found


def confirmed(case: Case) -> str:
    """Why the label is wrong, or nothing."""
    if not case.codes:
        found = failures(case)
        return f"fails {found}" if found else ""
    shown = SHOWN_BY[case.codes[0]]
    found = failures(case, shown)
    return "" if any(name in shown for name in found) else f"passes {shown}, or raises: {found}"
