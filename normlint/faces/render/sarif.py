"""Render a report as SARIF 2.1.0 for code scanning: rules with their pages, results with regions and fixes."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from normlint import __version__
from normlint.engine.report import Diagnostic, Failure, PlacedEdit, PlacedFix, Report
from normlint.faces.render import Display, from_here
from normlint.faces.render.json import fingerprints, verdict_as_dict
from normlint.faces.render.verdicts import message_on_file
from normlint.faces.rules import all_rules, page_of
from normlint.text.finding import ERROR, REVIEW, WARNING

if TYPE_CHECKING:
    from normlint.rules.registry import Rule
    from normlint.text.source import Place

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
HOME: Final = "https://normlint.readthedocs.io/"
LEVELS: Final = {ERROR: "error", WARNING: "warning", REVIEW: "note"}
PROBLEMS: Final = {ERROR: "error", WARNING: "warning", REVIEW: "recommendation"}  # GitHub's levels
_DRIVE: Final = re.compile("/[A-Za-z]:/")


def render(report: Report, _: Display) -> str:
    """Return the SARIF document with one run."""
    rules = all_rules()
    index = {rule.code: at for at, rule in enumerate(rules)}
    names = fingerprints(report.findings)
    run = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "invocations": [_invocation(report.errors)],
        "results": [_result(one, name, index) for one, name in zip(report.findings, names, strict=True)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(rules: list[Rule]) -> dict[str, Any]:
    return {
        "name": "normlint",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": " ".join(rule.doc.partition("\n```")[0].split())},
        "help": {"text": page_of(rule), "markdown": page_of(rule)},
        "helpUri": rule.url,
        "defaultConfiguration": {"enabled": rule.default, "level": LEVELS[rule.severity]},
        "properties": {
            "tags": ["correctness", "normalization"],
            "problem.severity": PROBLEMS[rule.severity],
            "precision": "high",
        },
    }


def _result(finding: Diagnostic, fingerprint: str, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": message_on_file(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {"normlint/v1": fingerprint},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    properties = _properties(finding)
    if properties:
        result["properties"] = properties
    if finding.fix is not None and finding.start.cell is None:
        result["fixes"] = [_fix(finding.path, finding.fix)]
    return result


def _location(finding: Diagnostic) -> dict[str, Any]:
    """Return the finding's location; one in a notebook cell is on line 1, since the file's lines are JSON."""
    in_cell = finding.start.cell is not None
    physical = {
        "artifactLocation": {"uri": uri(finding.path)},
        "region": {"startLine": 1} if in_cell else _region(finding.start, finding.end),
    }
    logical = [{"fullyQualifiedName": finding.norm, "kind": "function"}] if finding.norm else []
    return {"physicalLocation": physical, "logicalLocations": logical}


def _properties(finding: Diagnostic) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if finding.start.cell is not None:
        properties["cell"] = finding.start.cell
    if finding.verdict is not None:
        properties["verdict"] = verdict_as_dict(finding.verdict)
    return properties


def _fix(path: str, fix: PlacedFix) -> dict[str, Any]:
    changes = [_replacement(edit) for edit in fix.edits]
    return {
        "description": {"text": fix.message},
        "artifactChanges": [{"artifactLocation": {"uri": uri(path)}, "replacements": changes}],
        "properties": {"applicability": fix.applicability.value},
    }


def _replacement(edit: PlacedEdit) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.text}}


def _region(start: Place, end: Place) -> dict[str, int]:
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _invocation(errors: tuple[Failure, ...]) -> dict[str, Any]:
    notes = [_notification(error) for error in errors]
    return {"executionSuccessful": not errors, "toolExecutionNotifications": notes}


def _notification(error: Failure) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri(error.path)}}
    if error.line is not None:
        place["region"] = {"startLine": max(error.line, 1)}
    return {"level": "error", "message": {"text": error.message}, "locations": [{"physicalLocation": place}]}


def uri(path: str) -> str:
    """Return a path as a URI relative to the working directory, or as a `file:` URI if it lies elsewhere."""
    shown = from_here(path)
    slashed = shown.replace(os.sep, "/")
    absolute = os.path.isabs(shown)
    whole = f"/{slashed}" if absolute and not slashed.startswith("/") else slashed
    drive = whole[:3] if _DRIVE.match(whole) else ""  # its colon is part of the URI
    quoted = drive + quote(whole[len(drive) :].encode("utf-8", "surrogateescape"), safe="/~")
    return f"file://{quoted}" if absolute else quoted
