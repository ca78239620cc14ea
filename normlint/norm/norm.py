"""A recognised norm: all that rules, reports and the verifier know of the user's code."""

from __future__ import annotations

from dataclasses import dataclass

from normlint.text.finding import Span


@dataclass(frozen=True)
class Norm:
    """A placeholder until the analysis lands: the fields every floor above may count on."""

    kind: str  # "rms", "layer" or "l2"
    qualname: str  # "RMSNorm.forward", "Attention.forward", "rms_norm"
    span: Span  # the last product, the one that makes the norm
    spine: str  # the computation in the order of the code, for people
