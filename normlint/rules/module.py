"""NRM5xx: the module around the norm: what it owns, what it changes, what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.monomial import Param
from normlint.evaluate.spelling import NOTE as UNKNOWN_NAME
from normlint.norm.norm import Gain, Norm
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability, Span

parameters = Fixes("parameters")
statements = Fixes("statements")


def applied(norm: Norm) -> tuple[Gain, ...]:
    """Each learned factor once."""
    return tuple({g.param.name: g for c in norm.computations for g in c.gains}.values())


def shifts(norm: Norm) -> tuple[Param, ...]:
    """Each bias that is added once."""
    factors = (f.atom for c in norm.computations if c.shift is not None for f in c.shift.factors)
    return tuple({p.name: p for p in factors if isinstance(p, Param)}.values())


@rule("NRM501", name="gain-not-parameter", fix=Applicability.UNSAFE)
def gain_not_parameter(norm: Norm) -> Iterator[Problem]:
    """Keeps the gain or the bias in a plain tensor.

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
    ```fix
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))  # error: [gain-not-parameter]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    A gain that shall not be trained is a buffer:

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.register_buffer("weight", torch.ones(dim))  # moves and is saved; not trained, on purpose

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    Fix safety: unsafe: a checkpoint of the module has no such key yet, and the gain is trained from now on.
    """
    gains = [gain.param for c in norm.computations for gain in c.gains]
    trained = any(p.role == "parameter" for p in gains)
    plain = [p for p in (*gains, *shifts(norm)) if p.role == "tensor" and p.name]
    for param in {p.span: p for p in plain if not (trained and p.shape == ())}.values():  # such as √D
        if not norm.owner.module:
            return
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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        h = h.mul(torch.rsqrt(ms + eps))  # error: [mutated-input]
        return h.type_as(x) * weight
    ```

    What the norm has made itself may be changed:

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        return h.type_as(x).mul_(weight)
    ```

    Where the name (`rms_norm_`) or a parameter (`inplace`) says that it is meant, nothing is reported.

    Fix safety: safe: what the norm gives back is the same. Nothing is offered where a caller drops the result.
    """
    places: dict[str, dict[Span, None]] = {}
    for c in norm.computations if norm.meant and not (norm.helper or norm.owner.in_place) else ():
        for note in c.notes if c.returned else ():
            if note.kind == "mutation" and not note.detail.startswith(("out", "residual")):
                places.setdefault(note.detail, {})[note.span] = None
    for name, spans in places.items():
        repair = partial(statements.out_of_place, norm, tuple(spans))
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
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
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

    Fix safety: safe; unsafe where what is printed comes from a call of the text's own. A block that is left empty gets
    `pass`.
    """
    for c in norm.computations if norm.meant else ():
        for note in c.notes if c.returned else ():
            if note.kind == "print":
                repair = partial(statements.without_print, note.span)
                yield Problem(note.span, "prints at every call of the norm", repair)


@rule("NRM506", name="unknown-torch-name")
def unknown_torch_name(norm: Norm) -> Iterator[Problem]:
    """Calls a function that torch doesn't have, or gives it a keyword that it doesn't take.

    The call raises as soon as it is reached. What is meant is read instead, so that the other rules see the norm.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        var = h.var(-1, unbaiased=False, keepdim=True)  # error: [unknown-torch-name]
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    numpy's names for an axis are torch's too:

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(axis=-1, keepdims=True)
        var = h.var(axis=-1, unbiased=False, keepdims=True)
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```
    """
    for c in norm.computations:
        for note in c.notes if c.returned else ():
            if note.kind == UNKNOWN_NAME:
                yield Problem(note.span, note.detail)
