"""`--report`: one HTML page with everything, for people to look at."""

from __future__ import annotations

from normlint.engine.report import ListedNorm, Report
from normlint.engine.settings import ConfigError
from normlint.faces.report.extent import Runs, definitions, runs
from normlint.faces.report.page import page, parts
from normlint.faces.targets import Targets
from normlint.text.raw import BadSourceError, read_bytes, reason
from normlint.text.read import decode, units_of
from normlint.text.source import Source


def write_report(file: str, report: Report, chosen: Targets) -> None:
    """The page on the findings and norms of the files that were chosen."""
    text = html(report, chosen)
    try:
        with open(file, "wb") as out:
            out.write(text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--report {file}: {reason(error)}") from None


def html(report: Report, chosen: Targets) -> str:
    """The page as text."""
    shown: dict[tuple[str, int], Runs] = {}
    for part in parts(report):
        source = _source(part.path, chosen.data)
        if source is None:
            continue
        known = [definitions(source, unit) for unit in units_of(source)]
        for norm, found in part.norms:
            if norm.unit < len(known) and _is_there(source, norm):
                shown[part.path, norm.number] = runs(source, norm, found, known[norm.unit])
    return page(report, shown, len(chosen.paths))


def _source(path: str, data: bytes | None) -> Source | None:
    """What was linted, as far as it can be read once more."""
    try:
        return decode(path, read_bytes(path) if data is None else data)
    except BadSourceError:
        return None


def _is_there(source: Source, norm: ListedNorm) -> bool:
    """The file may have been changed in the meantime."""
    return norm.place.cell is None or norm.place.cell in dict(source.cells)
