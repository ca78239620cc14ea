"""One file: read, sieve, analyse, select, suppress. What goes wrong in it costs that file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from normlint.engine.report import Diagnostic, Failure, ListedNorm, PlacedEdit, PlacedFix, Report
from normlint.engine.selection import Selection, matches
from normlint.engine.sieve import may_hold_norm
from normlint.text.source import PYTHON, BadSourceError, Source, Unit
from normlint.text.syntax import check_syntax

if TYPE_CHECKING:
    from normlint.norm.norm import Norm
    from normlint.rules import Analysis
    from normlint.text.finding import Finding, Fix

CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Demand:
    """What is wanted of a file: which codes, which not in this one, and whether comments may silence them."""

    selection: Selection = field(default_factory=Selection)
    ignored: tuple[str, ...] = ()
    noqa: bool = True

    def chooses(self, code: str) -> bool:
        """Is a finding with this code to be reported?"""
        return self.selection.chooses(code) and not matches(self.ignored, code)


def check_path(path: str, demand: Demand) -> Report:
    """Lint the file at `path`."""
    from normlint.text.read import read

    return _guarded(path, lambda: _check(read(path), demand))


def check_bytes(path: str, data: bytes, demand: Demand) -> Report:
    """Lint bytes that are already here, as if they had been read from `path`."""
    from normlint.text.read import decode

    return _guarded(path, lambda: _check(decode(path, data), demand))


def check_checked_text(path: str, text: str, demand: Demand) -> Report:
    """Lint the text of a Python file that is known to parse (flake8 has done so)."""
    return _guarded(path, lambda: _search(Source(path, text), demand))


def _guarded(path: str, work: Callable[[], Report]) -> Report:
    try:
        return work()
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
        findings += _findings(source, unit, analysis, demand)
        norms += (_listed(source, unit, norm) for norm in analysis.norms)
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


def _findings(source: Source, unit: Unit, analysis: Analysis, demand: Demand) -> Iterator[Diagnostic]:
    from normlint.text.suppress import Suppressions, suppressions, unit_line

    chosen = [finding for finding in analysis.findings if demand.chooses(finding.code)]
    silent = suppressions(unit.text) if chosen and demand.noqa else Suppressions()
    for finding in sorted(chosen, key=lambda one: (one.span, one.code)):
        if not silent.silences(finding.code, unit_line(unit.text, finding.span.start)):
            yield _diagnostic(source, unit, finding)


def _diagnostic(source: Source, unit: Unit, finding: Finding) -> Diagnostic:
    start, end = source.places(unit, finding.span)
    first = max(start.line - CONTEXT, 1)
    return Diagnostic(
        finding.code,
        finding.name,
        finding.message,
        source.path,
        start,
        end,
        finding.norm,
        source.lines(start.cell, first, end.line + CONTEXT),
        first,
        None if finding.fix is None else _placed(source, unit, finding.fix),
    )


def _placed(source: Source, unit: Unit, fix: Fix) -> PlacedFix:
    edits = (PlacedEdit(*source.places(unit, edit.span), edit.text) for edit in fix.edits)
    return PlacedFix(fix.applicability, fix.message, tuple(edits))


def _listed(source: Source, unit: Unit, norm: Norm) -> ListedNorm:
    place = source.place(*unit.origin(norm.span.start))
    return ListedNorm(source.path, place, norm.kind, norm.qualname, norm.spine)
