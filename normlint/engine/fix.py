"""`--fix`: one file fixed in memory, in rounds of edits until nothing is left to fix, all of it or nothing.

A round makes the fixes whose places don't overlap, in the order of the text; the others wait for the next one, which
reads the file anew. What is written back is read back: a fix after which a unit doesn't parse, or can't be found in
the file as it was meant, is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from normlint.engine.linter import (
    MOST_NORMS,
    View,
    attempt,
    findings_of,
    norms_to_fix,
    report_of,
    report_on,
    views_of,
)
from normlint.engine.placing import HomeEdit, edited, fitted, home_edits
from normlint.engine.report import Diagnostic, Failure, Report
from normlint.engine.selection import Demand
from normlint.norm.kept import is_used_up, kept, start_round
from normlint.rules import Analysis
from normlint.text import marks
from normlint.text.edit import apply, entangled
from normlint.text.finding import Applicability, Edit, Span
from normlint.text.frozen import dataclass
from normlint.text.raw import BadSourceError, read_bytes
from normlint.text.read import decode, units_of
from normlint.text.source import Source, Unit
from normlint.text.syntax import compiles, is_python, unbound

if TYPE_CHECKING:
    from normlint.engine.baseline import Acceptance
    from normlint.norm.norm import Norm

Key = tuple[int, str]  # the unit, and the name of a norm in it


@dataclass(frozen=True, slots=True)
class FixRequest:
    """What is to be fixed: all that the demand chooses, less what a baseline accepts and the skipped norms.

    `prepare_rewritten`: what is needed to run a norm that a fix has replaced with something else, from its new and
    old units.
    """

    demand: Demand
    accepted: Acceptance | None = None
    skipped: frozenset[Key] = frozenset()
    prepare_rewritten: Callable[[Source, Unit, Norm, Unit], Any] | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file before and after. `report` is of the file after, `unfixed` of the file before, both less the accepted.

    `fixed`: the findings that were fixed, as they were when they were; `touched`: the norms they were found in,
    each with their codes.
    """

    before: Source
    after: Source
    unfixed: Report
    report: Report
    fixed: tuple[Diagnostic, ...] = ()
    touched: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    rewritten: tuple[tuple[Key, Any], ...] = ()  # touched norms that reading finds no more, ready to be run

    @property
    def changed(self) -> bool:
        """Is there something to write?"""
        return self.before.text != self.after.text


