"""NRM4xx: the formula itself: powers, roots, centres, gradients, the gain."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from normlint.evaluate.monomial import Step
from normlint.norm.norm import HALF, Computation, Gain, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.registry import Problem, rule
from normlint.rules.repair import formula as repair
from normlint.rules.repair.formula_centre import centre
from normlint.rules.repair.formula_gain import start_at_one
from normlint.rules.repair.formula_gradient import attach
from normlint.rules.repair.formula_square import square
from normlint.text.finding import Applicability, Span

_ROOTS = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def _last_power(c: Computation) -> Span:
    """The last root or division of the statistic."""
    steps = [s for s in c.trail if s.op in _ROOTS]
    return steps[-1].span if steps else c.statistic.span


@rule("NRM401", name="inverted-scale", fix=Applicability.SAFE)
def inverted_scale(norm: Norm) -> Iterator[Problem]:
    """Multiplies by the root mean square instead of dividing by it.

    `x / torch.rsqrt(ms)` is `x * sqrt(ms)`: a token twice as large comes out four times as large, and the loss
    diverges.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / torch.rsqrt(ms + eps)).type_as(x) * weight  # error: [inverted-scale]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.computations:
        if c.power == HALF and c.degree == 2:
            message = "multiplies by the root mean square: large rows grow where they should shrink"
            yield Problem(_last_power(c), message, partial(repair.invert, norm, c))


@rule("NRM402", name="wrong-root", fix=Applicability.SAFE)
def wrong_root(norm: Norm) -> Iterator[Problem]:
    """Divides by the mean square without a root, or takes the root twice.

    Without the root the output of a row is 1/rms: large rows come out small, small rows large.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / (ms + eps)).type_as(x) * weight  # error: [wrong-root]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / (ms + eps) ** 0.5).type_as(x) * weight
    ```
    """
    names = {Fraction(-1): "no square root is taken", Fraction(1): "no square root is taken"}
    for c in norm.computations:
        if c.degree == 2 and abs(c.power) != HALF:
            message = f"{names.get(c.power, 'the root is taken twice')}: the output's scale is not 1"
            yield Problem(_last_power(c), message, partial(repair.take_root, norm, c))


@rule("NRM403", name="missing-square", fix=Applicability.SAFE)
def missing_square(norm: Norm) -> Iterator[Problem]:
    """Averages x or |x| where the mean square belongs.

    The mean of x is about 0, so its root is NaN for half of all rows; the mean of |x| under a root has the wrong unit.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.mean(-1, keepdim=True)  # error: [missing-square]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.square().mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.computations:
        if c.degree == 1:
            yield Problem(c.statistic.span, "averages the values, not their squares", partial(square, norm, c))


@rule("NRM404", name="missing-centre", fix=Applicability.SAFE)
def missing_centre(norm: Norm) -> Iterator[Problem]:
    """Subtracts the mean on one side only.

    With the variance below and x above, the output keeps its mean, however large; with the mean square below and
    x − mean above, an offset shrinks the output.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        var = h.var(-1, keepdim=True, correction=0)  # error: [missing-centre]
        return (h * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    T5's norm has no centre on either side, and is an RMS norm:

    ```py
    import torch

    def layer_norm(x, weight, eps=1e-5):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.computations if norm.owner.intent in ("layer", "rms") else ():
        if c.centred[0] != c.centred[1]:
            where = "input" if c.centred[0] else "statistic"
            message = f"the mean is subtracted on one side only: the {where} is not centred"
            yield Problem(c.statistic.span, message, partial(centre, norm, c))


@rule("NRM405", name="detached-statistic", fix=Applicability.SAFE)
def detached_statistic(norm: Norm) -> Iterator[Problem]:
    """Takes the statistic out of the gradient.

    The forward is right and the backward is not: without the statistic's part, the gradient keeps the component along
    x that a norm removes, and training drifts.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True).detach()  # error: [detached-statistic]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.judged if norm.meant else ():
        step = _detaching(c)
        if step is not None:
            yield Problem(step.span, "no gradient flows through the statistic", partial(attach, norm, c))


def _detaching(c: Computation) -> Step | None:
    step = next((s for s in c.own_steps() if s.op in ("detach", "item")), None)
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.op == "detach"]
    shared = {s.span for s in c.input_steps}
    if step is None and inner and inner[0].span not in shared:
        step = inner[0]
    if step is None and c.statistic.no_grad and c.grad:
        return Step("no_grad", c.statistic.span)
    return step


@rule("NRM406", name="gain-offset", fix=Applicability.UNSAFE)
def gain_offset(norm: Norm) -> Iterator[Problem]:
    """Starts with a gain of 2, or of 0.

    `1 + weight` wants a weight that starts at zeros; a plain weight wants ones.

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
            return h.type_as(x) * (1 + self.weight)  # error: [gain-offset]
    ```

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return h.type_as(x) * (1 + self.weight)
    ```

    A gain that is computed from a condition (adaLN-zero) may well start at 0.
    """
    for c in norm.judged if not norm.owner.reinitialised else ():
        for g in c.gains:
            message = _starts_wrong(g)
            if message:
                yield Problem(g.span if g.offset else g.param.span, message, partial(start_at_one, norm, g))


def _starts_wrong(g: Gain) -> str:
    if g.param.role != "parameter":
        return ""
    if g.offset == 1 and g.param.init == "ones":
        return "1 + a weight of ones: the gain starts at 2"
    return (
        "a weight of zeros without 1 +: the output starts at 0" if g.offset is None and g.param.init == "zeros" else ""
    )
