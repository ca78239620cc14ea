"""What normlint says about a text: findings, and the edits that would mend them.

Spans are half-open character offsets into the text of one `Unit` (see `normlint.text.source`); lines and
columns appear only where something is shown to a person or a machine.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from normlint.text.frozen import dataclass


class Span(NamedTuple):
    """The characters `start` up to, not including, `end`."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        """The same stretch, `by` characters further on."""
        return Span(self.start + by, self.end + by)


class Applicability(Enum):
    """How far a fix may be trusted, in ruff's words."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` where `span` was."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all are made, or none."""

    message: str
    edits: tuple[Edit, ...]
    applicability: Applicability


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at the smallest expression that is wrong."""

    code: str
    name: str
    message: str
    span: Span
    norm: str
    fix: Fix | None = None
    norms: tuple[int, ...] = ()  # the unit's norms it was found in, by their number
    dtypes: tuple[str, ...] = ()  # of the input, where only some show it: fp16, bf16, fp32
