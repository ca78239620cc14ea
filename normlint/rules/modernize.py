"""NRM6xx, off by default: right, but there is a shorter way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.norm.norm import HALF, QUANTITIES, Computation, Norm
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import WARNING, Applicability

modern = Fixes("roots")


@rule("NRM601", name="sqrt-then-divide", default=False, fix=Applicability.SAFE, severity=WARNING)
def sqrt_then_divide(norm: Norm) -> Iterator[Problem]:
    """Takes a square root and divides by it, where `rsqrt` is one operation.

    Two kernels run where one does the same, but for the last bit.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        return (h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight  # error: [sqrt-then-divide]
    ```
    ```diff
    -    return (h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    +    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    ```

    Fix safety: safe: the result is the same but for the last rounding. A name such as `rms` becomes `inv_rms`.
    """
    for c in norm.computations:
        for one, two in zip(c.trail, c.trail[1:], strict=False):
            if one.op == "sqrt" and two.op == "recip" and c.power == -HALF:
                repair = partial(modern.one_root, norm, one.span, two.span)
                yield Problem(one.span, "a square root and a division, where torch.rsqrt is one operation", repair)


@rule("NRM602", name="hand-written-norm", default=False, about=QUANTITIES, severity=WARNING)
def hand_written_norm(norm: Norm) -> Iterator[Problem]:
    """Writes out what torch has as one fused operation.

    Each operation that is written out reads and writes the whole tensor. `F.rms_norm` and `F.layer_norm` follow
    Gemma's cast order, so a checkpoint of a LLaMA-style norm may differ in the last bit of a half.

    Instead: Call `F.rms_norm(x, x.shape[-1:], weight, eps)`, from torch 2.4 on; gain and input must have one dtype

    ```py
    import torch
    import torch.nn.functional as F

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        scale = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        return (h * scale).type_as(x) * weight  # error: [hand-written-norm]
    ```

    Over another axis than the last, torch has no such operation.
    """
    written = [c for c in norm.computations if not c.fused]
    if written and all(map(_plain, written)):
        name = "F.rms_norm" if norm.kind == "rms" else "F.layer_norm"
        yield Problem(norm.main.span, f"{name} computes this in one kernel")


def _plain(c: Computation) -> bool:
    """Return whether a norm written by hand is right in all that torch's own norms fix."""
    inside = len(c.eps) == 1 and c.eps[0].power == 1 and c.eps[0].how == "add"
    by_hand = c.kind in ("rms", "layer") and not c.fused
    right = by_hand and c.power == -HALF and c.degree == 2 and c.centred[0] == c.centred[1]
    counted = all(n.of_features for n in c.counts)  # else it may be a sum over several processes
    whole = c.over_last and c.returned and c.statistic.biased and counted
    return right and inside and whole and len(c.gains) <= 1 and not c.others
