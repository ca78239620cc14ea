"""NRM203 and NRM205: where fp32 ends, for the output and for the statistic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply, Step
from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.registry import HALVES, Fixes, Problem, rule
from normlint.text.finding import Applicability

casts = Fixes("casts")

_HALF = (DType.FP16, DType.BF16)


@rule("NRM203", name="missing-downcast", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def missing_downcast(norm: Norm) -> Iterator[Problem]:
    """Returns fp32 for a half input.

    Everything behind the layer then runs in fp32, at twice the memory and a fraction of the speed, or fails at the
    next matrix product: "expected mat1 and mat2 to have the same dtype".

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return h * self.weight  # error: [missing-downcast]
    ```
    ```fix
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return h.type_as(x) * self.weight  # error: [missing-downcast]
    ```

    A gain in fp32 that promotes the product is LLaMA's way, and fine:

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
    ```

    Fix safety: safe: the dtype that came in goes out; what fp32 callers get doesn't change.
    """
    owner = norm.owner
    whole = owner.intent != "" or not owner.module or owner.alone  # else a norm amid others, whose callers may cast
    meant = norm.meant and whole and not re.search("fp32|float32", norm.owner.name, re.IGNORECASE)
    narrowed = any(_narrowed(c) or _fixed(c) for c in norm.judged)  # which NRM205 says
    wide = tuple(c for c in norm.judged if meant and _returned_wide(c) and (not narrowed or _widened_last(c)))
    for c in wide:
        message = "the output stays fp32 for a half input: cast it back"
        yield Problem(c.span, message, partial(casts.downcast, wide))


def _returned_wide(c: Computation) -> bool:
    given = c.sees_half and c.input.has_data  # what the text made has the dtype that it was made in
    return c.returned and given and c.gain_may_be_half and c.output.wide and not c.partial


def _widened_last(c: Computation) -> bool:
    """The whole product is cast to fp32."""
    casts = [s for s in c.input_steps if s.op == "cast"]
    return bool(casts) and casts[-1].dtype is DType.FP32 and casts[-1].span.end >= c.joined.end


@rule("NRM205", name="half-precision-statistic", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def half_precision_statistic(norm: Norm) -> Iterator[Problem]:
    """Casts the statistic to half before the root or the product, or fixes a half dtype.

    A scale rounded to bf16 has a relative error of up to 0.4 %, the same for every feature of the token; the product
    in fp32 would have kept it. A hard-coded half also breaks the layer for every other dtype.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        return x * scale.to(x.dtype) * weight  # error: [half-precision-statistic]
    ```
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        return (x * scale).to(x.dtype) * weight  # error: [half-precision-statistic]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        return (x * scale).to(x.dtype) * weight
    ```

    Fix safety: safe where the statistic stays in fp32 until the product. A hard-coded half dtype gives way to the
    input's by an unsafe fix: a caller who passes fp32 may count on the half.
    """
    for c in norm.judged:
        if (step := _narrowed(c)) is not None:
            several = tuple(other for other in norm.judged if _narrowed(other) == step)
            repair = partial(casts.widen, several, step.span)
            yield Problem(step.span, "the statistic is rounded to half before the product", repair)
        elif (fixed := _fixed(c)) is not None:
            several = tuple(other for other in norm.judged if _fixed(other) == fixed)
            repair = partial(casts.follow, several, fixed.span)
            yield Problem(fixed.span, "a hard-coded half dtype, whatever the input's was", repair)


def _narrowed(c: Computation) -> Step | None:
    """A cast of the statistic alone to half."""
    step = next((s for s in c.own_steps() if s.op == "cast" and _narrows(c, s.dtype)), None)
    centre = c.centre.steps if c.centre is not None and step is None else ()
    step = next((s for s in centre if s.op == "cast" and s.dtype in _HALF), step)
    wide = c.statistic.accumulate.wide and c.statistic.square.wide  # else it never was, which another rule says
    return step if step is not None and (wide or step.dtype in _HALF) else None


def _fixed(c: Computation) -> Step | None:
    """A cast of the input or of the whole product to one half dtype that neither the input nor the gain need have."""
    steps = [s for s in c.input_steps if s.op == "cast" and s.dtype in _HALF]
    open_ = c.returned and c.entered is DType.INPUT and c.statistic.square not in _HALF and not _made_half(c)
    known = [set(p).pop() for p in (c.possible, c.possible_gain) if len(p) == 1]
    return next((s for s in steps if s.dtype is not None and open_ and s.dtype.value not in known), None)


def _made_half(c: Computation) -> bool:
    """What other code computes comes in as a half: the norm keeps the dtype that it is given."""
    came = {s.dtype for s in deep_steps(c.statistic.inner.factors) if s.op == "cast"}
    return not came.isdisjoint(_HALF) and any(isinstance(f.atom, Apply) for f in c.input.factors)


def _narrows(c: Computation, dtype: DType | None) -> bool:
    return dtype in _HALF or (dtype is DType.INPUT and c.sees_half and not c.partial)  # the gain may well be fp32