MOST_ROUNDS: Final = 10
MOST_PARTIAL: Final = 20  # more rounds, of files whose fixes take more than a round's allowance


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A fix that is to be made: its edits in the unit, and in the file."""

    view: View
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]
    homes: tuple[HomeEdit, ...]

    @property
    def hull(self) -> Span:
        """From its first edit to its last."""
        return Span(min(edit.span.start for edit in self.edits), max(edit.span.end for edit in self.edits))

    def waits_for(self, other: _Chosen) -> bool:
        """Return whether both fix the same norm, and one binds or unbinds a name that the other writes."""
        norms = set(self.diagnostic.norms) & set(other.diagnostic.norms)
        return self.view is other.view and bool(norms) and entangled(self.view.unit.text, self.edits, other.edits)


@dataclass(slots=True)
class Rounds:
    """The state of one file's rounds."""

    request: FixRequest
    still_accepted: Counter[tuple[object, ...]] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    dropped: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict)
    fixed: list[Diagnostic] = field(default_factory=list)
    touched: dict[Key, tuple[str, ...]] = field(default_factory=dict)

    def run(self, source: Source, views: Sequence[View]) -> Fixed:
        """Make fixes in rounds until none is left; BadSourceError if they never settle or are too many."""
        now, old = source, views
        full = 0  # rounds that could look at all findings
        for _ in range(MOST_ROUNDS + MOST_PARTIAL):
            full += not is_used_up()
            now, made = self._round(now, views)
            if not made:
                break
            views = self._next(now, views, made)
            if full == MOST_ROUNDS and self._chosen(views):
                raise _unsettled(self.fixed)
        else:
            if self._chosen(views):
                raise BadSourceError("too much to fix in one run: select fewer rules or split the file")
        gone = tuple(rewritten(self.request, self.touched.keys(), now, old, views))
        report = _left_alone(self.report(views))
        return Fixed(source, now, Report(), report, tuple(self.fixed), self.touched, gone)

    def report(self, views: Sequence[View]) -> Report:
        """The report on these views without the findings that the baseline accepts."""
        report = report_of(views)
        findings = self._left(report.findings)
        there = {_about(one) for one in findings}
        notes = tuple(_note(one) for key, one in self.dropped.items() if key in there)
        return replace(report, findings=findings, notes=notes)

    def _left(self, findings: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The findings that the baseline doesn't accept; one whose line a fix has changed stays accepted."""
        if self.request.accepted is None:
            return tuple(findings)
        exactly = self.request.accepted.left(findings)
        accepted = Counter(map(_about, findings)) - Counter(map(_about, exactly))
        self.still_accepted |= accepted
        more = self.still_accepted - accepted
        left = []
        for one in exactly:
            if more[_about(one)] > 0:
                more[_about(one)] -= 1
            else:
                left.append(one)
        return tuple(left)

    def _round(self, source: Source, views: Sequence[View]) -> tuple[Source, list[_Chosen]]:
        """The source after one round, and the fixes made: all of them if that is sound, else one by one."""
        self.seen.add(source.text)
        norms = norms_to_fix(views)
        wanted = norms > MOST_NORMS and self._left(findings_of(views))
        if wanted and any(self.request.demand.may_make(one.code) for one in wanted):
            raise BadSourceError(
                f"{norms} norms to fix, at most {MOST_NORMS} a file: select fewer rules or split the file"
            )
        chosen = self._chosen(views)
        after = _attempt(source, views, chosen)
        if after is not None:
            return after, chosen
        after = source
        made: list[_Chosen] = []
        for one in chosen:
            tried = _attempt(source, views, [*made, one])
            if tried is not None:
                after = tried
                made.append(one)
            else:
                self.dropped[_about(one.diagnostic)] = one.diagnostic
        return after, made

    def _next(self, now: Source, views: Sequence[View], made: Sequence[_Chosen]) -> list[View]:
        """Analyse the file after a round; BadSourceError if something that was fixed is found again."""
        fixed = [one.diagnostic for one in made]
        self.fixed += fixed
        for one in made:
            for key in _norms(one.view, one.diagnostic):
                self.touched[key] = tuple(sorted({*self.touched.get(key, ()), one.diagnostic.code}))
        start_round()
        after = views_of(now, self.request.demand)
        if now.text in self.seen:
            raise _unsettled(self.fixed)
        if _reappear(findings_of(views), fixed, findings_of(after)):
            raise _unsettled(fixed)
        return after

    def _chosen(self, views: Sequence[View]) -> list[_Chosen]:
        """Fixes that are to be made and don't interlock, in the order of the text."""
        left = Counter(self._left(findings_of(views)))
        chosen: list[_Chosen] = []
        for view in views:
            end = -1
            for one in sorted(_candidates(view), key=lambda one: one.hull):
                if left[one.diagnostic] < 1 or self.request.skipped.intersection(_norms(view, one.diagnostic)):
                    continue
                if one.hull.start > end and not any(one.waits_for(other) for other in chosen):
                    chosen.append(one)
                    end = one.hull.end
        return chosen


def rewritten(
    request: FixRequest, touched: Set[Key], now: Source, old: Sequence[View], new: Sequence[View]
) -> Iterator[tuple[Key, Any]]:
    """Touched norms that are no longer recognised, such as one replaced by torch's own, made ready to be run."""
    there = {(view.number, norm.qualname) for view in new for norm in view.analysis.norms}
    units = units_of(now)
    for before in old:
        if not isinstance(before.analysis, Analysis):  # nothing in it was to be fixed
            continue
        for norm in before.analysis.norms:
            key = before.number, norm.qualname
            if request.prepare_rewritten and key in touched - there and not norm.helper:
                yield key, request.prepare_rewritten(now, units[before.number], norm, before.unit)


def _left_alone(report: Report) -> Report:
    """The report with fixes that were asked for but not made marked as shown only."""
    return replace(report, findings=tuple(map(_only_shown, report.findings)))


def _only_shown(one: Diagnostic) -> Diagnostic:
    if one.fix is None or not one.fix.made:
        return one
    return replace(one, fix=replace(one.fix, made=False, applicability=Applicability.DISPLAY))


def _candidates(view: View) -> Iterable[_Chosen]:
    for finding, diagnostic in view.found():
        if finding.fix is not None and diagnostic.fix is not None and diagnostic.fix.made:
            edits = fitted(view.source, view.unit.text, finding.fix.edits)
            yield _Chosen(view, diagnostic, edits, home_edits(view.source, view.unit, edits) or ())


def _norms(view: View, diagnostic: Diagnostic) -> Iterable[Key]:
    """The norms a finding is about, by names that hold from one round to the next."""
    return ((view.number, view.analysis.norms[number - view.before].qualname) for number in diagnostic.norms)


def _attempt(source: Source, views: Sequence[View], chosen: Sequence[_Chosen]) -> Source | None:
    """The source with these fixes made, if each unit then is what the edits make of it, and Python."""
    if not chosen:
        return source
    try:
        meant = [
            _meant(view.unit, [edit for one in chosen if one.view is view for edit in one.edits]) for view in views
        ]
        after = edited(source, [home for one in chosen for home in one.homes])
        found = [unit.text for unit in units_of(after)]
    except (ValueError, BadSourceError):
        return None
    sound = all(_is_sound(view.unit.text, text) for view, text in zip(views, meant, strict=True))
    return after if sound and found == meant else None


def _meant(unit: Unit, edits: Sequence[Edit]) -> str:
    return apply(unit.text, edits) if edits else unit.text


def _is_sound(before: str, after: str) -> bool:
    if before == after:
        return True
    if not is_python(after):
        return False
    return not compiles(before) or (compiles(after) and not _unbinds(before, after))


def _unbinds(before: str, after: str) -> bool:
    """Return whether a name that was bound has lost its assignment and is still read."""
    return any(re.search(rf"\b{name}\b", before) for name in unbound(after) - unbound(before))


def _reappear(before: Iterable[Diagnostic], fixed: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> bool:
    """Is something that was fixed found again in the same words, in the same line?"""
    was, gone, there = (Counter(map(_words, found)) for found in (before, fixed, after))
    return any(there[key] > was[key] - count for key, count in gone.items())


def _words(one: Diagnostic) -> tuple[object, ...]:
    return one.start.cell, one.code, one.norm, one.message, one.line_text


def _about(one: Diagnostic) -> tuple[object, ...]:
    return one.start.cell, one.code, one.norm


def _note(one: Diagnostic) -> Failure:
    return Failure(one.path, one.start.line, f"the fix of {one.code} is left out: its result would not be sound")


def _unsettled(fixed: Iterable[Diagnostic]) -> BadSourceError:
    codes = ", ".join(sorted({one.code for one in fixed}))
    return BadSourceError(f"the fixes don't settle ({codes}); please report this")


def fix_file(path: str, request: FixRequest, data: bytes | None = None) -> Fixed | Failure:
    """The file at `path`, or what it is given as, fixed in memory: nothing is written here."""
    return _guarded(path, lambda wanted: _fixed(path, read_bytes(path) if data is None else data, wanted), request)


def _fixed(path: str, data: bytes, request: FixRequest) -> Fixed:
    """Fix the bytes of a file; bytes that can't hold a norm are not decoded, as when linting."""
    if marks.may_concern(data):
        return fix(decode(path, data), request)
    unread = Source(path, "")
    return Fixed(unread, unread, Report(), Report())


def _guarded(path: str, work: Callable[[FixRequest], Fixed], request: FixRequest) -> Fixed | Failure:
    """Fix a file; where that fails for an internal reason, lint it without fixes and leave it as it is."""
    done = attempt(path, lambda: work(request))
    if not isinstance(done, Failure) or not done.internal:
        return done
    linted = attempt(path, lambda: work(replace(request, demand=request.demand.plain)))
    if isinstance(linted, Failure):
        return linted
    reported = replace(linted.report, errors=(*linted.report.errors, done))
    return replace(linted, unfixed=reported, report=reported)


def fix(source: Source, request: FixRequest) -> Fixed:
    """The source with all fixes made, until nothing is left to fix; unchanged, and with an error, where that fails."""
    with kept():
        return _fixed_in_rounds(source, request)


def _fixed_in_rounds(source: Source, request: FixRequest) -> Fixed:
    views = views_of(source, request.demand)
    if not views:
        nothing = report_on(source, request.demand)
        return Fixed(source, source, nothing, nothing)
    rounds = Rounds(request)
    before = rounds.report(views)
    settled = attempt(source.path, lambda: _writable(rounds.run(source, views)))
    if isinstance(settled, Failure):
        reported = replace(before, errors=(replace(settled, message=f"not fixed: {settled.message}"),))
        return Fixed(source, source, reported, reported)
    return replace(settled, unfixed=before)


def _writable(fixed: Fixed) -> Fixed:
    if not fixed.changed:
        return fixed
    if not fixed.before.faithful:
        raise BadSourceError(f"{fixed.before.encoding} would not give the same bytes back")
    try:
        fixed.after.encode(fixed.after.text)
    except UnicodeEncodeError as error:
        raise BadSourceError(f"{fixed.before.encoding} has no {error.object[error.start]!r}") from None
    return fixed


def prepared(fixed: Fixed, request: FixRequest) -> Fixed:
    """The same file with what the request needs to run its norms, before and after; nothing is fixed anew."""
    demand = replace(request.demand, fixes=False)
    old, new = views_of(fixed.before, demand), views_of(fixed.after, demand)
    before, after = (replace(r, norms=report_of(v).norms) for r, v in ((fixed.unfixed, old), (fixed.report, new)))
    gone = tuple(rewritten(request, fixed.touched.keys(), fixed.after, old, new))
    return replace(fixed, unfixed=before, report=after, rewritten=gone)
