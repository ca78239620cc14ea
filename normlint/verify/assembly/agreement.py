"""Prepare inputs, gains and shifts that show whether a trial call agrees with the formula, and compare outputs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import torch
from torch import Tensor

from normlint.verify.assembly.call import Call
from normlint.verify.assembly.instance import Live
from normlint.verify.assembly.layout import Layout
from normlint.verify.job import Meaning

AGREES: Final = 5e-3  # a relative error of the whole output that rounding and eps explain


@lru_cache(maxsize=32)
def values(shape: tuple[int, ...]) -> Tensor:
    """Return rows of different scales, large against any eps; cached, so not to be changed in place."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=generator)
    scale = torch.exp2(torch.rand((*shape[:-1], 1), generator=generator) * 4 + 1)
    return x * scale


def prepared(live: Live, call: Call, d: int, meaning: Meaning) -> Live:
    """Return `live` with the gain and shift that a call passes, filled with values that show whether they are used."""
    live = with_tensors(live, call, d, meaning)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for tensor, less in ((live.gain, meaning.offset), (live.shift, 0.0)):
            if tensor is not None and tensor.numel() in (1, d):
                size = torch.rand(tensor.shape, generator=generator) * 1.5 + 0.5
                tensor.copy_(size.to(live.device) - less)
    return live


def with_tensors(live: Live, call: Call, d: int, meaning: Meaning) -> Live:
    """Return `live` with a neutral gain and shift to pass in the call; a call may fill all other parameters."""
    shape = call.layout.shape(d)
    if call.takes("gain"):
        gain = torch.full(shape, 1.0 - meaning.offset, dtype=live.dtype, device=live.device)
        live = replace(live, gain=gain.requires_grad_())
    if call.takes("shift"):
        live = replace(live, shift=torch.zeros(shape, dtype=live.dtype, device=live.device, requires_grad=True))
    with torch.no_grad():
        if (number := call.others) is not None:
            for other in others_of(live):
                other.fill_(number)
        return untied(live, d, meaning) if call.layout.added or call.layout.groups > 1 else live


def untied(live: Live, d: int, meaning: Meaning) -> Live:
    """Return `live` without a gain or shift that lies on some of the reduced axes only, which is made neutral."""
    gain, shift = live.gain, live.shift
    if gain is not None and gain.numel() not in (1, d):
        gain.fill_(1.0 - meaning.offset)
        live = replace(live, gain=None)
    if shift is not None and shift.numel() not in (1, d):
        shift.zero_()
        live = replace(live, shift=None)
    return live


def others_of(live: Live) -> list[Tensor]:
    """Return the parameters that are neither gain nor shift."""
    own = () if live.module is None else live.module.parameters()
    return [p for p in own if p is not live.gain and p is not live.shift]


def factor_like(y: Tensor, x: Tensor, layout: Layout) -> bool:
    """Return whether `y` has one number for each token of `x`: length 1 on the reduced axes."""
    return all(
        n == (1 if i - x.dim() in layout.axes or i in layout.axes else x.shape[i]) for i, n in enumerate(y.shape)
    )


def distance(y: Tensor, ref: Tensor) -> tuple[float, float]:
    """Return the relative error of the whole output and its cosine with `ref`; (1e9, 0) where it isn't finite."""
    if not bool(torch.isfinite(y).all()):
        return 1e9, 0.0
    norms = y.norm() * ref.norm()
    cosine = float((y * ref).sum() / norms) if float(norms) > 0 else 0.0
    return float((y - ref).norm() / ref.norm().clamp(min=1e-30)), cosine
