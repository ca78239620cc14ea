"""Describe failures of probes in one sentence with figures."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from normlint.text.verdict import percent
from normlint.verify.bench.probes import SHORT, Case

NEAR: Final = 1e-3


def rms(t: Tensor) -> float:
    """Return the root mean square over all elements, 0 where there are none."""
    return t.detach().double().square().mean().sqrt().item() if t.numel() else 0.0


def of_dtype(y: Tensor, case: Case) -> str:
    """Describe an output of the wrong dtype."""
    short = SHORT.get(y.dtype, str(y.dtype).removeprefix("torch."))
    return f"{SHORT[case.dtype]} input: output is {short}, expected {SHORT[case.dtype]}"


def of_shape(y: Tensor, case: Case) -> str:
    """Describe an output of the wrong shape."""
    return f"{case.label}: output has shape {tuple(y.shape)}, expected {case.shape}"


def of_value(case: Case, y: Tensor, ref: Tensor, error: float, why: str) -> str:
    """Describe an output with wrong values; `why`: the explanation, "" for none."""
    symptom = _symptom(y.double(), ref, case.dtype, error)
    explained = why and (f": {why}" if symptom.endswith(")") else f" ({why})")
    return f"{case.label}: {symptom}{explained}"


def _symptom(y: Tensor, ref: Tensor, dtype: torch.dtype, error: float) -> str:
    bad = ~torch.isfinite(y)
    if bad.any():
        what = "NaN" if torch.isnan(y).any() else "inf"
        expected = ref[bad.any(-1)] if bad.ndim else ref
        return f"output is {'all ' if bad.all() else ''}{what}, expected {_size(expected)}"
    if not y.any() and ref.any():
        return f"output is all zeros, expected {_size(ref)}"
    empty = int(((y == 0).all(-1) & (ref != 0).any(-1)).sum())
    if empty:
        return f"{empty} of {math.prod(y.shape[:-1])} rows are all zeros, expected {_size(ref)}"
    ratio = uniform_ratio(y, ref)
    if ratio is not None and abs(ratio - 1) > NEAR:
        return f"output is {ratio:.3g} times what it should be"
    at = int(((y - ref).abs() / ref.abs().amax(-1, keepdim=True).clamp(min=1e-30)).argmax())
    got, want = y.flatten()[at].item(), ref.flatten()[at].item()
    off = abs(got - want) / max(abs(want), 1e-30)
    if off > NEAR:
        return f"output is off by up to {percent(off)} ({got:.3g}, expected {want:.3g})"
    return f"output is off by {error:.0f} times the precision of {SHORT[dtype]}"


def _size(ref: Tensor) -> str:
    return f"RMS {rms(ref):.3g}" if ref.any() else "zeros"


def uniform_ratio(y: Tensor, ref: Tensor) -> float | None:
    """Return the factor by which all elements differ from `ref`, None where there isn't a common one."""
    ratio = (y * ref).sum() / ref.square().sum()
    stray = (y - ratio * ref).abs().max() / (ratio * ref).abs().max().clamp(min=1e-30)
    return ratio.item() if stray < 1e-4 else None


def initial(y: Tensor, ref: Tensor, gain: Tensor | None, offset: float) -> str:
    """Describe a fresh norm's wrong output."""
    if not y.any():
        return "a fresh norm gives all zeros: its gain starts at 0"
    if (y.double() + ref).abs().max() <= NEAR * ref.abs().max():
        return "a fresh norm's output has the wrong sign: its gain starts at -1"
    if abs(rms(y) / rms(ref) - 1) <= NEAR:
        return "a fresh norm's output is not the plain norm: its gain doesn't start at 1 everywhere, or its shift at 0"
    formula = " (1 + w, where w starts at 1)" if offset and gain is not None and bool((gain == 2).all()) else ""
    return f"a fresh norm's output has RMS {rms(y):.3g}, expected {rms(ref):.3g}{formula}"


def lone_gain(gain: Tensor, d: int) -> str:
    """Describe a gain of one element, 1 or d as `torch.Tensor([d])` has it, where d are meant; "" for others."""
    if gain.shape == (1,) and d > 1 and gain.item() in (1.0, float(d)):
        return f"the gain has one element for {d} features"
    return ""


def unfilled(gain: Tensor | None, shift: Tensor | None) -> str:
    """Describe a parameter that was never initialised and so holds NaN, "" for none."""
    for name, one in (("gain", gain), ("shift", shift)):
        if one is not None and bool(torch.isnan(one).any()):
            return f"the {name} is never filled: it holds whatever was in memory"
    return ""


def gradient(name: str, off: float) -> str:
    """Describe a wrong gradient; `off`: the error as a share of the row's largest element."""
    return f"the gradient of the {name} is off by {percent(off)}"
