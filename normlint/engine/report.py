"""What a run found, in places a person can go to: plain data, cheap to send between processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from normlint.text.finding import ERROR, Applicability, at_least
from normlint.text.frozen import dataclass
from normlint.text.source import Place
from normlint.text.verdict import Verdict


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """Put `text` from `start` up to `end`."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines from `line` on that others take the place of; there may be none of either. `above`: the line before."""

    cell: int | None
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    above: str = ""


@dataclass(frozen=True, slots=True)
class PlacedFix:
    """A fix as reports show it. `made`: `--fix` makes it, as far as it was asked for unsafe ones."""

    applicability: Applicability
    message: str
    edits: tuple[PlacedEdit, ...]
    hunks: tuple[Hunk, ...] = ()
    made: bool = False


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
    norms: tuple[int, ...] = field(default=(), compare=False)  # the file's norms it was found in, by number
    severity: str = ERROR
    consequence: str = field(default="", compare=False)  # from the rule's page: what comes of it
    evidence: str = field(default="", compare=False)  # another line that the message rests on, with its number
    reads: str = field(default="", compare=False)  # what the norm computes, in words

    @property
    def line_text(self) -> str:
        """The line the finding starts in, without its indent."""
        at = self.start.line - self.excerpt_start
        return self.excerpt[at].strip() if 0 <= at < len(self.excerpt) else ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A norm that is to be run: `job` is what the verifier asked for, `spot` a finding on it without code and message.

    `wanted`: the rules about runs that may report there. `explained`: reading found a mistake, reported or silenced.
    """

    job: Any
    spot: Diagnostic
    wanted: tuple[str, ...] = ()
    explained: bool = False


@dataclass(frozen=True, slots=True)
class ListedNorm:
    """A recognised norm in its file, `number` counts them. `pending` None: it isn't to be run by itself.

    `sentence`: what `spine` says, in words.
    """

    path: str
    place: Place
    kind: str
    qualname: str
    spine: str
    verdict: Verdict | None = None
    number: int = 0
    pending: Pending | None = field(default=None, compare=False)
    unit: int = field(default=0, compare=False)  # which piece of Python of the file it stands in
    # What its fixes make of it, where that was asked.
    fixed_verdict: Verdict | None = field(default=None, compare=False)
    fixed_sentence: str = field(default="", compare=False)
    sentence: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Its path and number, which no other norm has."""
        return self.path, self.number


@dataclass(frozen=True, slots=True)
class Unread:
    """A function or class that is too large to be read, or partly so."""

    path: str
    place: Place
    qualname: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A path that could not be linted, and why. `internal`: it is a mistake of normlint's own, or its limits."""

    path: str
    line: int | None
    message: str
    internal: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found, in the order of the paths and of each text.

    `torch`: the version that norms were run with; None if they weren't to be run, empty if there was none to run.
    `fixed`: the findings that were fixed, as they were; None if that was not asked for. `notes`: remarks on
    a file that are no errors. `unlisted`: how many norms there are besides `norms`. `skipped`: the files that a comment
    skips.
    """

    findings: tuple[Diagnostic, ...] = ()
    norms: tuple[ListedNorm, ...] = ()
    errors: tuple[Failure, ...] = ()
    torch: str | None = None
    fixed: tuple[Diagnostic, ...] | None = None
    notes: tuple[Failure, ...] = ()
    unread: tuple[Unread, ...] = ()
    unlisted: int = 0
    skipped: tuple[str, ...] = ()
    asked: tuple[tuple[str, str], ...] = ()  # other files that it hangs on, with the digests of what they held

    @property
    def norm_count(self) -> int:
        """How many norms were recognised."""
        return len(self.norms) + self.unlisted


def any_at(findings: Iterable[Diagnostic], least: str) -> bool:
    """Is one of the findings as grave as this?"""
    return any(at_least(one.severity, least) for one in findings)


def merged(reports: Iterable[Report]) -> Report:
    """Several reports as one, in their order."""
    every = tuple(reports)
    return Report(
        tuple(finding for report in every for finding in report.findings),
        tuple(norm for report in every for norm in report.norms),
        tuple(error for report in every for error in report.errors),
        fixed=_fixed(every),
        notes=tuple(note for report in every for note in report.notes),
        unread=tuple(one for report in every for one in report.unread),
        unlisted=sum(report.unlisted for report in every),
        skipped=tuple(path for report in every for path in report.skipped),
        asked=tuple(one for report in every for one in report.asked),
    )


def _fixed(reports: Iterable[Report]) -> tuple[Diagnostic, ...] | None:
    asked = [report.fixed for report in reports if report.fixed is not None]
    return tuple(finding for fixed in asked for finding in fixed) if asked else None
