"""One file: read, sieve, analyse, select, suppress. What goes wrong in it costs that file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from normlint.engine.report import Diagnostic, Failure, ListedNorm, Pending, PlacedEdit, PlacedFix, Report, merged
from normlint.engine.selection import Selection, matches
from normlint.engine.sieve import may_hold_norm
from normlint.text.source import PYTHON, BadSourceError, Source, Unit
from normlint.text.syntax import check_syntax

if TYPE_CHECKING:
    from normlint.norm.norm import Norm
    from normlint.rules import Analysis
    from normlint.text.finding import Finding, Fix, Span
    from normlint.text.suppress import Suppressions

CONTEXT: Final = 2
STYLE: Final = "NRM6"  # findings that say of nothing that it is wrong


@dataclass(frozen=True, slots=True)
class Demand:
    """What is wanted of a file: which codes, which not in this one, and whether comments may silence them.

    `prepare`: makes of each norm what the verifier needs to run it. A function of a module, so that it can be sent.
    """

    selection: Selection = field(default_factory=Selection)
    ignored: tuple[str, ...] = ()
    noqa: bool = True
    prepare: Callable[[Source, Unit, Norm], Any] | None = None

    def chooses(self, code: str) -> bool:
        """Is a finding with this code to be reported?"""
        return self.selection.chooses(code) and not matches(self.ignored, code)


def check_path(path: str, demand: Demand) -> Report:
    """Lint the file at `path`."""
    from normlint.text.read import read

    return _guarded(path, lambda wanted: _check(read(path), wanted), demand)


def check_bytes(path: str, data: bytes, demand: Demand) -> Report:
    """Lint bytes that are already here, as if they had been read from `path`."""
    from normlint.text.read import decode

    return _guarded(path, lambda wanted: _check(decode(path, data), wanted), demand)


def check_checked_text(path: str, text: str, demand: Demand) -> Report:
    """Lint the text of a Python file that is known to parse (flake8 has done so)."""
    return _guarded(path, lambda wanted: _search(Source(path, text), wanted), demand)


def _guarded(path: str, work: Callable[[Demand], Report], demand: Demand) -> Report:
    """Where norms can't be prepared for running, the file is still linted."""
    report = _attempted(path, work, demand)
    if demand.prepare is None or not report.errors:
        return report
    linted = _attempted(path, work, replace(demand, prepare=None))
    return linted if linted.errors else merged((linted, report))


def _attempted(path: str, work: Callable[[Demand], Report], demand: Demand) -> Report:
    try:
        return work(demand)
    except BadSourceError as bad:
        return Report(errors=(Failure(path, bad.line, bad.message),))
    except (RecursionError, MemoryError):
        return Report(errors=(Failure(path, None, "nested too deeply to be analysed"),))
    except Exception as error:  # noqa: BLE001 - the one place: a bug of ours must not cost the other files
        said = f"internal error: {type(error).__name__}: {error}"
        return Report(errors=(Failure(path, None, said),))


def _check(source: Source, demand: Demand) -> Report:
    if source.kind == PYTHON:
        check_syntax(source.text)
    return _search(source, demand)


def _search(source: Source, demand: Demand) -> Report:
    """Sieve first: nothing is imported for a file that can't hold a norm."""
    if not may_hold_norm(source.text):
        return Report()
    from normlint.text.suppress import skips_file
    from normlint.text.units import units_of

    units = units_of(source)
    if demand.noqa and (skips_file(source.text) or any(skips_file(code) for _, code in source.cells)):
        return Report()
    findings: list[Diagnostic] = []
    norms: list[ListedNorm] = []
    for unit in units:
        analysis = _analysed(unit)
        view = _View(source, unit, demand, _silent(unit, analysis, demand), len(norms))
        findings += view.findings(analysis)
        norms += view.norms(analysis)
    return Report(tuple(dict.fromkeys(findings)), tuple(norms))


def _analysed(unit: Unit) -> Analysis:
    from normlint import rules

    if unit.text and not may_hold_norm(unit.text):
        return rules.Analysis((), ())
    try:
        return rules.analyse(unit.text, snippet=unit.snippet)
    except SyntaxError as error:
        if unit.snippet:
            return rules.Analysis((), ())
        raise BadSourceError(f"syntax error: {error.msg}", error.lineno) from None


def _silent(unit: Unit, analysis: Analysis, demand: Demand) -> Suppressions:
    from normlint.text.suppress import Suppressions, suppressions

    speaks = any(demand.chooses(finding.code) for finding in analysis.findings) or demand.prepare is not None
    return suppressions(unit.text) if speaks and demand.noqa else Suppressions()


@dataclass(frozen=True, slots=True)
class _View:
    """One unit of a file, seen from outside: `before` norms have been listed in the units above it."""

    source: Source
    unit: Unit
    demand: Demand
    silent: Suppressions
    before: int

    def findings(self, analysis: Analysis) -> Iterator[Diagnostic]:
        """What is asked for and not silenced, in the order of the text."""
        for finding in sorted(analysis.findings, key=lambda one: (one.span, one.code)):
            if self._speaks(finding.code, finding.span):
                yield self._diagnostic(finding)

    def norms(self, analysis: Analysis) -> Iterator[ListedNorm]:
        """All of them."""
        blamed = {number for one in analysis.findings if self._blames(one) for number in one.norms}
        for number, norm in enumerate(analysis.norms):
            place = self.source.place(*self.unit.origin(norm.span.start))
            pending = self._pending(norm, number, explained=number in blamed)
            at = self.before + number
            yield ListedNorm(self.source.path, place, norm.kind, norm.qualname, norm.spine, None, at, pending)

    def _speaks(self, code: str, span: Span) -> bool:
        from normlint.text.suppress import unit_line

        return self.demand.chooses(code) and not self.silent.silences(code, unit_line(self.unit.text, span.start))

    def _blames(self, finding: Finding) -> bool:
        return not finding.code.startswith(STYLE) and self.demand.selection.knows(finding.code)

    def _pending(self, norm: Norm, number: int, *, explained: bool) -> Pending | None:
        """A helper is run with its callers, which know what comes in."""
        if self.demand.prepare is None or norm.helper:
            return None
        from normlint.rules.registry import RULES
        from normlint.text.finding import Finding

        spot = self._diagnostic(Finding("", "", "", norm.span, norm.qualname, norms=(number,)))
        wanted = tuple(c for c in sorted(RULES) if RULES[c].told and self._speaks(c, norm.span))
        return Pending(self.demand.prepare(self.source, self.unit, norm), spot, wanted, explained)

    def _diagnostic(self, finding: Finding) -> Diagnostic:
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
            None if finding.fix is None else _placed(self.source, self.unit, finding.fix),
            norms=tuple(self.before + number for number in finding.norms),
        )


def _placed(source: Source, unit: Unit, fix: Fix) -> PlacedFix:
    edits = (PlacedEdit(*source.places(unit, edit.span), edit.text) for edit in fix.edits)
    return PlacedFix(fix.applicability, fix.message, tuple(edits))
