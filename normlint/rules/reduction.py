"""NRM1xx: what is reduced, over which axes, and by how much it is divided."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from normlint.evaluate.value import ALL, Stat
from normlint.norm.norm import HALF, Computation, Norm
from normlint.rules.registry import Problem, rule


def _statistics(norm: Norm) -> Iterator[Stat]:
    """Each statistic of the norm once, the centre's too."""
    seen = set()
    for c in norm.computations:
        for stat in (c.statistic, c.centre):
            if stat is not None and stat.span not in seen:
                seen.add(stat.span)
                yield stat


@rule("NRM101", name="global-reduction")
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

    Over the features alone, with the axis kept for broadcasting:

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
            rms = torch.sqrt(torch.sum(h * h, dim=-1, keepdim=True) / self.dim + self.eps)
            return (h / rms).type_as(x) * self.weight
    ```
    """
    for stat in _statistics(norm):
        if stat.axes == ALL and stat.rank != 1:
            yield Problem(stat.span, f"`{stat.spelled}` without a dim: all B·L·D elements share one scale")


@rule("NRM102", name="reduction-without-keepdim", unless=("NRM101", "NRM103"))
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

    The axis may be kept, or put back:

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1).unsqueeze(-1)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    """
    for c in norm.computations if norm.meant else ():
        if not c.layout_matches or c.partial:
            continue
        for stat in (c.statistic, c.centre):
            if stat is not None and not stat.keepdim and stat.axes != ALL and stat.rank != 1:
                yield Problem(stat.span, f"`{stat.spelled}` drops the axis: (B, L) broadcasts against (B, L, D)")


@rule("NRM103", name="reduction-over-wrong-axis", unless=("NRM101",))
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
    """
    for c in norm.computations if norm.owner.intent in ("rms", "layer", "norm", "l2") else ():
        if not (c.gains and all(_along_features(c, i) for i in range(len(c.gains)))):
            continue
        for stat in (c.statistic, c.centre):
            if stat is not None and stat.layout == () and not stat.default_dim and _misses_features(stat):
                yield Problem(stat.span, f"reduces axis {_shown(stat)}, but the gain lies along the last one")


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


@rule("NRM104", name="wrong-element-count", unless=("NRM101", "NRM103", "NRM106"))
def wrong_element_count(norm: Norm) -> Iterator[Problem]:
    """Divides by something that isn't the number of reduced elements, or not at all.

    A sum of squares that is never divided makes the output √D times too small (32 times at D = 1024); a mean divided
    once more makes it √D times too large. √D beside an L2 norm belongs into the numerator.

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
            ms = h.pow(2).sum(-1, keepdim=True)  # error: [wrong-element-count]
            return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
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
            ms = h.pow(2).sum(-1, keepdim=True) / x.shape[-1]
            return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
    ```

    An L2 norm that means to be one is no RMS norm: in a function called `l2norm` nothing is reported.
    """
    for c in norm.computations:
        power = c.feature_power
        if power is None or c.degree != 2 or c.power != -HALF:
            continue
        foreign = any(n.of_features is False for n in c.counts)
        message = _miscounted(norm, c, power, foreign)
        if message:
            yield Problem(c.statistic.span, message)


def _miscounted(norm: Norm, c: Computation, power: Fraction, foreign: bool) -> str:
    """What is wrong with the count, or "". A bare L2 norm times d^−1/2 is attention's scale."""
    meant = norm.owner.intent == "rms" or (norm.owner.intent in ("layer", "norm") and any(c.centred))
    learned = bool(c.gains) and norm.owner.intent not in ("l2", "other")
    if c.statistic.reduce == "mean":
        inside = any(n.inside for n in c.counts)
        wrong = (foreign and meant) or ((power > 0 or (power < 0 and inside)) and norm.meant)
        return "a mean is divided once more: the output is √D times off" if wrong else ""
    if power == HALF and not foreign:
        return ""
    if foreign and (meant or learned):
        return "the sum over D features is divided by the length of another axis"
    if power == 0 and meant:
        return "the sum is never divided by D: the output is √D times too small"
    if power < 0 and (meant or learned):
        return "√D stands on the wrong side: the output is D times too small"
    return f"D stands to the power {power}, not 1/2" if power > 0 and (meant or learned) else ""


@rule("NRM105", name="unbiased-variance")
def unbiased_variance(norm: Norm) -> Iterator[Problem]:
    """Uses Bessel's correction, which LayerNorm does not have.

    `var` and `std` divide by D − 1 unless told otherwise. Against LayerNorm the output is √((D − 1)/D) times the right
    one: 0.866 at D = 4, 0.999 at D = 512.

    ```py
    import torch
    from torch import nn

    class LayerNorm(nn.Module):
        def __init__(self, dim, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))
            self.bias = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            h = x.float()
            mean = h.mean(-1, keepdim=True)
            var = h.var(-1, keepdim=True)  # error: [unbiased-variance]
            return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
    ```

    ```py
    import torch
    from torch import nn

    class LayerNorm(nn.Module):
        def __init__(self, dim, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))
            self.bias = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            h = x.float()
            var, mean = torch.var_mean(h, dim=-1, correction=0, keepdim=True)
            return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
    ```
    """
    for c in norm.judged if norm.meant else ():
        if not c.statistic.biased and all(c.centred):
            yield Problem(c.statistic.span, f"`{c.statistic.spelled}` divides by D − 1: pass correction=0")


@rule("NRM106", name="normalize-default-dim", unless=("NRM101",))
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
    """
    for c in norm.computations:
        stat = c.statistic
        if stat.default_dim and stat.rank != 2 and c.gains and all(_along_features(c, i) for i in range(len(c.gains))):
            yield Problem(stat.span, "`F.normalize` reduces dim 1, the tokens of a (B, L, D) input: pass dim=-1")
