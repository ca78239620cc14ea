"""NRM1xx: by how much a sum is divided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from normlint.evaluate.monomial import bears_data
from normlint.norm.conventions import is_scale
from normlint.norm.evidence import differs_by_choice, is_instance_norm
from normlint.norm.norm import HALF, Computation, Norm
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability

repair = Fixes("count")


@rule(
    "NRM104",
    name="wrong-element-count",
    fix=Applicability.SAFE,
    unless=("NRM101", "NRM103", "NRM106"),
    about=("scale", "power"),
)
def wrong_element_count(norm: Norm) -> Iterator[Problem]:
    """Divides by something that isn't the number of reduced elements, or not at all.

    What the next layer gets is wrong by a factor that depends on D, such as 1/32 or 32 at D = 1024. A sum of squares
    that is never divided makes the output √D times too small; a mean divided once more makes it √D times too large. √D
    beside an L2 norm belongs into the numerator.

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
    ```diff
    -        ms = h.pow(2).sum(-1, keepdim=True)
    +        ms = h.pow(2).mean(-1, keepdim=True)
    ```

    An L2 norm that means to be one is no RMS norm: in a function called `l2norm` nothing is reported, nor beside a
    `scale` that is set elsewhere, nor where a flag, or a test that can't be read, decides about D.

    Fix safety: safe. Nothing is offered where D appears several times, or where the features are spread over ranks.
    """
    for c in norm.computations:
        power = c.feature_power if c.statistic.reduce == "sum" else _divided_again(c) or c.feature_power
        if power is None or c.degree != 2 or c.power != -HALF:
            continue
        foreign = _foreign(c)
        message = _miscounted(norm, c, power, foreign)
        due = HALF if c.statistic.reduce == "sum" else 0
        right = (other for other in norm.computations if other.feature_power == due)
        if message and not any(differs_by_choice(c, other) for other in right) and not _is_l2_mode(c):
            apart = c.statistic.reduce == "sum" and sum(n.power for n in c.counts) < 0  # whichever axis they count
            yield Problem(c.statistic.span, message, partial(repair.counted_once, norm, c), apart=apart)


def _is_l2_mode(c: Computation) -> bool:
    """Return whether a setting's word asks for an L2 norm on this path, as `mode == "l2"` does."""
    return any(taken and re.search(r" == ['\"]\w*(?:l2|unit|cos)", words, re.IGNORECASE) for words, taken in c.tests)


def _divided_again(c: Computation) -> Fraction:
    """Return the power of an axis's length by which a mean is wrong, whichever axis that is."""
    inside = [n for n in c.counts if n.inside]
    if len(inside) != len(c.counts) or not all(n.length for n in inside):
        return Fraction(0)
    return sum((n.power for n in inside), Fraction(0))


def _foreign(c: Computation) -> bool:
    """Return whether the length of another axis remains in the result."""
    others = [n for n in c.counts if n.of_features is False]
    return any(sum(n.power for n in others if n.text == text) for text in {n.text for n in others})


def _miscounted(norm: Norm, c: Computation, power: Fraction, foreign: bool) -> str:
    """Return the message on a wrong count; empty if it is right, as a bare L2 norm times d^−1/2 (attention) is."""
    deviation = any(c.centred) and (norm.owner.intent == "layer" or (norm.owner.intent == "norm" and c.explicit_square))
    meant = norm.owner.intent == "rms" or deviation  # the length of what is centred is a length
    learned = bool(c.gains) and c.placing.along_gain is not False and norm.owner.intent not in ("l2", "other")
    if c.statistic.reduce == "mean":
        inside = any(n.inside for n in c.counts)
        meant_ = norm.meant or (c.protected and c.returned and inside)
        wrong = (foreign and meant) or ((power > 0 or (power < 0 and inside)) and meant_)
        return "a mean is divided once more: the output is √D times off" if wrong else ""
    if power == HALF and not foreign:
        return ""
    if foreign and sum(n.power for n in c.counts) < 0 and meant:
        return "it is divided by √D where it should be multiplied: the output is far too small"
    if foreign and (meant or learned):
        return f"the sum over D features is divided by the length of another axis{c.placing.suffix}"
    if power == 0 and meant and not _scaled_elsewhere(c):
        return "the sum is never divided by D: the output is √D times too small"
    if power < 0 and (meant or learned):
        return "√D stands on the wrong side: the output is D times too small"
    return f"D stands to the power {power}, not 1/2" if power > 0 and (meant or learned) else ""


def _scaled_elsewhere(c: Computation) -> bool:
    """Return whether √D may follow elsewhere: in a `scale` of unknown value, or after an L2 norm that is no result."""
    if not (c.explicit_square or c.returned or c.gains):
        return True
    return any(g.param.role == "unknown" and is_scale(g.param.name) for g in c.gains)


@rule("NRM105", name="unbiased-variance", fix=Applicability.UNSAFE)
def unbiased_variance(norm: Norm) -> Iterator[Problem]:
    """Uses Bessel's correction, which LayerNorm does not have.

    Weights that were trained with LayerNorm give other outputs: 13 % smaller at D = 4, 0.1 % at D = 512. `var` and
    `std` divide by D − 1 by default.

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
    ```diff
    -        var = h.var(-1, keepdim=True)
    +        var = h.var(-1, keepdim=True, correction=0)
    ```

    So does who divides a sum by D − 1.

    Fix safety: unsafe, as a model trained with the other variance has it in its weights.
    """
    for c in norm.judged if norm.meant else ():
        own = not c.statistic.biased and (norm.owner.intent == "groups" or not is_instance_norm(norm, c))
        less = any(n.less and n.power == c.power for n in c.counts)
        undone = less or not all(map(bears_data, c.others))  # (n - 1) / n
        if own and all(c.centred) and not undone:
            message = (
                f"`{c.statistic.spelled}` divides by D − 1, not by D: the output is √((D − 1)/D) times the right one"
            )
            yield Problem(c.statistic.span, message, partial(repair.biased, c.statistic.span))
        bessel = next((n for n in c.counts if n.less and n.power == -c.power), None) if all(c.centred) else None
        if bessel is not None:
            message = "the squares are divided by D − 1, not by D: the output is √((D − 1)/D) times the right one"
            yield Problem(bessel.span, message, partial(repair.not_one_less, bessel.span))
