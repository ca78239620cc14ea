"""NRM405 and NRM406, what training meets: the gradient through the statistic, and the gain's first value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.attributes import SIZES
from normlint.evaluate.monomial import Scalar, Step
from normlint.norm.norm import HALF, Computation, Gain, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.gains import scales
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability

gains = Fixes("gains")
formula = Fixes("formula")


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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)  # error: [detached-statistic]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    RevIN keeps mean and deviation to undo the norm later, and detaches them on purpose.

    Fix safety: the forward computes what it did; only the gradient changes. A `with torch.no_grad():` that does more
    than give names to values is left alone.
    """
    for c in norm.judged if norm.meant and not (norm.owner.keeps or norm.owner.undone) else ():
        step = _detaching(c)
        if step is None and not any(one.grad for one in norm.computations) and norm.owner.module and _trained(c):
            yield Problem(
                norm.span, f"no gradient flows, not even to `{c.gains[0].param.name}`, which is to be trained"
            )
        if step is not None:
            yield Problem(step.span, "no gradient flows through the statistic", partial(formula.attach, norm, c))


def _trained(c: Computation) -> bool:
    return any(g.param.role == "parameter" and g.param.maker == "ones" for g in c.gains)


def _detaching(c: Computation) -> Step | None:
    step = next((s for s in c.own_steps() if s.op in ("detach", "item")), None)
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.op == "detach"]
    shared = {s.span for s in c.input_steps}
    if step is None and inner and inner[0].span not in shared:
        step = inner[0]
    for stat in (c.statistic, c.centre):
        if step is None and stat is not None:
            step = next((s for s in stat.steps if s.op in ("detach", "item") and s.span not in shared), None)
            step = Step("no_grad", stat.span) if step is None and stat.no_grad and c.grad else step
    return step


@rule("NRM406", name="gain-offset", fix=Applicability.UNSAFE)
def gain_offset(norm: Norm) -> Iterator[Problem]:
    """Starts with a gain of 2, or of 0.

    `1 + weight` wants a weight that starts at zeros; a plain weight wants ones, and no noise around 0 either.

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
    ```fix
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

    ScaleNorm's gain of one element starts at √D, since its norm is an L2 norm.

    A gain that is computed from a condition (adaLN-zero) may well start at 0. Where a flag says whether 1 is added, no
    first value suits both ways.

    Fix safety: unsafe, since training that starts elsewhere ends elsewhere. Only the first value is changed, so a
    checkpoint loads and computes what it did; in a norm that is called after Gemma, or zero-centred, the `1 +` is
    added instead, and a checkpoint computes something else.
    """
    for g in (g for c in norm.computations if c.kind == "l2" and scales(norm) for g in c.gains):
        if _starts_inverted(g):
            message = f"`{g.param.name}` starts at D to the −1/2, where √D makes an RMS norm of an L2 norm"
            yield Problem(g.param.span, message)
    applied = [g for c in norm.judged for g in c.gains]
    wrong = {g.param.name: g for g in applied if _starts_wrong(g) and not _starts_right(norm, g)}
    for g in applied:
        if norm.owner.filled_with_ones and g.offset == 1 and g.param.name == "weight":
            yield Problem(g.span, "1 + a weight that `_init_weights` fills with ones: the gain starts at 2")
        elif not norm.owner.reinitialised and g.param.name in wrong and (message := _starts_wrong(g)):
            repair = partial(gains.start_at_one, norm, tuple(wrong.values()))
            yield Problem(g.span if g.offset else g.param.span, message, repair)


def _starts_inverted(g: Gain) -> bool:
    factors = g.param.first.factors if g.param.first is not None else ()
    named = [(f.atom.name, f.power) for f in factors if isinstance(f.atom, Scalar)]
    powers = [power for name, power in named if name.rpartition(".")[2].lower() in SIZES]
    return g.offset is None and powers == [-HALF]


def _starts_right(norm: Norm, gain: Gain) -> bool:
    """The same gain is applied on another path, and well."""
    same = (g for c in norm.judged for g in c.gains if g.param.span == gain.param.span)
    return not all(map(_starts_wrong, same))


def _starts_wrong(g: Gain) -> str:
    if g.param.role != "parameter" or g.param.maker.startswith("torch.nn."):  # of torch's own norm: a model fills it
        return ""
    if g.offset == 1 and g.param.init == "ones":
        return "1 + a weight of ones: the gain starts at 2"
    if g.offset is None and g.param.init == "zeros":
        return "a weight of zeros without 1 +: the output starts at 0"
    drawn = g.offset is None and g.param.init == "random" and g.param.name
    return f"`{g.param.name}` is drawn around 0: each feature starts at its own scale and sign" if drawn else ""
