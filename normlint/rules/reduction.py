"""NRM1xx: what is reduced, and over which axes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.monomial import ALL, Stat
from normlint.norm.norm import Computation, Norm
from normlint.rules.registry import Problem, rule
from normlint.rules.repair import reduction as repair
from normlint.text.finding import Applicability


@rule("NRM101", name="global-reduction", fix=Applicability.SAFE, about=("axes",))
def global_reduction(norm: Norm) -> Iterator[Problem]:
    """Reduces over every axis instead of the features alone.

    Without a `dim`, `mean`, `sum`, `var` and `norm` reduce the whole tensor to one number. All tokens of all
    sequences in the batch then share one scale: what comes out for a token depends on its neighbours, on the padding
    and on the batch size, in training as in inference.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.dim = dim
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            rms = torch.sqrt(torch.sum(h * h) / self.dim + self.eps)  # error: [global-reduction]
            return (h / rms).type_as(x) * self.weight
    ```
    ```fix
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.dim = dim
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            rms = torch.sqrt(torch.sum(h * h, dim=-1, keepdim=True) / self.dim + self.eps)  # error: [global-reduction]
            return (h / rms).type_as(x) * self.weight
    ```

    Over the features alone, with the axis kept for broadcasting:

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    ```

    Fix safety: safe. Nothing is offered where the gain lies along another axis than the last, or where the one number
    is made to fit by other means.
    """
    for c in norm.computations:
        stat = next((t for t in (c.statistic, c.centre) if t is not None and t.axes == ALL and not _of_vector(t)), None)
        if stat is not None:
            how = "over the whole shape" if c.fused else "without a dim"
            message = f"`{stat.spelled}` {how}: all B·L·D elements share one scale"
            yield Problem(stat.span, message, partial(repair.over_last_axis, norm, stat))


def _of_vector(stat: Stat) -> bool:
    """Of a tensor that has one axis, and was not made so by a view."""
    return stat.rank == 1 and not stat.layout


@rule(
    "NRM102",
    name="reduction-without-keepdim",
    fix=Applicability.SAFE,
    unless=("NRM101", "NRM103"),
    about=("axes", "keepdim"),
)
def reduction_without_keepdim(norm: Norm) -> Iterator[Problem]:
    """Loses the reduced axis, so that the statistic broadcasts against the wrong one.

    A statistic of shape (B, L) beside an input of shape (B, L, D) is an error where L and D differ, and where they are
    equal each feature is silently scaled by the statistic of another token.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1)  # error: [reduction-without-keepdim]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```fix
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)  # error: [reduction-without-keepdim]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    The axis may be kept, or put back:

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1).unsqueeze(-1)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: safe. Nothing is offered where the statistic is reshaped or given back elsewhere.
    """
    for c in norm.computations if norm.meant else ():
        if not c.layout_matches or c.partial:
            continue
        for stat in (c.statistic, c.centre):
            if stat is not None and not stat.keepdim and stat.axes != ALL and stat.rank != 1:
                message = f"`{stat.spelled}` drops the axis: (B, L) broadcasts against (B, L, D)"
                yield Problem(stat.span, message, partial(repair.keep_axis, norm, stat))


@rule("NRM103", name="reduction-over-wrong-axis", fix=Applicability.SAFE, unless=("NRM101",), about=("axes",))
def reduction_over_wrong_axis(norm: Norm) -> Iterator[Problem]:
    """Reduces the batch or the tokens, while the gain says that the features are last.

    A gain of shape (D,) multiplies the last axis. A statistic over another one mixes tokens or whole sequences; a
    causal model then sees the future.

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
            ms = h.pow(2).mean(-2, keepdim=True)  # error: [reduction-over-wrong-axis]
            return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
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
            ms = h.pow(2).mean(-1, keepdim=True)  # error: [reduction-over-wrong-axis]
            return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
    ```

    A channels-first norm has a gain that lies along the channels, and is fine:

    ```py
    import torch
    from torch import nn

    class RMSNorm2d(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            ms = h.pow(2).mean(1, keepdim=True)
            return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight[:, None, None]
    ```

    Fix safety: safe. The axis is put right where it is written, in the call or where a constant holds it; an axis that
    comes in as a parameter is left to its callers.
    """
    for c in norm.computations if norm.owner.intent in ("rms", "layer", "norm", "l2") else ():
        if not (c.gains and all(_along_features(c, i) for i in range(len(c.gains)))):
            continue
        stat = next((t for t in (c.statistic, c.centre) if t is not None and _misses_features(t)), None)
        if stat is not None and stat.layout == () and not stat.default_dim:
            message = f"reduces axis {_shown(stat)}, but the gain lies along the last one"
            yield Problem(stat.span, message, partial(repair.along_gain, norm))


def _along_features(c: Computation, i: int) -> bool:
    param = c.gains[i].param
    return param.axis == "last" and (param.shape is None or len(param.shape) == 1) and param.role != "unknown"


def _misses_features(stat: Stat) -> bool:
    if not isinstance(stat.axes, tuple) or stat.axes == (-1,):
        return False
    if len(stat.axes) == 1:
        return stat.axes[0] < -1 or (stat.axes[0] == 0 and stat.rank != 1)
    return True


def _shown(stat: Stat) -> str:
    return ", ".join(map(str, stat.axes)) if isinstance(stat.axes, tuple) else str(stat.axes)


@rule("NRM106", name="normalize-default-dim", fix=Applicability.SAFE, unless=("NRM101",), about=("axes",))
def normalize_default_dim(norm: Norm) -> Iterator[Problem]:
    """Lets `F.normalize` reduce its default axis, dim 1, which are the tokens of a (B, L, D) input.

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
            return F.normalize(x) * self.scale * self.gamma  # error: [normalize-default-dim]
    ```
    ```fix
    import torch
    import torch.nn.functional as F
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = dim**0.5
            self.gamma = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return F.normalize(x, dim=-1) * self.scale * self.gamma  # error: [normalize-default-dim]
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
            return F.normalize(x, dim=-1) * self.scale * self.gamma
    ```

    On a matrix (N, D) dim 1 is the last axis, and a gain of shape (D, 1, 1) says that dim 1 holds the channels.

    Fix safety: safe.
    """
    for c in norm.computations:
        stat = c.statistic
        if stat.default_dim and stat.rank != 2 and c.gains and all(_along_features(c, i) for i in range(len(c.gains))):
            message = "`F.normalize` reduces dim 1, the tokens of a (B, L, D) input: pass dim=-1"
            yield Problem(stat.span, message, partial(repair.last_by_name, norm, stat))
