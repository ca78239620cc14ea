"""Baselines: accepted findings, identified by file, rule, norm and the line's text, so that lines may move."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from normlint.engine.report import Diagnostic, Report
from normlint.engine.settings import ConfigError

VERSION: Final = 1
Key = tuple[str, int, str, str, str]
Baseline = Counter[Key]


def load(file: str) -> Acceptance:
    """The accepted findings in a baseline file; ConfigError if it's none."""
    try:
        with open(file, encoding="utf-8") as opened:
            return Acceptance(Counter(dict(map(_entry, json.load(opened)["findings"]))), file)
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


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A baseline and the file it was read from, which its paths are relative to."""

    counts: Baseline
    file: str

    def left(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The findings that aren't accepted; of equal ones the first are accepted, as many as were counted."""
        counts = self.counts.copy()
        kept = []
        for finding in findings:
            key = _key(finding, self.file)
            if counts[key] > 0:
                counts[key] -= 1
            else:
                kept.append(finding)
        return tuple(kept)

    def without(self, report: Report) -> Report:
        """The report without the accepted findings."""
        return replace(report, findings=self.left(report.findings))


def _key(finding: Diagnostic, file: str) -> Key:
    """What identifies a finding. Its path is relative to the baseline's directory, not to the working directory."""
    where = os.path.relpath(finding.path, os.path.dirname(os.path.abspath(file))).replace(os.sep, "/")
    return where, finding.start.cell or 0, finding.code, finding.norm, finding.line_text


def _entry(entry: Any) -> tuple[Key, int]:
    """The key and the count of an entry of a baseline file; raises an exception if it is malformed."""
    strings = [entry[name] for name in ("path", "code", "norm", "line")]
    cell, count = entry["cell"], entry["count"]
    if not all(isinstance(one, str) for one in strings) or not (isinstance(cell, int) and isinstance(count, int)):
        raise ValueError
    path, code, norm, line = strings
    return (path, cell, code, norm, line), count
