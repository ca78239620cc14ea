"""NRM1xx: what is reduced, and over which axes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.monomial import ALL, Stat
from normlint.norm.conventions import is_over_time, normalises
from normlint.norm.evidence import (
    along_features,
    may_be_instance_norm,
    misses_features,
    reduces_samples,
    shift_beside,
)
from normlint.norm.norm import Computation, Norm, is_argument, is_of_vector
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import REVIEW, Applicability

repair = Fixes("reduction")


@rule("NRM101", name="global-reduction", fix=Applicability.SAFE, about=("axes",))
def global_reduction(norm: Norm) -> Iterator[Problem]:
    """Reduces over every axis instead of the features alone.

    What comes out for a token depends on its neighbours, on the padding and on the rest of the batch. So it is in
    training and in inference: without a `dim`, `mean`, `sum`, `var` and `norm` reduce the whole tensor to one number,
    which all tokens of all sequences in the batch share.

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
    ```diff
    -        rms = torch.sqrt(torch.sum(h * h) / self.dim + self.eps)
    +        rms = torch.sqrt(torch.sum(h * h, dim=-1, keepdim=True) / self.dim + self.eps)
    ```

    Fix safety: safe. Nothing is offered where the gain lies along another axis than the last, or where the one number
    is made to fit by other means.
    """
    other = norm.owner.intent == "other" or norm.owner.running
    for c in norm.computations if norm.meant else (c for c in norm.computations if not (other or c.standardises)):
        stat = next(
            (t for t in (c.statistic, c.centre) if t is not None and t.axes == ALL and not is_of_vector(t)), None
        )
        centred = c.centre is not None and not c.gains and misses_features(c.centre)
        of_set = centred and stat is c.statistic  # as PairNorm's, of all nodes of a graph
        if stat is not None and not of_set and not c.placing.single:
            how = "over the whole shape" if c.fused else "without a dim"
            message = f"`{stat.spelled}` {how}: all tokens of the batch share one scale"
            yield Problem(stat.span, message, partial(repair.over_last_axis, norm, c, stat))


@rule(
    "NRM102",
    name="reduction-without-keepdim",
    fix=Applicability.SAFE,
    unless=("NRM101", "NRM103"),
    about=("keepdim",),
)
def reduction_without_keepdim(norm: Norm) -> Iterator[Problem]:
    """Loses the reduced axis: the statistic broadcasts against the wrong one, which fails or mixes rows.

    It fails where the two lengths differ; where they are equal, each feature is silently scaled by the statistic of
    another row. A statistic of shape (B, L) stands beside an input of shape (B, L, D). So does a shift of shape (D,)
    beside a gain that is viewed as (D, 1, 1).

    Instead: Pass `keepdim=True` to each reduction, and view the shift as the gain

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1)  # error: [reduction-without-keepdim]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```diff
    -    ms = h.pow(2).mean(-1)
    +    ms = h.pow(2).mean(-1, keepdim=True)
    ```

    Fix safety: safe. Nothing is offered where the statistic is reshaped or given back elsewhere.
    """
    for c in norm.computations:
        for stat, fits in ((c.statistic, c.placing.fits), (c.centre, c.placing.centre_fits)):
            if stat is None or stat.axes == ALL or c.partial or fits:
                continue
            known = stat.axes is not None or (stat.one_axis and norm.owner.intent in ("rms", "layer"))
            lost = known and not stat.keepdim and stat.rank != 1 and c.laid_alike and not _leading(stat)
            if fits is False or (lost and (norm.meant or norm.owner.intent == "l2")):
                left, against = _shapes(c, stat)
                message = f"`{stat.spelled}` drops the axis: {left} broadcasts against {against}"
                put_back = "`{}` has its axis put back elsewhere: it broadcasts along another axis of a {} input"
                shown = put_back.format(stat.spelled, against) if stat.keepdim else message
                yield Problem(stat.span, shown, partial(repair.keep_axis, norm, c, stat) if lost else None)
        if (shift := shift_beside(c)) is not None:
            gain = c.gains[0].param
            one, other = (shift, gain) if shift.axis == "last" else (gain, shift)
            message = f"`{one.label}` lies along the last axis, `{other.label}` along one before it"
            yield Problem(c.span, message, evidence=one.span)


@rule("NRM103", name="reduction-over-wrong-axis", fix=Applicability.SAFE, unless=("NRM101",), about=("axes",))
def reduction_over_wrong_axis(norm: Norm) -> Iterator[Problem]:
    """Reduces another axis than that of the features, so that one row changes another.

    Tokens, positions or samples are mixed: one changes what comes out for another, and a causal model sees the
    future. A gain of shape (D,) multiplies the last axis, and the statistic belongs to the same one.

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
    ```diff
    -        ms = h.pow(2).mean(-2, keepdim=True)
    +        ms = h.pow(2).mean(-1, keepdim=True)
    ```

    A channels-first norm has a gain that lies along the channels, and is fine. Where all of the last three axes are
    reduced, it may be meant for images (B, H, W, C): this is a review.

    Fix safety: safe. The axis is put right where it is written in the call; one that has a name is left alone.
    """
    yield from _over_tokens(norm)
    yield from _beside_argument(norm)
    yield from _over_sample(norm)
    for c in norm.computations:
        if c.placing.apart and c.centre is not None and not c.is_length:
            message = f"the mean is taken over {_shown(c, c.centre)}, `{c.statistic.spelled}` over {_shown(c)}"
            last = bool(c.gains) and all(along_features(c, i) for i in range(len(c.gains)))
            off = c.centre if c.placing.along_gain or (c.over_last and last) else c.statistic
            change = partial(repair.along_gain, norm) if last else partial(repair.other_axis, norm, c, off)
            other = c.statistic if off is c.centre else c.centre
            yield Problem(off.span, message, change, evidence=other.span)
            continue
        plain = norm.owner.intent == "" and all(g.param.role == "parameter" for g in c.gains)
        if norm.owner.intent not in ("rms", "layer", "norm", "l2") and not plain:
            continue
        several = isinstance(c.statistic.axes, tuple) and len(c.statistic.axes) > 1
        if may_be_instance_norm(norm, c) or reduces_samples(c) or (several and is_over_time(norm.owner.name)):
            continue
        if not (c.gains and all(along_features(c, i) for i in range(len(c.gains)))) or c.placing.along_gain:
            continue
        if shift_beside(c) is not None:
            continue
        stat = next((t for t in (c.statistic, c.centre) if t is not None and misses_features(t)), None)
        if stat is None and c.placing.along_gain is False and c.placing.over_last is False:
            stat = c.statistic
        if stat is not None and stat.layout == () and not stat.default_dim:
            message = f"reduces {_shown(c)}{c.placing.suffix}, but the gain lies along the last one"
            yield Problem(stat.span, message, partial(repair.along_gain, norm), evidence=c.gains[0].param.span)


def _beside_argument(norm: Norm) -> Iterator[Problem]:
    """Yield where a function named for an RMS norm reduces other axes than the last, along which its gain lies."""
    for c in norm.computations if norm.owner.intent == "rms" and not norm.owner.method else ():
        stat, given = c.statistic, [g.param.axis for g in c.gains if g.param.role == "unknown"]
        scaled = given == ["last"] if c.gains else list(map(is_argument, c.others)) == [True]
        axes = stat.axes if isinstance(stat.axes, tuple) else ()
        far = axes == (-2,) or (axes == (0,) and stat.keepdim and stat.rank != 1) or (-1 in axes and len(axes) > 1)
        if scaled and len(c.gains) < 2 and far and stat.layout == () and c.placing.along_gain is None:
            message = f"reduces {_shown(c)}{c.placing.suffix}, but the gain lies along the last one"
            yield Problem(stat.span, message, partial(repair.along_gain, norm))


def _over_sample(norm: Norm) -> Iterator[Problem]:
    """Yield, as a review, where an RMS or layer norm reduces its last three axes under a gain of one axis."""
    for c in norm.computations:
        named = norm.owner.intent in ("rms", "layer") or (c.kind == "rms" and "norm" not in norm.qualname.lower())
        single = bool(c.gains) and all(along_features(c, i) for i in range(len(c.gains)))
        if named and single and c.statistic.axes == (-3, -2, -1) and c.statistic.layout == ():
            message = f"reduces {_shown(c)}, all that a (B, L, D) input holds, but the gain lies along the last one"
            yield Problem(c.statistic.span, message, severity=REVIEW, evidence=c.gains[0].param.span)


def _over_tokens(norm: Norm) -> Iterator[Problem]:
    """Yield the norms, by their names, that reduce tokens where layers or names say that features are last."""
    named = norm.owner.intent in ("rms", "layer", "l2") or normalises(norm.qualname)
    for c in norm.computations if named else ():
        single = isinstance(c.statistic.axes, tuple) and len(c.statistic.axes) == 1
        open_ = all(g.param.role == "unknown" and g.param.axis == "last" for g in c.gains)
        tokens = c.placing.over_tokens and open_ and (single or c.fused or norm.owner.intent == "rms")
        if tokens and not c.statistic.default_dim:
            message = f"reduces {_shown(c)} of a {c.placing.shown} tensor, whose features are last"
            yield Problem(c.statistic.span, message, partial(repair.along_gain, norm))


def _leading(stat: Stat) -> bool:
    """Return whether the first axes are reduced, so that the result broadcasts as with kept axes."""
    return isinstance(stat.axes, tuple) and sorted(stat.axes) == list(range(len(stat.axes)))


_UNNAMED: dict[tuple[int, ...], str] = {(1,): "BDL", (-2,): "BDL", (-3,): "BDHW"}  # usual names of axes


def _shapes(c: Computation, stat: Stat) -> tuple[str, str]:
    """Return the shape that is left when the reduced axis goes, and the whole one."""
    axes = stat.axes if isinstance(stat.axes, tuple) else (-1,)
    names = c.placing.names or tuple(_UNNAMED.get(axes, "BLD"))
    left = [name for at, name in enumerate(names) if at not in axes and at - len(names) not in axes]
    return f"({', '.join(left)}{',' if len(left) == 1 else ''})", f"({', '.join(names)})"


def _shown(c: Computation, stat: Stat | None = None) -> str:
    """Return the axes that a statistic reduces, by number and by their names in the text, for a message."""
    axes, names = (stat or c.statistic).axes, c.placing.names
    if not isinstance(axes, tuple):
        return f"axis {axes}"
    called = [names[at] for at in axes if -len(names) <= at < len(names)]
    named = f" ({', '.join(called)})" if len(called) == len(axes) else ""
    return f"{'axes' if len(axes) > 1 else 'axis'} {', '.join(map(str, axes))}{named}"


@rule("NRM106", name="normalize-default-dim", fix=Applicability.SAFE, unless=("NRM101",), about=("axes",))
def normalize_default_dim(norm: Norm) -> Iterator[Problem]:
    """Lets `F.normalize` reduce its default axis, dim 1, which are the tokens of a (B, L, D) input.

    Each feature is divided by its length over the whole sequence: a token's output depends on all others.

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
    ```diff
    -        return F.normalize(x) * self.scale * self.gamma
    +        return F.normalize(x, dim=-1) * self.scale * self.gamma
    ```

    On a matrix (N, D) dim 1 is the last axis, and a gain of shape (D, 1, 1) says that dim 1 holds the channels.

    Fix safety: safe.
    """
    for c in norm.computations:
        stat = c.statistic
        last = c.placing.over_tokens if not c.gains else all(along_features(c, i) for i in range(len(c.gains)))
        last = last or (bool(c.gains) and any(n.of_features is False for n in c.counts))  # √D of another axis
        if stat.default_dim and stat.rank != 2 and last and not c.placing.along_gain:
            message = f"`F.normalize` reduces dim 1, the tokens of a {c.placing.shown} input, not the features"
            yield Problem(stat.span, message, partial(repair.last_by_name, norm, stat))


@rule("NRM107", name="unused-groups", severity=REVIEW, about=("axes",))
def unused_groups(norm: Norm) -> Iterator[Problem]:
    """Takes groups, and normalises over all features at once.

    A loud group scales the quiet ones down with it, and a checkpoint that was trained with groups gives other outputs.
    In the gated norm of Mamba 2, for one, each group has a root mean square of its own.

    ```py
    import torch
    from torch import nn

    class GroupedRMSNorm(nn.Module):
        def __init__(self, dim, group_size, eps=1e-6):
            super().__init__()
            self.group_size = group_size  # error: [unused-groups]
            self.weight = nn.Parameter(torch.ones(dim))
            self.eps = eps

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    Sound is a statistic of each group: `h = x.float().unflatten(-1, (-1, self.group_size))`.

    It is reported where the constructor only stores the number, and no method reads it. Another class may: so this is a
    review, which `--min-severity review` shows.
    """
    unused = norm.owner.unused_groups
    named = norm.owner.intent in ("rms", "layer", "norm")
    if unused is not None and named and norm.main.returned and not norm.main.partial:
        yield Problem(unused, "the groups are stored and never read: all features are normalised at once")
