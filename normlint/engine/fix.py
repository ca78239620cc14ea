"""Fix one file in memory, in rounds of edits until nothing is left to fix.

A round makes the fixes whose edits don't overlap, in text order; the others wait for the next round, which analyses
the file again. After each round the new text is split into units again: a fix after which a unit doesn't parse, or
isn't what its edits should have made of it, is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from normlint.engine.importers import broken_by
from normlint.engine.linter import (
    MOST_NORMS,
    View,
    attempt,
    attempt_plainly,
    findings_of,
    norms_to_fix,
    report_of,
    report_on,
    views_of,
)
from normlint.engine.placing import HomeEdit, edited, fitted, home_edits
from normlint.engine.report import Diagnostic, Failure, Report, beyond
from normlint.engine.selection import Demand, Selection
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
    """Which findings to fix: those the demand selects, except those that a baseline accepts or in a skipped norm.

    `prepare_rewritten` makes, from its new and old units, the verifier's job for a norm that a fix has replaced with
    something else.
    """

    demand: Demand
    accepted: Acceptance | None = None
    skipped: frozenset[Key] = frozenset()
    prepare_rewritten: Callable[[Source, Unit, Norm, Unit], Any] | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file before and after its fixes.

    `report` is on the file after, `unfixed` on the file before, both without the findings a baseline accepts.
    `fixed`: the fixed findings, as they were before their fix. `touched`: the codes that were fixed, by norm.
    """

    before: Source
    after: Source
    unfixed: Report
    report: Report
    fixed: tuple[Diagnostic, ...] = ()
    touched: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    rewritten: tuple[tuple[Key, Any], ...] = ()  # jobs of touched norms that are no longer recognised

    @property
    def changed(self) -> bool:
        """Return whether the fixes changed the text."""
        return self.before.text != self.after.text


