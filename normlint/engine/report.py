"""Define the results of a run, with places in files: plain data that is cheap to send between processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from normlint.text.finding import ERROR, Applicability, at_least
from normlint.text.frozen import dataclass
from normlint.text.source import Place
from normlint.text.verdict import Verdict


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """Replace the text from `start` up to `end` with `text`."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Replace the `old` lines, from `line` on, with the `new` ones; either may be empty. `above`: the line before."""

    cell: int | None
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    above: str = ""


@dataclass(frozen=True, slots=True)
class PlacedFix:
    """A fix as placed in the file. `made`: `--fix` makes it, given whether unsafe fixes are enabled."""

    applicability: Applicability
    message: str
    edits: tuple[PlacedEdit, ...]
    hunks: tuple[Hunk, ...] = ()
    made: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding in its file. `excerpt` is the source around it, from line `excerpt_start` on."""

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
    norms: tuple[int, ...] = field(default=(), compare=False)  # the numbers of the norms it was found in
    severity: str = ERROR
    consequence: str = field(default="", compare=False)  # what goes wrong because of it, from the rule
    evidence: str = field(default="", compare=False)  # another line that the message rests on, with its number
    reads: str = field(default="", compare=False)  # what the norm computes, in words

    @property
    def line_text(self) -> str:
        """Return the stripped line that the finding starts in, by which a baseline identifies it."""
        at = self.start.line - self.excerpt_start
        return self.excerpt[at].strip() if 0 <= at < len(self.excerpt) else ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A norm to run: `job` is the verifier's input, `spot` a finding on the norm without code and message.

    `wanted`: the codes of the runtime rules that may report there. `explained`: static analysis found a mistake in
    the norm, reported or suppressed.
    """

    job: Any
    spot: Diagnostic
    wanted: tuple[str, ...] = ()
    explained: bool = False


@dataclass(frozen=True, slots=True)
class ListedNorm:
    """A recognised norm, the file's `number`-th. `pending` None: it isn't to be run by itself.

    `spine`: its operations in the order of the code; `sentence`: the same in words.
    """

    path: str
    place: Place
    kind: str
    qualname: str
    spine: str
    verdict: Verdict | None = None
    number: int = 0
    pending: Pending | None = field(default=None, compare=False)
    unit: int = field(default=0, compare=False)  # the number of the file's unit that it is in
    # The verdict and sentence after its fixes, where these were asked for.
    fixed_verdict: Verdict | None = field(default=None, compare=False)
    fixed_sentence: str = field(default="", compare=False)
    sentence: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Return its path and number, which identify it."""
        return self.path, self.number


@dataclass(frozen=True, slots=True)
class Unread:
    """A function or class that is wholly or partly too large to be analysed."""

    path: str
    place: Place
    qualname: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A path that could not be linted, and why. `internal`: because of a bug or a limit of normlint."""

    path: str
    line: int | None
    message: str
    internal: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Report:
    """The results for one or more files, in the order of the paths and of each text.

    `torch`: the version that norms were run with; None if running wasn't asked for, "" if there was nothing to run.
    `fixed`: the fixed findings, as they were before their fix; None if fixing wasn't asked for. `notes`: remarks
    that are no errors. `unlisted`: how many norms there are besides `norms`. `skipped`: files skipped by a comment.
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
    asked: tuple[tuple[str, str], ...] = ()  # other files it depends on, with their digests

    @property
    def norm_count(self) -> int:
        """Return how many norms were recognised."""
        return len(self.norms) + self.unlisted


def any_at(findings: Iterable[Diagnostic], least: str) -> bool:
    """Return whether a finding has at least this severity."""
    return any(at_least(one.severity, least) for one in findings)


def beyond(
    findings: Iterable[Diagnostic], counts: Counter[Any], key: Callable[[Diagnostic], object]
) -> tuple[Diagnostic, ...]:
    """Return the findings without the first ones of each key, of which there may be as many as `counts` says."""
    left = Counter(counts)
    kept = []
    for one in findings:
        same = key(one)
        if left[same] > 0:
            left[same] -= 1
        else:
            kept.append(one)
    return tuple(kept)


def merged(reports: Iterable[Report]) -> Report:
    """Return one report with the contents of several, in order."""
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
