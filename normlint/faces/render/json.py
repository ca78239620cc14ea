"""Render a report as one JSON object with findings, norms and errors."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from normlint import __version__
from normlint.engine.report import Diagnostic, Failure, ListedNorm, Report, Unread
from normlint.faces.render import Display, from_here
from normlint.faces.rules import url_of
from normlint.text.verdict import Verdict
from normlint.values import Fix, finding_of


def render(report: Report, display: Display) -> str:
    """Return the JSON text; lines and columns count from 1, columns in characters."""
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
    flat = finding_of(finding, url_of(finding.code))
    verdict = finding.verdict and verdict_as_dict(finding.verdict)
    return asdict(replace(flat, fix=None)) | {"fix": flat.fix and _fix(flat.fix), "verdict": verdict}


def _fix(fix: Fix) -> dict[str, Any]:
    """Return the fix as a dict; its edits have a cell only in a notebook."""
    edits = [{name: value for name, value in asdict(edit).items() if value is not None} for edit in fix.edits]
    return {"applicability": fix.applicability.value, "message": fix.message, "edits": edits}


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
    """Return the verdict as a dict without its sweep; numbers that JSON doesn't have are None."""
    shown = asdict(replace(verdict, sweep=None))
    del shown["sweep"]
    return dict(_finite(shown))


def _finite(value: Any) -> Any:
    """Return the value with None for each infinite number and NaN, which JSON doesn't have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _error(error: Failure) -> dict[str, Any]:
    return {"path": error.path, "line": error.line, "message": error.message}


def fingerprints(findings: Iterable[Diagnostic]) -> list[str]:
    """Return a unique hash for each finding that stays the same when lines move; equal findings are numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for finding in findings:
        key = (from_here(finding.path), str(finding.start.cell), finding.code, finding.norm, finding.line_text)
        seen[key] += 1
        names.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass")).hexdigest())
    return names
