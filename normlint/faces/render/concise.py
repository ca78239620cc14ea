"""Render a report as one line per finding, with closing lines that count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import Display, Style, harmless, verdicts
from normlint.faces.terminal import counted, passed, scope
from normlint.text.finding import SEVERITIES, Applicability


def render(report: Report, display: Display) -> str:
    """Return a line `path:line:column: CODE message` for each finding, the failed verdicts and the closing lines."""
    style = Style(display.colour)
    lines = [header(finding, style) for finding in report.findings]
    lines += verdicts.lines(report, style, lambda finding: finding.code.startswith(verdicts.RUNTIME))
    return "".join(f"{line}\n" for line in (*lines, *closing(report, display)))


def header(finding: Diagnostic, style: Style) -> str:
    """Return `path:line:column: CODE [*] message`; `[*]` if `--fix` fixes the finding."""
    where = style.located(finding.path, finding.start)
    mark = f" [{style.dim('*')}]" if finding.fix is not None and finding.fix.made else ""
    return f"{where} {style.grade(finding.code, finding.severity)}{mark} {harmless(finding.message)}"


def closing(report: Report, display: Display, *, would: bool = False) -> list[str]:
    """Return the closing lines: what was checked, how many findings there are, were or would be fixed, are fixable."""
    if display.quiet:
        return []
    looked = looked_at(report, display)
    if display.remaining and not (report.findings or report.fixed or report.errors):
        return [passed(looked), *verdicts.closing(report)]
    text = _counted(report) if report.fixed is None else _fixed(report.fixed, report, would)
    text = text if display.remaining else f"{text.partition(';')[0]}."
    checked = [f"Checked {looked}."] if display.paths else []
    fixable = _fixable(report) if report.fixed is None else []
    return [*checked, text, *fixable, *verdicts.closing(report)]


def looked_at(report: Report, display: Display) -> str:
    """Return how many norms and files a report is about: `2 norms in 3 files`."""
    unread = {error.path for error in report.errors}.intersection(display.paths)
    looked = scope(report.norm_count, len(display.paths), len(report.skipped), len(unread))
    callers_alone = (report.findings or report.fixed) and not report.norm_count
    return looked.replace("0 norms", "uses of norms", 1) if callers_alone else looked


def _counted(report: Report) -> str:
    counts = by_severity(report.findings)
    return f"Found {counts}." if counts else "Found nothing in what could be read."


def by_severity(findings: Iterable[Diagnostic]) -> str:
    """Return the number of findings of each severity: `2 errors and 1 warning`; "" for no findings."""
    counts = Counter(one.severity for one in findings)
    *first, last = [counted(counts[each], each) for each in SEVERITIES if counts[each]] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _fixable(report: Report) -> list[str]:
    """Return `[*] 2 fixable with --fix (1 more with --unsafe-fixes; …).`; empty if there are no fixes."""
    safe, more = made(report.findings), unsafe(report.findings)
    risk = "first check if a model was trained with this code"
    if safe:
        return [f"[*] {safe} fixable with --fix{f' ({more} more with --unsafe-fixes; {risk})' if more else ''}."]
    return [f"No safe fixes ({more} with --fix --unsafe-fixes; {risk})."] if more else []


def _fixed(fixed: Sequence[Diagnostic], report: Report, would: bool) -> str:
    """Return `Fixed 3 findings in 2 files (NRM101 × 2, NRM302); 1 remains.`"""
    left, more = len(report.findings), unsafe(report.findings)
    by_code = sorted(Counter(one.code for one in fixed).items())
    codes = ", ".join(code if count == 1 else f"{code} × {count}" for code, count in by_code)
    files = len({one.path for one in fixed})
    what = f"{counted(len(fixed), 'finding')} in {counted(files, 'file')} ({codes})" if fixed else "nothing"
    verb, remain = ("Would fix", "would remain") if would else ("Fixed", f"remain{'s' if left == 1 else ''}")
    rest = f"; {more} can be fixed with --unsafe-fixes" if more else ""
    return f"{verb} {what}; {left or 'none'} {remain}{rest}."


def made(findings: Iterable[Diagnostic]) -> int:
    """Count the findings that `--fix` fixes."""
    return sum(one.fix is not None and one.fix.made for one in findings)


def unsafe(findings: Iterable[Diagnostic]) -> int:
    """Count the findings with unsafe fixes that weren't asked for."""
    others = (one.fix for one in findings if one.fix is not None and not one.fix.made)
    return sum(fix.applicability is Applicability.UNSAFE for fix in others)
