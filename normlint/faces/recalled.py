"""The answer to a run that has nothing to read: every file is as an earlier run has left it."""

from __future__ import annotations

from collections.abc import Sequence

from normlint.engine.cache import Known
from normlint.engine.report import merged
from normlint.engine.stored import restored
from normlint.faces.render import View, render


def recalled(
    known: Sequence[tuple[str, Known]], output_format: str, paths: tuple[str, ...], *, coloured: bool
) -> str | None:
    """The report on the files with findings; None if what is known is no report."""
    reports = [restored(path, one, norms=False) for path, one in known]
    whole = [report for report in reports if report is not None]
    return render(merged(whole), output_format, View(coloured, paths)) if len(whole) == len(reports) else None