MOST_ROUNDS: Final = 10
MOST_PARTIAL: Final = 20  # more rounds, for files whose fixes use up the limits of a round


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A fix to make: its edits in the unit, and in the file."""

    view: View
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]
    homes: tuple[HomeEdit, ...]

    @property
    def hull(self) -> Span:
        """Return the span from the start of the first edit to the end of the last."""
        return Span(min(edit.span.start for edit in self.edits), max(edit.span.end for edit in self.edits))

    @property
    def is_safe(self) -> bool:
        """Return whether the fix changes no correct result."""
        fix = self.diagnostic.fix
        return fix is not None and fix.applicability is Applicability.SAFE

    def waits_for(self, other: _Chosen) -> bool:
        """Return whether both fix the same norm, and one binds or unbinds a name that the other writes."""
        norms = set(self.diagnostic.norms) & set(other.diagnostic.norms)
        return self.view is other.view and bool(norms) and entangled(self.view.unit.text, self.edits, other.edits)


@dataclass(slots=True)
class Rounds:
    """The state of fixing one file in rounds."""

    request: FixRequest
    still_accepted: Counter[tuple[object, ...]] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    dropped: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict)
    relied_on: dict[tuple[object, ...], tuple[Diagnostic, str]] = field(default_factory=dict)  # with the file that does
    fixed: list[Diagnostic] = field(default_factory=list)
    touched: dict[Key, tuple[str, ...]] = field(default_factory=dict)

    def run(self, source: Source, views: Sequence[View]) -> Fixed:
        """Make fixes in rounds until none is left; BadSourceError if they never settle or are too many."""
        now, old = source, views
        full = 0  # rounds that looked at all findings
        for _ in range(MOST_ROUNDS + MOST_PARTIAL):
            full += not is_used_up()
            now, made = self._round(now, views)
            if not made:
                break
            views = self._analyse_again(now, views, made)
            if full == MOST_ROUNDS and self._chosen(views):
                raise _unsettled(self.fixed)
        else:
            if self._chosen(views):
                raise BadSourceError("too much to fix in one run: select fewer rules or split the file")
        gone = tuple(rewritten(self.request, self.touched.keys(), now, old, views))
        report = self.report(views)
        report = replace(report, findings=tuple(map(_shown_only, report.findings)))
        return Fixed(source, now, Report(), report, tuple(self.fixed), self.touched, gone)

    def report(self, views: Sequence[View]) -> Report:
        """Return the report on these views without the findings that the baseline accepts."""
        report = report_of(views)
        findings = self._not_accepted(report.findings)
        there = {_finding_key(one) for one in findings}
        notes = [_note(one, "its result would not be sound") for key, one in self.dropped.items() if key in there]
        relied_on = ((one, file) for key, (one, file) in self.relied_on.items() if key in there)
        notes += [_note(one, f"{file} relies on what it changes") for one, file in relied_on]
        return replace(report, findings=findings, notes=tuple(notes))

    def _not_accepted(self, findings: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that the baseline doesn't accept; one whose line a fix has changed stays accepted."""
        if self.request.accepted is None:
            return tuple(findings)
        exactly = self.request.accepted.left(findings)
        accepted = Counter(map(_finding_key, findings)) - Counter(map(_finding_key, exactly))
        self.still_accepted |= accepted
        return beyond(exactly, self.still_accepted - accepted, _finding_key)

    def _round(self, source: Source, views: Sequence[View]) -> tuple[Source, list[_Chosen]]:
        """Return the source after one round and the fixes made: all at once if the result is sound, else one by one."""
        self.seen.add(source.text)
        norms = norms_to_fix(views)
        wanted = self._not_accepted(findings_of(views)) if norms > MOST_NORMS else ()
        if any(self.request.demand.may_make(one.code) for one in wanted):
            few = f"at most {MOST_NORMS} a file: select fewer rules or split the file"
            raise BadSourceError(f"{norms} norms to fix, {few}")
        chosen = self._chosen(views)
        after = _source_after(source, views, chosen)
        if after is not None:
            return after, chosen
        after = source
        made: list[_Chosen] = []
        for one in chosen:
            tried = _source_after(source, views, [*made, one])
            if tried is not None:
                after = tried
                made.append(one)
            else:
                self.dropped[_finding_key(one.diagnostic)] = one.diagnostic
        return after, made

    def _analyse_again(self, now: Source, views: Sequence[View], made: Sequence[_Chosen]) -> list[View]:
        """Analyse the file after a round; BadSourceError if a fixed finding is found again."""
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
        """Return the fixes to make in this round, which don't overlap, in text order."""
        left = Counter(self._not_accepted(findings_of(views)))
        chosen: list[_Chosen] = []
        for view in views:
            end = -1
            for one in self._wanted(view, left):
                if one.hull.start > end and not any(one.waits_for(other) for other in chosen):
                    chosen.append(one)
                    end = one.hull.end
        return chosen

    def _wanted(self, view: View, left: Counter[Diagnostic]) -> list[_Chosen]:
        """Return the fixes of a unit in text order, but the unsafe ones of a norm only if it has no safe one left.

        A safe one may make an unsafe one unnecessary: an eps that is 0 in fp16 may be right in fp32.
        """
        found = [
            one
            for one in sorted(_candidates(view), key=lambda one: one.hull)
            if left[one.diagnostic] > 0 and not self.request.skipped.intersection(_norms(view, one.diagnostic))
        ]
        found = [one for one in found if not self._is_relied_on(view, one)]
        first = {
            norm
            for one in found
            if one.is_safe and _finding_key(one.diagnostic) not in self.dropped
            for norm in one.diagnostic.norms
        }
        return [one for one in found if one.is_safe or first.isdisjoint(one.diagnostic.norms)]

    def _is_relied_on(self, view: View, one: _Chosen) -> bool:
        """Return whether other code, perhaps of another file, relies on what the fix changes."""
        key = _finding_key(one.diagnostic)
        for number in one.diagnostic.norms if key not in self.relied_on else ():
            norm = view.analysis.norms[number - view.before]
            owner = getattr(norm, "owner", None)
            if owner is not None:
                about = {"NRM505": owner.unused_params, "NRM501": owner.plain_gains}.get(one.diagnostic.code, ())
                gains = [p.name for p in about]
                home = owner.name.rpartition(".")[2]
                path = view.source.path if view.demand.around else ""
                file = broken_by(path, view.unit.text, one.diagnostic.code, home, one.edits, gains)
                if file:
                    self.relied_on[key] = one.diagnostic, file
        return key in self.relied_on


def rewritten(
    request: FixRequest, touched: Set[Key], now: Source, old: Sequence[View], new: Sequence[View]
) -> Iterator[tuple[Key, Any]]:
    """Yield the jobs of touched norms that are no longer recognised, such as one replaced by torch's own."""
    there = {(view.number, norm.qualname) for view in new for norm in view.analysis.norms}
    units = units_of(now)
    for before in old:
        if not isinstance(before.analysis, Analysis):  # the unit had nothing to fix
            continue
        for norm in before.analysis.norms:
            key = before.number, norm.qualname
            if request.prepare_rewritten and key in touched - there and not norm.helper:
                yield key, request.prepare_rewritten(now, units[before.number], norm, before.unit)


