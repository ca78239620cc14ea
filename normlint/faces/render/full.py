"""Render findings like ruff's full format: place, message, code with carets under the expression, notes and fix."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from normlint.engine.report import Diagnostic, PlacedFix, Report
from normlint.engine.selection import known_rules
from normlint.faces.render import Display, Style, harmless, verdicts
from normlint.faces.render.concise import closing, header
from normlint.text.finding import SEVERITIES, Applicability

_TAB: Final = 4
_WIDEST: Final = 160
_BEFORE: Final = 60
_MOST_LINES: Final = 6


def render(report: Report, display: Display) -> str:
    """Return each finding with its frame, separated by blank lines, the failed verdicts and the closing lines."""
    style = Style(display.colour)
    proofs = _proofs(report.findings)
    firsts = {(one.path, one.norms): id(one) for one in reversed(report.findings)}.values()
    blocks = [
        f"{header(one, style)}\n{frame(one, style, proof=id(one) in proofs, reads=id(one) in firsts)}\n"
        for one in report.findings
    ]
    rest = list(verdicts.lines(report, style, lambda _: True))
    rest += [""] if rest else []
    return "".join(f"{line}\n" for line in (*blocks, *rest, *closing(report, display)))


def _proofs(findings: tuple[Diagnostic, ...]) -> set[int]:
    """Return the ids of the findings that show their norm's verdict: the first of the most severe in each norm."""
    best: dict[tuple[str, int], Diagnostic] = {}
    for one in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        for number in one.norms or (-1,):
            best.setdefault((one.path, number), one)
    return {id(one) for one in best.values()}


def frame(finding: Diagnostic, style: Style, *, proof: bool, reads: bool) -> str:
    """Return the lines around the finding, its notes and its fix; the middle of a long expression is left out."""
    last = finding.excerpt_start + len(finding.excerpt) - 1
    width = len(str(last))
    bar = style.dim("|")
    out = [f"{'':{width}} {bar}"]
    skipped = False
    for number, line in enumerate(finding.excerpt, finding.excerpt_start):
        if _in_the_middle(finding, number):
            if not skipped:
                out.append(style.dim("..."))
            skipped = True
            continue
        shown, marks = _marked(finding, number, line)
        out.append(f"{style.dim(f'{number:{width}} |')} {shown}".rstrip())
        if marks:
            name = f" {finding.code}" if number == finding.end.line else ""
            out.append(f"{'':{width}} {bar} {style.grade(marks + name, finding.severity)}")
    out.append(f"{'':{width}} {bar}")
    out += [f"{'':{width}} {style.dim('=')} {note}" for note in _notes(finding, proof=proof, reads=reads)]
    if finding.fix is not None:
        out += _fix_lines(finding.fix, width, style)
    return "\n".join(out)


def _notes(finding: Diagnostic, *, proof: bool, reads: bool) -> list[str]:
    notes = [f"{finding.name} ({finding.severity}): {finding.consequence}".removesuffix(": ")]
    if finding.evidence:
        notes.append(harmless(finding.evidence))
    if reads and finding.reads:
        notes.append(f"the norm: {harmless(finding.reads)}")
    if proof and finding.verdict is not None:
        notes.append(f"verify (whole norm): {harmless(verdicts.brief(finding))}")
    if finding.fix is not None:
        notes.append(f"help: {harmless(finding.fix.message)}{_applicability_text(finding.fix)}")
    elif rule := known_rules().get(finding.code):
        advice = rule.instead or "no fix is made here"
        notes.append(f"help: {advice} (`normlint rule {finding.code}` shows wrong and right)")
    return notes


def _applicability_text(fix: PlacedFix) -> str:
    if fix.applicability is Applicability.UNSAFE:
        return " (unsafe)" if fix.made else " (unsafe: with --unsafe-fixes)"
    return " (shown only)" if fix.applicability is Applicability.DISPLAY else ""


def _fix_lines(fix: PlacedFix, width: int, style: Style) -> Iterator[str]:
    """Yield the lines that the fix changes, before (with their numbers) and after."""
    yield f"{'':{width}} {style.dim('|')}"
    end = fix.hunks[0].line if fix.hunks else 0
    for hunk in fix.hunks:
        if hunk.line > end:
            yield style.dim("...")
        end = hunk.line + len(hunk.old)
        if hunk.above:
            yield style.dim(f"{hunk.line - 1:{width}}   {_cut(hunk.above)}".rstrip())
        for number, line in enumerate(hunk.old, hunk.line):
            yield f"{style.dim(f'{number:{width}}')} {style.gone(f'- {_cut(line)}'.rstrip())}"
        for line in hunk.new:
            yield f"{'':{width}} {style.new(f'+ {_cut(line)}'.rstrip())}"
    yield f"{'':{width}} {style.dim('|')}"


def _cut(line: str) -> str:
    shown = harmless(_with_tabs_expanded(line))
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"


def _in_the_middle(finding: Diagnostic, number: int) -> bool:
    first, last = finding.start.line, finding.end.line
    return last - first >= _MOST_LINES and first + 2 < number < last - 1


def _marked(finding: Diagnostic, number: int, line: str) -> tuple[str, str]:
    """Return the line as shown and the carets below it; a very long line is cut to the part around the finding."""
    start, end = _columns(finding, number, line)
    if len(line) > _WIDEST:
        cut = max(start - _BEFORE, 0)
        line, start, end = line[cut : cut + _WIDEST], start - cut, min(end - cut, _WIDEST)
    shown = harmless(_with_tabs_expanded(line))
    if start >= end:
        return shown, ""
    before = _width(line[:start])
    return shown, " " * before + "^" * max(_width(line[:end]) - before, 1)


def _columns(finding: Diagnostic, number: int, line: str) -> tuple[int, int]:
    """Return the start and end column, from 0, of the finding in this line, without the indent of its later lines."""
    if not finding.start.line <= number <= finding.end.line:
        return 0, 0
    first = finding.start.column - 1 if number == finding.start.line else len(line) - len(line.lstrip())
    last = finding.end.column - 1 if number == finding.end.line else len(line.rstrip())
    return first, max(last, first + 1) if number == finding.start.line else last


def _with_tabs_expanded(line: str) -> str:
    return line.replace("\t", " " * _TAB)


def _width(text: str) -> int:
    """Return the width of the text in terminal cells."""
    return sum(map(_character_width, harmless(text)))


def _character_width(character: str) -> int:
    if character == "\t":
        return _TAB
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
