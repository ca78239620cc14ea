"""Lint one file: read it, analyse it, and report the findings that are selected and not suppressed.

An error in one file becomes a Failure in its report and doesn't affect the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from normlint.engine.report import Diagnostic, Failure, ListedNorm, Pending, PlacedFix, Report, Unread
from normlint.engine.selection import Demand
from normlint.text import making, marks, taking
from normlint.text.frozen import dataclass
from normlint.text.raw import NOTEBOOK, PYTHON, BadSourceError, read_bytes
from normlint.text.source import Source, Unit
from normlint.text.syntax import check_syntax

if TYPE_CHECKING:
    from normlint.norm.norm import Norm
    from normlint.rules import Analysis
    from normlint.rules.blocks import LightAnalysis, LightNorm
    from normlint.text.finding import Finding, Span
    from normlint.text.suppress import Suppressions

Done = TypeVar("Done")
Asked = tuple[tuple[str, str], ...]  # the paths of other files, with the digests of their contents
CONTEXT: Final = 2
MOST_NORMS: Final = 64  # fixed in a file; each takes some 20 ms to fix and run
_NEVER_STORED: Final = ("", "")  # a file that never has this digest
STYLE: Final = "NRM6"  # findings about style: nothing is wrong


def check_path(path: str, demand: Demand) -> Report:
    """Lint the file at `path`."""
    return guarded(path, lambda wanted: _report(path, read_bytes(path), wanted), demand)


def check_bytes(path: str, data: bytes, demand: Demand) -> Report:
    """Lint bytes as if they had been read from `path`."""
    return guarded(path, lambda wanted: _report(path, data, wanted), demand)


def check_checked_text(path: str, text: str, demand: Demand) -> Report:
    """Lint the text of a Python file that is known to parse, since flake8 has parsed it."""
    return guarded(path, lambda wanted: report_on(Source(path, text), wanted), demand)


def _report(path: str, data: bytes, demand: Demand) -> Report:
    """Report on a file's bytes; they are decoded only if the prefilter finds words of a norm in them."""
    if not marks.may_concern(data):
        return Report()
    from normlint.text.read import decode

    return report_on(decode(path, data), demand)


def report_on(source: Source, demand: Demand) -> Report:
    """Lint a source."""
    views = views_of(source, demand)
    return report_of(views) if views else Report(skipped=(source.path,) if _is_skipped(source, demand) else ())


def guarded(path: str, work: Callable[[Demand], Report], demand: Demand) -> Report:
    """Lint a file with `work`; if making fixes or preparing runs fails internally, lint it without them."""
    done, bugs = attempt_plainly(path, work, demand)
    return Report(errors=(done,)) if isinstance(done, Failure) else replace(done, errors=(*done.errors, *bugs))


def attempt_plainly(
    path: str, work: Callable[[Demand], Done], demand: Demand
) -> tuple[Done | Failure, tuple[Failure, ...]]:
    """Return what `work` returns; after an internal failure what it returns without fixes and runs, and the failure."""
    done = attempt(path, lambda: work(demand))
    if not isinstance(done, Failure) or not done.internal or (demand.prepare is None and not demand.fixes):
        return done, ()
    return attempt(path, lambda: work(demand.plain)), (done,)


def attempt(path: str, work: Callable[[], Done]) -> Done | Failure:
    """Return what `work` returns, or a Failure if it raises."""
    try:
        return work()
    except BadSourceError as bad:
        return Failure(path, bad.line, bad.message)
    except (RecursionError, MemoryError):
        return Failure(path, None, "nested too deeply to be analysed", internal=True)
    except Exception as error:  # noqa: BLE001 - the one place: a bug in normlint must not stop the other files
        return Failure(path, None, f"internal error: {type(error).__name__}{_said(error)}", internal=True)


def _said(error: Exception) -> str:
    """Return the error's message after a colon, "" where printing what it holds might fail in turn."""
    return f": {error}" if all(isinstance(one, str | bytes | int | None) for one in error.args) else ""


def views_of(source: Source, demand: Demand) -> list[View]:
    """Analyse the units of a file; BadSourceError where findings would be reported in a text that isn't Python."""
    if source.kind != NOTEBOOK and not marks.may_concern(source.text):
        return []  # before the slow imports
    from normlint.text.read import units_of

    units = units_of(source)
    if _is_skipped(source, demand):
        return []
    views: list[View] = []
    before = 0
    for number, unit in enumerate(units):
        path = source.path if demand.around and source.kind == PYTHON and not source.path.startswith("<") else ""
        first, around = _with_borrowed(unit, path, demand, MOST_NORMS - norms_to_fix(views))
        analysis, asked = _with_calls(first, unit, path, demand)
        known = tuple(sorted({*around, *asked}))
        silent = _suppressions(unit, analysis, demand)
        views.append(View(source, unit, demand, analysis, silent, before, number, known, path))
        before += len(analysis.norms)
    return views


