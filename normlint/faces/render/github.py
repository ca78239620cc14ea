"""Render a report as GitHub workflow commands, which annotate the lines of a pull request."""

from __future__ import annotations

from typing import Final

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import Display, harmless
from normlint.faces.render.verdicts import whole_line
from normlint.text.finding import ERROR, REVIEW, WARNING

COMMANDS: Final = {ERROR: "error", WARNING: "warning", REVIEW: "notice"}


def render(report: Report, _: Display) -> str:
    """Return one command (`::error` etc. by severity) per finding and per file that could not be linted."""
    findings = (_finding(finding) for finding in report.findings)
    errors = (_command(error.message, title="normlint", file=error.path, line=error.line) for error in report.errors)
    return "".join(f"{command}\n" for command in (*findings, *errors))


def _finding(finding: Diagnostic) -> str:
    message = whole_line(finding)
    title = f"normlint ({finding.code} {finding.name})"
    if finding.start.cell is not None:  # a line in a cell isn't a line of the file
        return _command(message, finding.severity, title=title, file=finding.path)
    same_line = finding.start.line == finding.end.line  # columns are only allowed within one line
    return _command(
        message,
        finding.severity,
        title=title,
        file=finding.path,
        line=finding.start.line,
        endLine=finding.end.line,
        col=finding.start.column if same_line else None,
        endColumn=finding.end.column if same_line else None,
    )


def _command(message: str, severity: str = ERROR, **properties: str | int | None) -> str:
    settings = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"::{COMMANDS[severity]} {settings}::{_data(message)}"


def _data(text: str) -> str:
    return harmless(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
