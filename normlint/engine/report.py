"""What a run found, in places a person can go to: plain data, cheap to send between processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from normlint.text.finding import Applicability
from normlint.text.source import Place
from normlint.text.verdict import Verdict


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """Put `text` from `start` up to `end`."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class PlacedFix:
    """A fix as reports show it."""

    applicability: Applicability
    message: str
    edits: tuple[PlacedEdit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding in its file. `excerpt` is the source around it, from line `excerpt_start` on.

    `line_text` is the finding's own line, stripped: what a baseline knows it by when lines have moved.
    """

    code: str
    name: str
    message: str
    path: str
    start: Place
    end: Place
    norm: str
    excerpt: tuple[str, ...] = ()
    excerpt_start: int = 1
    fix: PlacedFix | None = None
    verdict: Verdict | None = None

    @property
    def line_text(self) -> str:
        """The line the finding starts in, without its indent."""
        at = self.start.line - self.excerpt_start
        return self.excerpt[at].strip() if 0 <= at < len(self.excerpt) else ""


@dataclass(frozen=True, slots=True)
class ListedNorm:
    """A recognised norm in its file."""

    path: str
    place: Place
    kind: str
    qualname: str
    spine: str
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A path that could not be linted, and why."""

    path: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found, in the order of the paths and of each text."""

    findings: tuple[Diagnostic, ...] = ()
    norms: tuple[ListedNorm, ...] = ()
    errors: tuple[Failure, ...] = ()


def merged(reports: Iterable[Report]) -> Report:
    """Several reports as one, in their order."""
    every = tuple(reports)
    return Report(
        tuple(finding for report in every for finding in report.findings),
        tuple(norm for report in every for norm in report.norms),
        tuple(error for report in every for error in report.errors),
    )