def _is_skipped(source: Source, demand: Demand) -> bool:
    from normlint.text.suppress import skips_file

    return demand.noqa and (skips_file(source.text) or any(skips_file(code) for _, code in source.cells))


def report_of(views: Sequence[View]) -> Report:
    """Return the report on a file's analysed units."""
    norms = tuple(norm for view in views for norm in view.norms())
    unread = tuple(one for view in views for one in view.unread())
    asked = [one for view in views for one in view.asked]
    asked += [_NEVER_STORED] if any(view.looks_around() for view in views) else []
    return Report(findings_of(views), norms, unread=unread, asked=tuple(asked))


def findings_of(views: Sequence[View]) -> tuple[Diagnostic, ...]:
    """Return the findings of a file without duplicates."""
    return tuple(dict.fromkeys(diagnostic for view in views for _, diagnostic in view.found()))


def _with_borrowed(unit: Unit, path: str, demand: Demand, most: int) -> tuple[Analysis | LightAnalysis, Asked]:
    """Analyse a unit with the definitions that its norms import; return also the other files it depends on."""
    if not path or not taking.may_take(unit.text):
        return _analysed(unit, demand, most), ()
    from normlint.norm.borrowed import borrowed
    from normlint.rules.borrowing import own_part

    whole = borrowed(unit.text, os.path.abspath(path))
    if whole.text == unit.text:
        return _analysed(unit, demand, most), whole.asked
    try:
        found = _analysed(replace(unit, text=whole.text), demand, most, own=len(unit.text))
    except BadSourceError:  # the error should be about the unit's own text
        return _analysed(unit, demand, most), whole.asked
    return own_part(found, unit.text), whole.asked


def _with_calls(
    analysis: Analysis | LightAnalysis, unit: Unit, path: str, demand: Demand
) -> tuple[Analysis | LightAnalysis, Asked]:
    """Add the findings at calls that make or use norms; return also the other files the analysis depends on."""
    if not making.may_make(unit.text):
        return analysis, ()
    from normlint.rules.callers import called

    seen = called(unit.text, path, demand.shows)
    findings = tuple(one for one, _ in seen.found)
    if findings and not unit.snippet:
        check_syntax(unit.text)
    if findings and demand.fixes:
        from normlint.fixes.makings import fixed

        findings = fixed(unit.text, seen, path, snippet=unit.snippet)
    return replace(analysis, findings=(*analysis.findings, *findings)), seen.asked


def norms_to_fix(views: Iterable[View]) -> int:
    """Count the norms that have findings whose rules offer fixes."""
    return sum(len(_fixable_norms(view.analysis, view.demand)) for view in views)


def _fixable_norms(analysis: Analysis | LightAnalysis, demand: Demand) -> set[int]:
    return {number for one in _fixable(analysis, demand) for number in one.norms}


def _fixable(analysis: Analysis | LightAnalysis, demand: Demand) -> Iterator[Finding]:
    return filter(demand.fixable, analysis.findings) if demand.fixes else iter(())


def _analysed(unit: Unit, demand: Demand, most: int, own: int | None = None) -> Analysis | LightAnalysis:
    """Analyse a unit: quickly and without fixes where nothing is to be fixed or more than `most` norms would be.

    `own`: the length of the unit's own text, after which the definitions that it imports follow.
    """
    from normlint import rules

    if unit.text and not marks.may_hold_norm(unit.text):
        return rules.Analysis((), ())
    light = _light(unit, whole=demand.prepare is not None, own=own)
    if light is not None and not any(map(demand.takes, light.findings)):
        return light
    if not unit.snippet:
        check_syntax(unit.text)  # a syntax error is the only thing reported in a text that isn't Python
    if light is not None and not (any(_fixable(light, demand)) and len(_fixable_norms(light, demand)) <= most):
        return light
    try:
        if not demand.fixes:
            return rules.analyse(unit.text, snippet=unit.snippet)
        from normlint import fixes

        return fixes.analyse(unit.text, snippet=unit.snippet, wanted=demand.fixable)
    except SyntaxError as error:
        if unit.snippet:
            return rules.Analysis((), ())
        raise BadSourceError(f"syntax error: {error.msg}", error.lineno) from None


def _light(unit: Unit, *, whole: bool, own: int | None) -> LightAnalysis | None:
    """Analyse a unit quickly, without fixes; None if a block of it doesn't parse."""
    from normlint.rules.blocks import analyse_blocks

    try:
        return analyse_blocks(unit.text, snippet=unit.snippet, whole=whole, own=own)
    except SyntaxError:
        return None


def _suppressions(unit: Unit, analysis: Analysis | LightAnalysis, demand: Demand) -> Suppressions:
    from normlint.text.suppress import Suppressions, suppressions

    speaks = any(map(demand.takes, analysis.findings)) or (demand.prepare is not None and bool(analysis.norms))
    return suppressions(unit.text) if speaks and demand.noqa else Suppressions()


