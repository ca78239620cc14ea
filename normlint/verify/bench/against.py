"""Compare outputs and gradients of a live module or function with those of a reference that is known to be right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from normlint.text.verdict import MATCH, SKIPPED, WRONG, Probe, Verdict
from normlint.verify.bench.bench import USER_ERRORS, Bench, RaisedError, as_outcome
from normlint.verify.bench.guess import Asked, features_last, live, place, running
from normlint.verify.bench.live import Live
from normlint.verify.bench.measure import LIMIT
from normlint.verify.bench.probes import CLONES_DIFFER, FP32, HALVES, LAYOUTS, PLAIN, SHORT, Case
from normlint.verify.subject import Made

OUTPUT: Final = "output"
GRADIENT_LIMIT: Final = {torch.float32: 64.0, torch.float16: 16.0, torch.bfloat16: 16.0}
WORSE: Final = 2.0  # than the reference in the same dtype


def verdict(
    target: Any,
    reference: Any,
    asked: Asked,
    device: str | None = None,
    dtypes: Sequence[torch.dtype] | None = None,
    seed: int = 0,
) -> Verdict:
    """Return the verdict on the target's outputs and gradients in every dtype, against the reference's in fp64.

    Errors are in units of the dtype's eps times the largest element of a row. An error may be as large as the limit, or
    as twice the reference's own error in that dtype. ValueError where the two have different parameters.
    """
    asked = replace(asked, kind="rms")  # any kind will do: neither is compared with a definition
    with running():
        tried, held = live(target, asked), live(reference, asked)
        bench = Bench(tried, device or place(target), seed, features_last(asked.shape, tried))
        probes = tuple(_probes(Pair(bench, held), tuple(dtypes or LIMIT)))
    failed = next((p for p in probes if not p.passed), None)
    if not probes:
        return Verdict(SKIPPED, "needs an input that both can be run on", bench.device)
    worst = failed or max(probes, key=lambda p: p.error / (p.limit or 1.0))
    status, reason = (WRONG, failed.message) if failed else (MATCH, "")
    return Verdict(status, reason, bench.device, worst=worst, probes=probes)


@dataclass(frozen=True, slots=True)
class Pair:
    """The norm on the bench, and the reference it is compared with."""

    bench: Bench
    held: Live

    def reference(self, tried: Made, case: Case, x: Tensor, up: Tensor) -> dict[str, Tensor]:
        """Return the reference's `results` in the dtype of `x`, with the parameter values of the norm that is tried."""
        made = self.held.make(x.shape[-1], dtype=x.dtype, device=self.bench.device)
        _copy(tried, made)
        return self.results(made, tuple(_parameters(tried)), case, x, up)

    def results(self, made: Made, names: tuple[str, ...], case: Case, x: Tensor, up: Tensor) -> dict[str, Tensor]:
        """Return, on the CPU, the output, the input after the call, and the gradients of input and parameters."""
        if case.twist in CLONES_DIFFER:  # a copy of the input would lose its layout
            with torch.no_grad():
                return {OUTPUT: self.bench.run(made, x)}
        leaf = x.detach().clone().requires_grad_()
        wanted = {"gradient of the input": leaf}
        wanted |= {
            f"gradient of {n}": p.requires_grad_() for n, p in zip(names, _parameters(made).values(), strict=True)
        }
        with torch.enable_grad():
            given = leaf.clone()
            y = self.bench.run(made, given)
            found = {OUTPUT: y.detach(), "input afterwards": given.detach().cpu()}
            if not y.requires_grad or y.shape != up.shape:
                return found
            try:
                grads = torch.autograd.grad((y * up.to(y)).sum(), tuple(wanted.values()), allow_unused=True)
            except USER_ERRORS as error:
                raise as_outcome(error) from error
        return found | {name: g.cpu() for name, g in zip(wanted, grads, strict=True) if g is not None}