def is_found_out(fixed: Fixed, request: FixRequest, key: Key) -> bool:
    """Return whether a rule of what is computed reports the norm in the fixed file, selected or not."""
    demand = replace(request.demand, selection=Selection(select=("NRM",)), noqa=False, fixes=False, prepare=None)
    found = ((view, one) for view in views_of(fixed.after, demand) for _, one in view.found())
    return any(one.code < "NRM6" and key in _norms(view, one) for view, one in found)


def is_of_formula(code: str) -> bool:
    """Return whether the rule is about what is computed, and not about dtypes, the module or style."""
    return code.startswith(("NRM1", "NRM3", "NRM4"))


def _shown_only(one: Diagnostic) -> Diagnostic:
    """Return a finding that is left after all rounds, with its fix, which could not be made, as one to show only."""
    if one.fix is None or not one.fix.made:
        return one
    return replace(one, fix=replace(one.fix, made=False, applicability=Applicability.DISPLAY))


def _candidates(view: View) -> Iterable[_Chosen]:
    for finding, diagnostic in view.found():
        if finding.fix is not None and diagnostic.fix is not None and diagnostic.fix.made:
            edits = fitted(view.source, view.unit.text, finding.fix.edits)
            yield _Chosen(view, diagnostic, edits, home_edits(view.source, view.unit, edits) or ())


def _norms(view: View, diagnostic: Diagnostic) -> Iterable[Key]:
    """Return the norms a finding is about, by keys that stay the same in the next round."""
    return ((view.number, view.analysis.norms[number - view.before].qualname) for number in diagnostic.norms)


def _source_after(source: Source, views: Sequence[View], chosen: Sequence[_Chosen]) -> Source | None:
    """Return the source with these fixes made; None unless each unit is then valid Python and what its edits make."""
    if not chosen:
        return source
    try:
        edits = [[edit for one in chosen if one.view is view for edit in one.edits] for view in views]
        meant = [apply(view.unit.text, own) for view, own in zip(views, edits, strict=True)]
        after = edited(source, [home for one in chosen for home in one.homes])
        found = [unit.text for unit in units_of(after)]
    except (ValueError, BadSourceError):
        return None
    sound = all(_is_sound(view.unit.text, text) for view, text in zip(views, meant, strict=True))
    return after if sound and found == meant else None


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
    """Return whether a fixed finding is found again with the same message on the same line text."""
    was, gone, there = (Counter(map(_exact_key, found)) for found in (before, fixed, after))
    return any(there[key] > was[key] - count for key, count in gone.items())


def _exact_key(one: Diagnostic) -> tuple[object, ...]:
    return one.start.cell, one.code, one.norm, one.message, one.line_text


def _finding_key(one: Diagnostic) -> tuple[object, ...]:
    return one.start.cell, one.code, one.norm


def _note(one: Diagnostic, why: str) -> Failure:
    return Failure(one.path, one.start.line, f"the fix of {one.code} is left out: {why}")


def _unsettled(fixed: Iterable[Diagnostic]) -> BadSourceError:
    codes = ", ".join(sorted({one.code for one in fixed}))
    return BadSourceError(f"the fixes don't settle ({codes}); please report this")


def fix_file(path: str, request: FixRequest, data: bytes | None = None) -> Fixed | Failure:
    """Fix in memory the file at `path`, or `data` as its content; after an internal failure, only report findings."""

    def work(demand: Demand) -> Fixed:
        return _fixed(path, read_bytes(path) if data is None else data, replace(request, demand=demand))

    done, bugs = attempt_plainly(path, work, request.demand)
    if isinstance(done, Failure) or not bugs:
        return done
    reported = replace(done.report, errors=(*done.report.errors, *bugs))
    return replace(done, unfixed=reported, report=reported)


def _fixed(path: str, data: bytes, request: FixRequest) -> Fixed:
    """Fix the bytes of a file; bytes that can't hold a norm are not decoded."""
    if marks.may_concern(data):
        return fix(decode(path, data), request)
    unread = Source(path, "")
    return Fixed(unread, unread, Report(), Report())


@kept()
def fix(source: Source, request: FixRequest) -> Fixed:
    """Make all fixes until nothing is left to fix; if that fails, return the source unchanged with an error."""
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
    """Return the fixed file with the jobs to run its norms, before and after the fixes."""
    demand = replace(request.demand, fixes=False)
    old, new = views_of(fixed.before, demand), views_of(fixed.after, demand)
    before, after = (replace(r, norms=report_of(v).norms) for r, v in ((fixed.unfixed, old), (fixed.report, new)))
    gone = tuple(rewritten(request, fixed.touched.keys(), fixed.after, old, new))
    return replace(fixed, unfixed=before, report=after, rewritten=gone)
