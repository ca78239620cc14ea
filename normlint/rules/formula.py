"""NRM401 to NRM404 and NRM407: the formula itself, its powers, roots and centres, and where its gain goes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from normlint.evaluate.monomial import NOWHERE, Mono, Param, bears_data
from normlint.norm.norm import HALF, Computation, Norm
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability, Span

repair = Fixes("formula")
centring = Fixes("formula_centre")

_CENTRED = ("layer", "rms")  # by their names; else x / sqrt(var), without a bias, may be meant
_ROOTS = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def _last_power(c: Computation) -> Span:
    """The last root or division of the statistic."""
    steps = [s for s in c.trail if s.op in _ROOTS]
    return steps[-1].span if steps else c.statistic.span


@rule("NRM401", name="inverted-scale", fix=Applicability.SAFE, about=("power",))
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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight  # error: [inverted-scale]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: a norm divides by the root mean square; the checkpoint's tensors keep their names and shapes.
    """
    for c in norm.computations:
        if c.power == HALF and c.degree == 2:
            message = "multiplies by the root mean square: large rows grow where they should shrink"
            yield Problem(_last_power(c), message, partial(repair.invert, norm, c))


@rule("NRM402", name="wrong-root", fix=Applicability.SAFE, about=("power",))
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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / torch.sqrt(ms + eps)).type_as(x) * weight  # error: [wrong-root]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / (ms + eps) ** 0.5).type_as(x) * weight
    ```

    Fix safety: a norm divides by the root mean square; the checkpoint's tensors keep their names and shapes.
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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)  # error: [missing-square]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.square().mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: a norm averages squares; the checkpoint's tensors keep their names and shapes.
    """
    for c in norm.computations:
        if c.degree == 1:
            fix = None if c.astray != NOWHERE else partial(repair.square, norm, c)
            yield Problem(c.statistic.span, "averages the values, not their squares", fix)
        elif c.degree > 2:
            yield Problem(c.statistic.span, f"averages the values to the power {c.degree}, not their squares")


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
    ```fix
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        var = h.var(-1, keepdim=True, correction=0)  # error: [missing-centre]
        return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    T5's norm has no centre on either side, and is an RMS norm:

    ```py
    import torch

    def layer_norm(x, weight, eps=1e-5):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: the name promises a mean on both sides, or, with RMS, on neither. A norm that says RMS and adds a bias
    is left alone.
    """
    for c in norm.computations if norm.meant else ():
        if c.astray != NOWHERE and c.degree == 2:
            yield Problem(c.astray, "the mean is not subtracted here: the output, or its scale, is not centred")
        elif c.centred[0] != c.centred[1] and (c.centred[1] or _is_affine(c) or norm.owner.intent in _CENTRED):
            where = "input" if c.centred[0] else "statistic"
            message = f"the mean is subtracted on one side only: the {where} is not centred"
            yield Problem(c.statistic.span, message, partial(centring.centre, norm, c))


def _is_affine(c: Computation) -> bool:
    """A bias follows, and nothing else of the data: x · sigmoid(x) / std + bias is an activation."""
    return c.shift is not None and not any(map(bears_data, c.others))


@rule("NRM407", name="misapplied-gain")
def misapplied_gain(norm: Norm) -> Iterator[Problem]:
    """Adds the gain, divides by it, or scales the input with it instead of what was normalised.

    A gain starts at ones: the output starts one too large, shrinks where the gain grows, or is no norm at all.

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
            return h.type_as(x) + self.weight  # error: [misapplied-gain]
    ```

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
            return h.type_as(x) * self.weight
    ```

    A bias is added, and starts at zeros.
    """
    for c in norm.judged if norm.owner.module and norm.owner.intent in _CENTRED else ():
        if c.power != -HALF:
            continue
        added = _learned(c.shift) if not c.gains else None
        divided = next((g for g in c.gains if g.power == -1 and g.offset is None and _starts_at_one(g.param)), None)
        if added is not None and _starts_at_one(added):
            yield Problem(norm.span, f"adds `{added.name}`, which starts at ones: a gain is multiplied")
        elif divided is not None:
            yield Problem(norm.span, f"divides by `{divided.param.name}`: a gain is multiplied")
    if norm.owner.passes and norm.owner.intent in _CENTRED and norm.owner.module:
        yield Problem(norm.span, "what is normalised here is not what is given back")


def _learned(shift: Mono | None) -> Param | None:
    atom = shift.factors[0].atom if shift is not None and len(shift.factors) == 1 and shift.coef == 1 else None
    return atom if isinstance(atom, Param) else None


def _starts_at_one(param: Param) -> bool:
    return param.role == "parameter" and param.init == "ones" and param.shape != ()
