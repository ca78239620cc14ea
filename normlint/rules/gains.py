"""NRM504 and NRM505: gains and biases that the module makes, but not as it should, or for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.monomial import Mono, Param
from normlint.norm.norm import Norm
from normlint.rules.module import applied, shifts
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability

parameters = Fixes("parameters")
gains = Fixes("gains")


@rule("NRM504", name="gain-shape", fix=Applicability.SAFE)
def gain_shape(norm: Norm) -> Iterator[Problem]:
    """Has a gain of one element, or one that is never filled.

    `torch.Tensor([dim])` is a tensor of one element whose value is dim; broadcasting hides it. `torch.empty` holds
    whatever was in memory.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.Tensor([dim]))  # error: [gain-shape]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```
    ```fix
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))  # error: [gain-shape]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.empty(dim))
            nn.init.ones_(self.weight)

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    ScaleNorm's gain is one number by design. A gain that isn't trained, or that a base outside the text,
    `_init_weights` or `load_weights` may fill, is no finding.

    Fix safety: safe where the gain was never filled; unsafe where its shape changes, as a checkpoint has the old one.
    """
    last = all(c.over_last for c in norm.judged)  # else its axes must be told as well
    for gain in applied(norm) if norm.judged else ():
        param, init = gain.param, "zeros" if gain.offset else "ones"
        filled = partial(parameters.filled, param, init)
        shaped = partial(parameters.of_features, param, init) if last else None
        if param.maker == "Tensor-list":
            yield Problem(param.span, "torch.Tensor([…]) is one number, not a gain for each feature", shaped)
        elif param.shape == (Mono(1.0),) and param.role == "parameter" and param.init == "ones" and not scales(norm):
            yield Problem(param.span, "one gain for all features", shaped)
        elif param.init == "empty" and param.role == "parameter" and not _filled_elsewhere(norm, param):
            sole = {g.offset for c in norm.computations for g in c.gains if g.param.name == param.name} == {gain.offset}
            message = f"`{param.name}` is never filled: it holds whatever was in memory"
            yield Problem(param.span, message, filled if sole else None)
    for param in (p for p in shifts(norm) if norm.judged and p.role == "parameter"):
        filled = partial(parameters.filled, param, "zeros")
        shaped = partial(parameters.of_features, param, "zeros") if last else None
        if param.maker == "Tensor-list" or (param.shape == (Mono(1.0),) and _is_for_features(norm)):
            yield Problem(param.span, "one bias for all features", shaped)
        elif param.init == "empty" and not _filled_elsewhere(norm, param):
            yield Problem(param.span, f"`{param.name}` is never filled: it holds whatever was in memory", filled)


def _is_for_features(norm: Norm) -> bool:
    """The gain has a value for each feature, which the bias beside it wants as well."""
    return any(gain.param.shape not in (None, (), (Mono(1.0),)) for gain in applied(norm))


def scales(norm: Norm) -> bool:
    """ScaleNorm, whose L2 norm may have its √D beside it."""
    return "scalenorm" in norm.owner.name.replace("_", "").lower()


def _filled_elsewhere(norm: Norm, param: Param) -> bool:
    return norm.owner.reinitialised or param.name in norm.owner.filled


@rule("NRM505", name="unused-gain", fix=Applicability.SAFE)
def unused_gain(norm: Norm) -> Iterator[Problem]:
    """Makes a gain or bias that is never applied.

    It sits in the checkpoint, gets no gradient, and distributed training stops with "parameters that were not used".

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))  # error: [unused-gain]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
    ```
    ```fix
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))  # error: [unused-gain]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6, affine=True):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim)) if affine else None

        def forward(self, x):
            h = x.float()
            h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
            return h if self.weight is None else h * self.weight
    ```

    Fix safety: safe where the gain begins at one and the bias at zero: without a gradient they are still there.
    Otherwise unsafe.
    """
    if any(c.returned for c in norm.computations):
        unused = norm.owner.unused_params
        for span in {param.span: None for param in unused}:
            names = " and ".join(f"`{param.name}`" for param in unused if param.span == span)
            said = "are parameters that are" if " and " in names else "is a parameter that is"
            yield Problem(span, f"{names} {said} never applied", partial(gains.applied, norm, unused))
