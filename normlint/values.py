"""Define the values that `normlint.api` returns and raises; their fields are stable between releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from normlint.text.finding import Applicability
from normlint.text.verdict import Probe

if TYPE_CHECKING:
    from normlint.engine.report import Diagnostic, ListedNorm, PlacedFix
    from normlint.text import verdict as ran

__all__ = ["Applicability", "Edit", "Finding", "Fix", "Fixed", "Norm", "Probe", "Rule", "SourceError", "Verdict"]


class SourceError(Exception):
    """Raised for a source that can't be read, parsed or fixed; the message says where, and what to do about it.

    `line` counts from 1, in a notebook within its cell; None if there is no such line. `reason`: the message without
    the place.
    """

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from the start up to the end with `content`; columns count characters, lines and columns from 1.

    `cell`: in a notebook, the number of the cell, from 1, to which the lines belong; else None.
    """

    cell: int | None
    line: int
    column: int
    end_line: int
    end_column: int
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that are made together or not at all; `fix_source` makes them."""

    message: str
    edits: tuple[Edit, ...]
    applicability: Applicability


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake, placed at the smallest expression that is wrong; columns count characters, lines and columns from 1.

    `norm` is the dotted name of the function it was found in; `url` is the page of the rule. `cell`: see `Edit`.
    `severity`: error (wrong in every dtype), warning (wrong in half precision, or at zero) or review.
    """

    code: str
    name: str
    message: str
    path: str
    cell: int | None
    line: int
    column: int
    end_line: int
    end_column: int
    norm: str
    url: str
    severity: str
    fix: Fix | None = None

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.path}:{cell}{self.line}:{self.column}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source after its fixes: the fixed findings, as they were before their fix, and those that remain after it."""

    source: str
    applied: tuple[Finding, ...]
    remaining: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Norm:
    """A recognised norm: `kind` is rms, layer or l2.

    `spine`: its operations in the order of the code; `sentence`: the same in words.
    """

    qualname: str
    kind: str
    spine: str
    path: str
    cell: int | None
    line: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of running a norm: `status` is match, precision, wrong or skipped, and `reason` says why.

    `given_eps` is the eps that the norm was given, `effective_eps` the measured one; None where none was found.
    `worst` is the probe with the largest error relative to its limit.
    """

    norm: Norm
    status: str
    reason: str
    device: str | None
    given_eps: float | None
    effective_eps: float | None
    worst: Probe | None
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; `default`: it is on by default, `fix`: the applicability of its fixes, None if it has none."""

    code: str
    name: str
    summary: str
    doc: str
    default: bool
    fix: Applicability | None
    url: str
    severity: str


def finding_of(one: Diagnostic, url: str) -> Finding:
    """Return the public form of a finding of the engine."""
    (cell, line, column), (_, end_line, end_column) = one.start, one.end
    place = (one.path, cell, line, column, end_line, end_column)
    return Finding(
        one.code,
        one.name,
        one.message,
        *place,
        one.norm,
        url,
        one.severity,
        None if one.fix is None else _fix_of(one.fix),
    )


def norm_of(one: ListedNorm) -> Norm:
    """Return the public form of a norm of the engine."""
    return Norm(one.qualname, one.kind, one.spine, one.path, one.place.cell, one.place.line, one.sentence)


def verdict_of(norm: ListedNorm, one: ran.Verdict) -> Verdict:
    """Return the public form of the verifier's verdict on a norm."""
    eps = (one.given_eps, one.effective_eps)
    return Verdict(norm_of(norm), one.status, one.reason, one.device, *eps, one.worst, one.probes)


def _fix_of(one: PlacedFix) -> Fix:
    edits = (Edit(e.start.cell, e.start.line, e.start.column, e.end.line, e.end.column, e.text) for e in one.edits)
    return Fix(one.message, tuple(edits), one.applicability)
