"""GitLab's code quality report."""

from __future__ import annotations

import json
from typing import Any

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import View
from normlint.faces.render.fingerprint import fingerprints
from normlint.faces.render.verdicts import said


def render(report: Report, _: View) -> str:
    """A list of issues; files that could not be linted are none."""
    names = fingerprints(report.findings)
    issues = [_issue(finding, name) for finding, name in zip(report.findings, names, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Diagnostic, fingerprint: str) -> dict[str, Any]:
    return {
        "description": f"{finding.code}: {said(finding)}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": "major",
        "location": {
            "path": finding.path.replace("\\", "/"),
            "positions": {
                "begin": {"line": finding.start.line, "column": finding.start.column},
                "end": {"line": finding.end.line, "column": finding.end.column},
            },
        },
    }