@dataclass(frozen=True, slots=True)
class View:
    """One analysed unit of a file; the units before it hold `before` norms."""

    source: Source
    unit: Unit
    demand: Demand
    analysis: Analysis | LightAnalysis
    silent: Suppressions
    before: int = 0
    number: int = 0
    asked: Asked = ()
    path: str = ""  # where the other files of its package are looked for; "" if they aren't

    def found(self) -> Iterator[tuple[Finding, Diagnostic]]:
        """Yield the selected, unsuppressed findings in text order, each as placed in the unit and in the file."""
        for finding in sorted(self.analysis.findings, key=lambda one: (one.span, one.code)):
            reported = self.demand.takes(finding) and self._is_reported(finding.code, finding.span)
            if reported and not self._is_cleared(finding):
                yield finding, self._diagnostic(finding)

    def norms(self) -> Iterator[ListedNorm]:
        """Yield the recognised norms of the unit, as placed in the file."""
        own = {number for one in self.analysis.findings if self._is_about_mistake(one) for number in one.norms}
        blamed = own | self.analysis.blamed
        cleared = {
            n for one in self.analysis.findings if self.demand.prepare and self._is_cleared(one) for n in one.norms
        }
        norms: tuple[Norm | LightNorm, ...] = self.analysis.norms
        for number, norm in enumerate(norms):
            place = self.source.place(*self.unit.origin(norm.span.start))
            pending = None if number in cleared else self._pending(norm, number, explained=number in blamed)
            at = self.before + number
            details = (norm.kind, norm.qualname, norm.spine, None, at, pending, self.number)
            yield ListedNorm(self.source.path, place, *details, sentence=norm.sentence)

    def unread(self) -> Iterator[Unread]:
        """Yield the functions and classes that are too large to be analysed."""
        for name, span in self.analysis.unread:
            yield Unread(self.source.path, self.source.place(*self.unit.origin(span.start)), name)

    def _is_reported(self, code: str, span: Span) -> bool:
        from normlint.text.suppress import unit_line

        return self.demand.chooses(code) and not self.silent.silences(code, unit_line(self.unit.text, span.start))

    def _is_cleared(self, finding: Finding) -> bool:
        """Return whether another file of the package does what the finding misses."""
        from normlint.engine.importers import cleared_by, may_be_cleared

        return bool(self.path) and may_be_cleared(finding) and bool(cleared_by(self.path, self.unit.text, finding))

    def looks_around(self) -> bool:
        """Return whether what is reported depends on files that import this one, so that it can't be stored."""
        from normlint.engine.importers import may_be_cleared

        return bool(self.path) and any(self.demand.takes(one) and may_be_cleared(one) for one in self.analysis.findings)

    def _is_about_mistake(self, finding: Finding) -> bool:
        return not finding.code.startswith(STYLE) and self.demand.selection.knows(finding.code)

    def _pending(self, norm: Norm | LightNorm, number: int, *, explained: bool) -> Pending | None:
        """Return what is needed to run a norm; None for a helper, which is run as part of its callers."""
        if self.demand.prepare is None or norm.helper:
            return None
        from normlint.norm.norm import Norm
        from normlint.rules.registry import RULES
        from normlint.text.finding import Finding, at_least

        if not isinstance(norm, Norm):
            return None
        spot = self._diagnostic(Finding("", "", "", norm.span, norm.qualname, norms=(number,)))
        runs = (
            c for c in sorted(RULES) if RULES[c].check_run and at_least(RULES[c].severity, self.demand.selection.least)
        )
        wanted = tuple(c for c in runs if self._is_reported(c, norm.span))
        return Pending(self.demand.prepare(self.source, self.unit, norm), spot, wanted, explained)

    def _diagnostic(self, finding: Finding) -> Diagnostic:
        from normlint.rules.registry import RULES

        start, end = self.source.places(self.unit, finding.span)
        first = max(start.line - CONTEXT, 1)
        return Diagnostic(
            finding.code,
            finding.name,
            finding.message,
            self.source.path,
            start,
            end,
            finding.norm,
            self.source.lines(start.cell, first, end.line + CONTEXT),
            first,
            self._fix(finding),
            norms=tuple(self.before + number for number in finding.norms),
            severity=finding.severity,
            consequence=RULES[finding.code].consequence if finding.code in RULES else "",
            evidence=self._evidence(finding.evidence),
            reads=next((self.analysis.norms[number].sentence for number in finding.norms), ""),
        )

    def _evidence(self, span: Span | None) -> str:
        """Return `see line 12: self.g = …`; "" if there is no evidence, or it is in another file."""
        if span is None or not 0 <= span.start < span.end <= len(self.unit.text):
            return ""
        start, _ = self.source.places(self.unit, span)
        (text,) = self.source.lines(start.cell, start.line, start.line)
        return f"see {f'cell {start.cell}, ' if start.cell is not None else ''}line {start.line}: {text.strip()}"

    def _fix(self, finding: Finding) -> PlacedFix | None:
        if finding.fix is None:
            return None
        from normlint.engine.placing import placed_fix

        return placed_fix(self.source, self.unit, finding.fix, self.demand)
