"""NRM5xx: the module around the norm: what it owns, what it changes, what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.monomial import Mono, Param
from normlint.norm.norm import Gain, Norm
from normlint.rules.registry import Problem, rule
from normlint.rules.repair import parameters, parameters_applied, statements, statements_inplace
from normlint.text.finding import Applicability, Span


def _applied(norm: Norm) -> tuple[Gain, ...]:
    """Each learned factor once."""
    return tuple({g.param.name: g for c in norm.computations for g in c.gains}.values())


def _gains(norm: Norm) -> tuple[Param, ...]:
    return tuple(gain.param for gain in _applied(norm))


@rule("NRM501", name="gain-not-parameter", fix=Applicability.UNSAFE)
def gain_not_parameter(norm: Norm) -> Iterator[Problem]:
    """Keeps the gain in a plain tensor.

    It is not in `state_dict`, does not move with `.to(device)`, and no optimizer sees it.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = torch.ones(dim)  # error: [gain-not-parameter]

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
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```
    """
    plain = {p.name for p in norm.owner.plain_gains}
    for param in _gains(norm):
        if param.role == "tensor" and param.name in plain:
            message = f"`{param.name}` is a plain tensor: not saved, not moved, not trained"
            yield Problem(param.span, message, partial(parameters.as_parameter, param))


@rule("NRM502", name="mutated-input", fix=Applicability.SAFE)
def mutated_input(norm: Norm) -> Iterator[Problem]:
    """Changes its input in place.

    The caller's tensor, often the residual stream, is overwritten. `.float()` is no protection: for an fp32 input it
    returns the same memory.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        h.mul_(torch.rsqrt(ms + eps))  # error: [mutated-input]
        return h.type_as(x) * weight
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        h = h.mul(torch.rsqrt(ms + eps))
        return h.type_as(x) * weight
    ```
    """
    places: dict[str, dict[Span, None]] = {}
    for c in norm.computations if norm.meant and not norm.helper else ():
        for note in c.notes if c.returned else ():
            if note.kind == "mutation" and not note.detail.startswith(("out", "residual")):
                places.setdefault(note.detail, {})[note.span] = None
    for name, spans in places.items():
        repair = partial(statements_inplace.out_of_place, norm, tuple(spans))
        yield Problem(next(iter(spans)), f"changes the caller's `{name}` in place", repair)


@rule("NRM503", name="debug-print", fix=Applicability.SAFE)
def debug_print(norm: Norm) -> Iterator[Problem]:
    """Prints in a norm's forward.

    It runs for every layer and every step, forces the GPU to wait where a tensor is printed, and breaks the graph of
    `torch.compile`.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        print(h.shape)  # error: [debug-print]
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Behind a flag it may stay:

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6, debug=False):
        h = x.float()
        if debug:
            print(h.shape)
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.computations if norm.meant else ():
        for note in c.notes if c.returned else ():
            if note.kind == "print":
                repair = partial(statements.without_print, note.span)
                yield Problem(note.span, "prints at every call of the norm", repair)


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

    ScaleNorm's gain is one number by design.
    """
    for gain in _applied(norm) if norm.judged else ():
        param = gain.param
        shaped, filled = partial(parameters.of_features, gain), partial(parameters.filled, gain)
        if param.maker == "Tensor-list":
            yield Problem(param.span, "torch.Tensor([…]) is one number, not a gain for each feature", shaped)
        elif param.shape == (Mono(1.0),) and param.role == "parameter" and param.init == "ones":
            yield Problem(param.span, "one gain for all features", shaped)
        elif param.init == "empty" and param.role == "parameter" and not _filled_elsewhere(norm, param):
            yield Problem(param.span, f"`{param.name}` is never filled: it holds whatever was in memory", filled)


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
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```
    """
    if any(c.returned for c in norm.computations):
        for param in norm.owner.unused_params:
            repair = partial(parameters_applied.applied, norm, norm.owner.unused_params)
            yield Problem(param.span, f"`{param.name}` is a parameter that is never applied", repair)