def _probes(pair: Pair, dtypes: tuple[torch.dtype, ...]) -> Iterator[Probe]:
    bench = pair.bench
    for salt, wanted in enumerate((PLAIN, *FP32, *LAYOUTS, *HALVES, replace(PLAIN, dtype=torch.float16))):
        case = bench.adapted(wanted)
        if case is None or case.dtype not in dtypes or 0 in case.shape:
            continue
        x = bench.filled(case, 200 + salt)
        up = torch.randn(x.shape, generator=bench.generator(300 + salt)).to(x)
        tried = bench.made(x.shape[-1], x.dtype)
        try:
            same = pair.reference(tried, case, x, up)
        except RaisedError as error:
            if wanted is PLAIN:
                raise ValueError(f"the reference {error}") from error
            continue
        try:
            exact = pair.reference(tried, case, x.double(), up.double())
        except RaisedError:
            exact = same
        try:
            got = pair.results(tried, tuple(_parameters(tried)), case, x, up)
        except RaisedError as error:
            yield Probe(case.name, SHORT[case.dtype], 1.0, 0.0, f"{case.label}: {error}")
            if wanted is PLAIN:
                return
            continue
        yield from _compared(case, got, same, exact)


def _compared(case: Case, got: dict[str, Tensor], same: dict[str, Tensor], exact: dict[str, Tensor]) -> Iterator[Probe]:
    short = SHORT[case.dtype]
    y, like = got[OUTPUT], same[OUTPUT]
    if (y.shape, y.dtype) != (like.shape, like.dtype):
        message = f"{case.label}: output is {_described(y)}, the reference's is {_described(like)}"
        yield Probe(case.name, short, 1.0, 0.0, message)
        return
    for name in (name for name in exact if name in same):
        of_itself, error = (_error(one.get(name), exact[name], case.dtype) for one in (same, got))
        limit = max((LIMIT if name == OUTPUT else GRADIENT_LIMIT)[case.dtype], WORSE * of_itself)
        message = f"{case.label}: {name} is off by {error:.3g} times the precision of {short}"
        if name not in got:
            message = f"{case.label}: the reference has a {name}, the norm has none"
        title = case.name if name == OUTPUT else f"{case.name}: {name}"
        yield Probe(title, short, error, limit, "" if error <= limit else message)


def _described(y: Tensor) -> str:
    return f"{tuple(y.shape)} in {str(y.dtype).removeprefix('torch.')}"


def _error(got: Tensor | None, want: Tensor, dtype: torch.dtype) -> float:
    """Return the largest difference, in units of the dtype's eps times the largest element of its row."""
    if got is None or got.shape != want.shape:
        return math.inf
    got, want = got.double(), want.double()
    same = torch.eq(got, want) | (torch.isnan(got) & torch.isnan(want))
    scale = want.abs().amax(-1, keepdim=True) if want.ndim else want.abs()
    off = torch.where(same, 0.0, (got - want).abs() / scale.clamp(min=torch.finfo(dtype).tiny))
    worst = off.max().item() / torch.finfo(dtype).eps if off.numel() else 0.0
    return worst if math.isfinite(worst) else math.inf


def _parameters(made: Made) -> dict[str, Tensor]:
    if made.module is not None:
        return dict(made.module.named_parameters())
    return {name: one for name, one in (("the gain", made.gain), ("the shift", made.shift)) if one is not None}


def _copy(source: Made, target: Made) -> None:
    """Copy parameter values in order; ValueError where the two have different numbers or sizes of parameters."""
    own, other = _parameters(source), _parameters(target)
    if [p.numel() for p in own.values()] != [p.numel() for p in other.values()]:
        shapes = (", ".join(f"{n} {tuple(p.shape)}" for n, p in each.items()) or "none" for each in (own, other))
        raise ValueError("the norm and its reference have different parameters: {}; {}".format(*shapes))
    with torch.no_grad():
        for a, b in zip(own.values(), other.values(), strict=True):
            b.copy_(a.reshape(b.shape))
