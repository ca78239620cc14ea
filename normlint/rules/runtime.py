"""NRM9xx: what running a norm shows, where reading it found nothing."""

from __future__ import annotations

from normlint.rules.registry import runtime_rule
from normlint.text.finding import WARNING
from normlint.text.frozen import dataclass
from normlint.text.verdict import SKIPPED, WRONG, Verdict

_TOLERANCE = 1e-2  # relative; the measurement is good to 1e-7, and a rounded decimal is the same eps


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running a norm. `explained`: reading it found a mistake, reported or suppressed."""

    verdict: Verdict
    explained: bool = False

    @property
    def other_eps(self) -> float | None:
        """Return the eps that acts if it differs from the one that was given; otherwise None."""
        given, acts = self.verdict.given_eps, self.verdict.effective_eps
        if given is None or acts is None:
            return None
        return acts if abs(acts - given) > _TOLERANCE * abs(given) else None


@runtime_rule("NRM901", name="differs-from-reference")
def differs_from_reference(outcome: Outcome) -> str:
    """Gives something else than the norm it is meant to be, as running it shows.

    A model that was trained with the right norm gives other outputs. The message says for which input, and what
    came out. It is reported only where no other rule has a finding on the norm: that one then carries the verdict.

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
            ms = h.pow(2).mean(-1, keepdim=True)
            h = h * torch.rsqrt(ms + self.eps) * self.weight  # error: [differs-from-reference]
            return h.type_as(x) * self.weight
    ```

    The gain is applied twice, which shows as soon as it is no longer 1.
    """
    wrong = outcome.verdict.status == WRONG and not outcome.explained
    return outcome.verdict.reason if wrong and not _is_eps_alone(outcome) else ""


@runtime_rule("NRM902", name="effective-eps", severity=WARNING)
def effective_eps(outcome: Outcome) -> str:
    """Computes with another eps than the one it was given.

    Rows as small as the root of eps come out at another size than a checkpoint was trained with. Eps is measured,
    from the gain of rows of eight scales.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def _mean_square(self, x):
            return x.pow(2).mean(-1, keepdim=True) + self.eps

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(self._mean_square(h) + self.eps)
            return h.type_as(x) * self.weight  # error: [effective-eps]
    ```

    Here eps is added twice.
    """
    acts = outcome.other_eps
    if acts is None or outcome.explained or (outcome.verdict.status == WRONG and not _is_eps_alone(outcome)):
        return ""
    return f"computes with an eps of {acts:.3g} where {outcome.verdict.given_eps:.3g} was given"


@runtime_rule("NRM903", name="not-verified", default=False, severity=WARNING)
def not_verified(outcome: Outcome) -> str:
    """Could not be run, so that nothing is known beyond what reading says.

    A mistake that only running shows would not be found. The message says what was in the way: a name from a file
    that isn't there, an argument that can't be guessed, the time limit.

    ```py
    import torch

    def rms_norm(x, weight, plan, eps=1e-6):
        if plan.fused:
            return plan.run(x, weight, eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight  # error: [not-verified]
    ```

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    ```
    """
    return f"not verified: {outcome.verdict.reason}" if outcome.verdict.status == SKIPPED else ""


def _is_eps_alone(outcome: Outcome) -> bool:
    """Return whether the verdict is only about eps, which another rule reports."""
    worst = outcome.verdict.worst
    return outcome.other_eps is not None and worst is not None and "eps" in worst.probe
