"""Define findings in a text, and the edits that would fix them.

Spans are half-open character offsets into the text of one `Unit` (see `normlint.text.source`); lines and
columns appear only where something is shown to a person or a machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from normlint.text.frozen import dataclass


class Span(NamedTuple):
    """The characters from `start` up to, not including, `end`."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        """Return the span moved by `by` characters."""
        return Span(self.start + by, self.end + by)

    def holds(self, other: Span) -> bool:
        """Return whether the other span lies within this one."""
        return self.start <= other.start and other.end <= self.end

    def meets(self, other: Span) -> bool:
        """Return whether the spans have a character in common, or an empty one lies inside the other."""
        return self.start < other.end and other.start < self.end


class Covered:
    """The offsets in any of several spans, which may overlap."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._edges: list[int] = []  # starts and ends of the merged spans, by turns
        for start, end in sorted(spans):
            if self._edges and start <= self._edges[-1]:
                self._edges[-1] = max(self._edges[-1], end)
            else:
                self._edges += (start, end)

    def __contains__(self, place: int) -> bool:
        return bisect_right(self._edges, place) % 2 == 1


ERROR = "error"  # wrong in every dtype
WARNING = "warning"  # wrong in half precision, or at zero; or a matter of taste that was asked for
REVIEW = "review"  # to be looked at by a person
SEVERITIES = (ERROR, WARNING, REVIEW)


def at_least(severity: str, least: str) -> bool:
    """Return whether the severity is `least` or a graver one."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(least)


class Applicability(Enum):
    """How far a fix may be trusted, in ruff's words."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text at `span` by `text`."""

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
    """One fault, at the smallest expression that is wrong."""

    code: str
    name: str
    message: str
    span: Span
    norm: str
    fix: Fix | None = None
    norms: tuple[int, ...] = ()  # indices of the unit's norms it was found in
    dtypes: tuple[str, ...] = ()  # the input dtypes that show it, if only some do: fp16, bf16, fp32
    severity: str = ERROR
    evidence: Span | None = None  # another place that the message refers to
    rests_on: tuple[str, ...] = ()  # attributes that another file may read or fill, which makes it unfounded
