"""The answer to a run that has nothing to read: every file is as an earlier run has left it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from normlint.engine.cache import Known
from normlint.engine.report import merged
from normlint.engine.stored import restored
from normlint.faces.ending import FOUND, prepare_streams
from normlint.faces.render import View, render
from normlint.faces.render.style import wants_colour


def recalled(known: Sequence[tuple[str, Known]], output_format: str, paths: tuple[str, ...]) -> int | None:
    """Write the report on the files with findings; the exit status, None if what is known is no report."""
    reports = [restored(path, one, norms=False) for path, one in known]
    whole = [report for report in reports if report is not None]
    if len(whole) < len(reports):
        return None
    prepare_streams()
    sys.stdout.write(render(merged(whole), output_format, View(wants_colour(sys.stdout), paths)))
    return FOUND
