"""Read and write baselines: accepted findings, identified by file, rule, norm and line text, so that lines may move."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from normlint.engine.report import Diagnostic, Report, beyond
from normlint.engine.settings import ConfigError

VERSION: Final = 1
Key = tuple[str, int, str, str, str]
Baseline = Counter[Key]


def load(file: str) -> Acceptance:
    """Read a baseline file; ConfigError if it can't be read or is no baseline."""
    try:
        with open(file, encoding="utf-8") as opened:
            return Acceptance(Counter(dict(map(_entry, json.load(opened)["findings"]))), file)
    except OSError as error:
        hint = "; write it with --write-baseline" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(f"baseline {file}: {error.strerror}{hint}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError(f"baseline {file}: not a baseline; write it again with --write-baseline") from None


def dump(findings: Iterable[Diagnostic], file: str) -> str:
    """Return the text of a baseline that accepts these findings, to be written to `file`."""
    counts = Counter(_key(finding, file) for finding in findings)
    names = ("path", "cell", "code", "norm", "line")
    entries = [dict(zip(names, key, strict=True)) | {"count": count} for key, count in sorted(counts.items())]
    return json.dumps({"version": VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A baseline and the file it was read from, to whose directory its paths are relative."""

    counts: Baseline
    file: str

    def left(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that aren't accepted; of equal ones, the first are accepted up to their count."""
        return beyond(findings, self.counts, lambda finding: _key(finding, self.file))

    def without(self, report: Report) -> Report:
        """Return the report without the accepted findings."""
        return replace(report, findings=self.left(report.findings))


def _key(finding: Diagnostic, file: str) -> Key:
    """Return what identifies a finding; its path is relative to the baseline's directory."""
    where = os.path.relpath(finding.path, os.path.dirname(os.path.abspath(file))).replace(os.sep, "/")
    return where, finding.start.cell or 0, finding.code, finding.norm, finding.line_text


def _entry(entry: Any) -> tuple[Key, int]:
    """Return the key and the count of an entry of a baseline file; raise an exception if it is malformed."""
    strings = [entry[name] for name in ("path", "code", "norm", "line")]
    cell, count = entry["cell"], entry["count"]
    if not all(isinstance(one, str) for one in strings) or not (isinstance(cell, int) and isinstance(count, int)):
        raise ValueError
    path, code, norm, line = strings
    return (path, cell, code, norm, line), count
