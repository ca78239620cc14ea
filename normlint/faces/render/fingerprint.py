"""Names for findings that stay the same when lines move, for services that follow a finding over commits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from normlint.engine.report import Diagnostic
from normlint.faces.render import from_here


def fingerprints(findings: Iterable[Diagnostic]) -> list[str]:
    """One for each finding, each different: of equal ones the second and later are counted."""
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for finding in findings:
        key = (from_here(finding.path), str(finding.start.cell), finding.code, finding.norm, finding.line_text)
        seen[key] += 1
        names.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass")).hexdigest())
    return names
