"""One JSON object with everything: findings, norms, errors."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from normlint import __version__
from normlint.engine.report import Diagnostic, Failure, ListedNorm, PlacedEdit, PlacedFix, Report, Unread
from normlint.faces.render import Display, from_here
from normlint.faces.rules import url_of
from normlint.text.verdict import Probe, Verdict


def render(report: Report, display: Display) -> str:
    """Lines and columns count from 1, columns in characters."""
    document = {
        "version": __version__,
        "findings": [_finding(finding) for finding in report.findings],
        "norms": [_norm(norm) for norm in report.norms],
        "unread": [_unread(one) for one in report.unread],
        "errors": [_error(error) for error in report.errors],
        "files": len(display.paths),
        "skipped": list(report.skipped),
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Diagnostic) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": finding.path,
        "cell": finding.start.cell,
        "line": finding.start.line,
        "column": finding.start.column,
        "end_line": finding.end.line,
        "end_column": finding.end.column,
        "norm": finding.norm,
        "url": url_of(finding.code),
        "severity": finding.severity,
        "fix": finding.fix and _fix(finding.fix),
        "verdict": finding.verdict and verdict_as_dict(finding.verdict),
    }


def _fix(fix: PlacedFix) -> dict[str, Any]:
    edits = [_edit(edit) for edit in fix.edits]
    return {"applicability": fix.applicability.value, "message": fix.message, "edits": edits}


def _edit(edit: PlacedEdit) -> dict[str, Any]:
    placed = {
        "line": edit.start.line,
        "column": edit.start.column,
        "end_line": edit.end.line,
        "end_column": edit.end.column,
        "content": edit.text,
    }
    return placed if edit.start.cell is None else {"cell": edit.start.cell, **placed}


def _norm(norm: ListedNorm) -> dict[str, Any]:
    return {
        "path": norm.path,
        "cell": norm.place.cell,
        "qualname": norm.qualname,
        "line": norm.place.line,
        "kind": norm.kind,
        "sentence": norm.sentence,
        "spine": norm.spine,
        "verdict": norm.verdict and verdict_as_dict(norm.verdict),
    }


def _unread(one: Unread) -> dict[str, Any]:
    return {"path": one.path, "cell": one.place.cell, "qualname": one.qualname, "line": one.place.line}


def verdict_as_dict(verdict: Verdict) -> dict[str, Any]:
    """What running the norm showed. Eps that weren't found are null."""
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "device": verdict.device,
        "effective_eps": _number(verdict.effective_eps),
        "given_eps": _number(verdict.given_eps),
        "eps_form": verdict.eps_form,
        "worst": verdict.worst and _probe(verdict.worst),
        "probes": [_probe(probe) for probe in verdict.probes],
    }


def _probe(probe: Probe) -> dict[str, Any]:
    error, limit = _number(probe.error), _number(probe.limit)
    return {"probe": probe.probe, "dtype": probe.dtype, "error": error, "limit": limit, "message": probe.message}


def _number(value: float | None) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


def _error(error: Failure) -> dict[str, Any]:
    return {"path": error.path, "line": error.line, "message": error.message}


def fingerprints(findings: Iterable[Diagnostic]) -> list[str]:
    """A name for each finding that stays when lines move, each different: of equal ones the later ones are counted."""
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for finding in findings:
        key = (from_here(finding.path), str(finding.start.cell), finding.code, finding.norm, finding.line_text)
        seen[key] += 1
        names.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass")).hexdigest())
    return names
