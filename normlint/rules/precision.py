"""NRM2xx: in which dtype the square, the statistic and the output are held."""

from __future__ import annotations

import re
from collections.abc import Iterator

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Step
from normlint.norm.norm import Computation, Norm
from normlint.rules.registry import Problem, rule
from normlint.text.finding import Span

_OPEN = (DType.INPUT, DType.PARAM)
_HALF = (DType.FP16, DType.BF16)


def _square_span(c: Computation) -> Span:
    squares = [s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"]
    return max(squares, key=lambda span: span.end, default=c.statistic.span)


def _squares_in_half(c: Computation) -> bool:
    return c.sees_half and c.statistic.square in _OPEN and c.explicit_square and c.degree == 2


@rule("NRM201", name="missing-upcast")
def missing_upcast(norm: Norm) -> Iterator[Problem]:
    """Squares in half precision.

    300² is 90,000, more than fp16 can hold (65,504). The mean is then inf, its inverse root 0, and the layer silently
    returns zeros; this begins at |x| = 256. In bf16 nothing overflows, but the mean of D squares keeps eight bits.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        ms = x.pow(2).mean(-1, keepdim=True)  # error: [missing-upcast]
        return x * torch.rsqrt(ms + eps) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    The cast may stand in the caller of a helper, and a path that only fp32 takes needs none.
    """
    seeing = [c for c in norm.judged if c.sees_half]
    lacking = [c for c in seeing if _squares_in_half(c) and not _widened_later(c)]
    if seeing and len(lacking) == len(seeing):
        for c in lacking:
            yield Problem(_square_span(c), "squares the input in its own dtype: in fp16 inf from |x| = 256, output 0")


def _widened_later(c: Computation) -> bool:
    return c.statistic.accumulate.wide or c.widened is not None


@rule("NRM202", name="late-upcast")
def late_upcast(norm: Norm) -> Iterator[Problem]:
    """Upcasts after the square, when the overflow has happened.

    `x.pow(2).float()` casts an inf. The small end suffers too: 1e-4 squared is 0 in fp16.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        ms = x.pow(2).float().mean(-1, keepdim=True)  # error: [late-upcast]
        return (x * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        ms = x.float().pow(2).mean(-1, keepdim=True)
        return (x * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    `torch.linalg.vector_norm(x, dim=-1, dtype=torch.float32)` casts before it squares, and is fine.
    """
    for c in norm.judged:
        if _squares_in_half(c) and _widened_later(c):
            yield Problem(_square_span(c), "the square is taken before the upcast: in fp16 it is inf from |x| = 256")


@rule("NRM203", name="missing-downcast", unless=("NRM205",))
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
    """
    for c in norm.judged if norm.meant and not re.search("fp32|float32", norm.owner.name, re.IGNORECASE) else ():
        if c.returned and c.sees_half and c.gain_may_be_half and c.output.wide and not c.partial:
            yield Problem(c.span, "the output stays fp32 for a half input: cast it back")


@rule("NRM204", name="one-pass-variance")
def one_pass_variance(norm: Norm) -> Iterator[Problem]:
    """Takes the variance as E[x²] − E[x]², which cancels.

    Where the mean is large beside the spread, both terms are large and nearly equal. In fp32 the result is 4e-3 off at
    an offset of 100 and NaN at 1e4, because the difference comes out negative.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        var = h.pow(2).mean(-1, keepdim=True) - mean.pow(2)  # error: [one-pass-variance]
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        var = (h - mean).pow(2).mean(-1, keepdim=True)
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```
    """
    for c in norm.judged:
        if c.statistic.spelled == "one-pass":
            yield Problem(c.statistic.span, "E[x²] − E[x]² cancels: centre first, then square")


@rule("NRM205", name="half-precision-statistic", unless=("NRM201", "NRM202"))
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

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        return (x * scale).to(x.dtype) * weight
    ```
    """
    for c in norm.judged:
        step = next((s for s in c.own_steps() if s.op == "cast" and _narrows(c, s.dtype)), None)
        if step is not None and (c.statistic.accumulate.wide or step.dtype in _HALF):
            yield Problem(step.span, "the statistic is rounded to half before the product")
        elif (fixed := _fixed(c)) is not None:
            yield Problem(fixed.span, "a hard-coded half dtype, whatever the input's was")


def _fixed(c: Computation) -> Step | None:
    """A cast of the input or of the whole product to one half dtype that the input need not have."""
    steps = [s for s in c.input_steps if s.op == "cast" and s.dtype in _HALF]
    open_ = c.returned and c.entered is DType.INPUT
    return next((s for s in steps if s.dtype is not None and open_ and c.possible != {s.dtype.value}), None)


def _narrows(c: Computation, dtype: DType | None) -> bool:
    return dtype in _HALF or (dtype in _OPEN and c.sees_half and not c.partial)


@rule("NRM206", name="half-precision-norm", default=False)
def half_precision_norm(norm: Norm) -> Iterator[Problem]:
    """Takes `norm`, `F.normalize` or `std` in half precision.

    torch accumulates these in fp32, so only a result beyond 65,504 overflows: a row of 4096 features of size 1024.

    ```py
    import torch
    import torch.nn.functional as F
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = dim**0.5
            self.gamma = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return F.normalize(x, dim=-1) * self.scale * self.gamma  # error: [half-precision-norm]
    ```

    ```py
    import torch
    import torch.nn.functional as F
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = dim**0.5
            self.gamma = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return (F.normalize(x.float(), dim=-1) * self.scale).type_as(x) * self.gamma
    ```
    """
    for c in norm.judged:
        if c.sees_half and c.statistic.square in _OPEN and not c.explicit_square:
            yield Problem(c.statistic.span, f"`{c.statistic.spelled}` of a half overflows where it exceeds 65,504")
