"""Render a report as a GitLab code quality report."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import Display, from_here
from normlint.faces.render.json import fingerprints
from normlint.faces.render.verdicts import message_on_file
from normlint.text.finding import ERROR, REVIEW, WARNING

SEVERITY: Final = {ERROR: "major", WARNING: "minor", REVIEW: "info"}


def render(report: Report, _: Display) -> str:
    """Return the findings as a list of issues; files that could not be linted are left out."""
    names = fingerprints(report.findings)
    issues = [_issue(finding, name) for finding, name in zip(report.findings, names, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Diagnostic, fingerprint: str) -> dict[str, Any]:
    return {
        "description": f"{finding.code}: {message_on_file(finding)}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": SEVERITY[finding.severity],
        "location": {
            "path": from_here(finding.path).replace(os.sep, "/"),
            "positions": _positions(finding),
        },
    }


def _positions(finding: Diagnostic) -> dict[str, dict[str, int]]:
    """Return the start and end in the file's text; a finding in a notebook cell is put on the first line."""
    if finding.start.cell is not None:
        return {"begin": {"line": 1, "column": 1}, "end": {"line": 1, "column": 1}}
    return {
        "begin": {"line": finding.start.line, "column": finding.start.column},
        "end": {"line": finding.end.line, "column": finding.end.column},
    }
