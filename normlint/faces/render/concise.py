"""One line a finding, and a closing line that counts them."""

from __future__ import annotations

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import View, verdicts
from normlint.faces.render.style import Style, harmless


def render(report: Report, view: View) -> str:
    """`path:line:column: CODE message`, as every editor reads it."""
    style = Style(view.colour)
    lines = [header(finding, style) for finding in report.findings]
    lines += verdicts.lines(report, style, lambda finding: finding.code.startswith(verdicts.RUNTIME))
    return "".join(f"{line}\n" for line in (*lines, closing(report), *verdicts.closing(report)))


def header(finding: Diagnostic, style: Style) -> str:
    """Where it is and what it says."""
    where = style.bold(finding.path) + style.dim(":" + place(finding) + ":")
    return f"{where} {style.alarm(finding.code)} {harmless(finding.message)}"


def closing(report: Report) -> str:
    """The last line: how many were found; files that failed are told apart on standard error."""
    count = len(report.findings)
    if count:
        return f"Found {count} error{'s' if count > 1 else ''}."
    if report.errors:
        return "Found nothing in the files that could be read."
    return "All checks passed!"


def place(finding: Diagnostic) -> str:
    """The cell, if there is one, the line and the column."""
    cell = f"cell {finding.start.cell}:" if finding.start.cell is not None else ""
    return f"{cell}{finding.start.line}:{finding.start.column}"
