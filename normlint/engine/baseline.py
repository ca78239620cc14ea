"""Baselines: findings that are known and accepted, told by file, rule, norm and line text, so that lines may move."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from normlint.engine.report import Diagnostic, Report
from normlint.engine.selection import ConfigError

VERSION: Final = 1
Key = tuple[str, int, str, str, str]
Baseline = Counter[Key]


def load(file: str) -> Baseline:
    """The accepted findings in a baseline file; ConfigError if it's none."""
    try:
        with open(file, encoding="utf-8") as opened:
            return Counter(dict(map(_entry, json.load(opened)["findings"])))
    except OSError as error:
        hint = "; write it with --write-baseline" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(f"baseline {file}: {error.strerror}{hint}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError(f"baseline {file}: not a baseline; write it again with --write-baseline") from None


def dump(findings: Iterable[Diagnostic], file: str) -> str:
    """The text of a baseline, to be stored as `file`, that accepts these findings."""
    counts = Counter(_key(finding, file) for finding in findings)
    names = ("path", "cell", "code", "norm", "line")
    entries = [dict(zip(names, key, strict=True)) | {"count": count} for key, count in sorted(counts.items())]
    return json.dumps({"version": VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def without(report: Report, baseline: Baseline, file: str) -> Report:
    """The report less what the baseline accepts; of equal findings as many as were counted, the first ones."""
    left = baseline.copy()
    findings = []
    for finding in report.findings:
        key = _key(finding, file)
        if left[key] > 0:
            left[key] -= 1
        else:
            findings.append(finding)
    return replace(report, findings=tuple(findings))


def _key(finding: Diagnostic, file: str) -> Key:
    """Paths are taken from the baseline's directory on, so that it holds wherever the command is run."""
    where = os.path.relpath(finding.path, os.path.dirname(os.path.abspath(file))).replace(os.sep, "/")
    return where, finding.start.cell or 0, finding.code, finding.norm, finding.line_text


def _entry(entry: Any) -> tuple[Key, int]:
    strings = [entry[name] for name in ("path", "code", "norm", "line")]
    cell, count = entry["cell"], entry["count"]
    if not all(isinstance(one, str) for one in strings) or not (isinstance(cell, int) and isinstance(count, int)):
        raise ValueError
    path, code, norm, line = strings
    return (path, cell, code, norm, line), count
