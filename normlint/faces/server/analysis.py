"""One document looked through: what stands in it, or why nothing is said of it. Nothing here knows the editor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from normlint.engine.fix import fix
from normlint.engine.linter import Demand, attempt, report_of, survey
from normlint.engine.report import Failure, Report
from normlint.engine.settings import Configs, Settings
from normlint.engine.wish import Fixed, Wish
from normlint.faces.server.documents import Document
from normlint.text.raw import BadSourceError
from normlint.text.read import refuse_huge


@dataclass(frozen=True, slots=True)
class Checked:
    """A document and what was found in it. `told`: what the user should hear of once, not in the text."""

    document: Document
    demand: Demand
    report: Report = field(default_factory=Report)
    told: tuple[str, ...] = ()


def check(document: Document, configs: Configs, folders: Sequence[str]) -> Checked:
    """The findings with their fixes, and the norms; nothing for what is excluded or doesn't parse just now."""
    path = document.source.path
    settings = configs.of(path)
    broken = tuple(str(error) for error in configs.errors.values())
    demand = settings.demand(path)
    if is_excluded(path, settings, folders):
        return Checked(document, demand, told=broken)
    report = look(document, demand)
    bugs = tuple(f"{path}: {error.message}" for error in report.errors if error.internal)
    return Checked(document, demand, report, broken + bugs)


def look(document: Document, demand: Demand) -> Report:
    """A report, whatever happens: where fixes can't be made there are findings without."""
    path = document.source.path
    done = attempt(path, lambda: _report(document, demand))
    if isinstance(done, Report):
        return done
    if not done.internal:
        return Report(errors=(done,))
    plain = attempt(path, lambda: _report(document, demand.plain))
    return replace(plain if isinstance(plain, Report) else Report(), errors=(done,))


def mended(checked: Checked) -> Fixed | None:
    """The document with all fixes made that the settings trust; None where they can't be."""
    source = checked.document.source
    done = attempt(source.path, lambda: fix(source, Wish(checked.demand)))
    return None if isinstance(done, Failure) else done


def is_excluded(path: str, settings: Settings, folders: Sequence[str]) -> bool:
    """Do the project's patterns keep it out, or does it belong to an installed package?"""
    path = os.path.abspath(path)
    tops = {os.path.abspath(top) for top in (settings.root, *folders)}
    chain = [path]
    while (above := os.path.dirname(chain[-1])) not in {*tops, chain[-1]}:
        chain.append(above)
    if above not in tops:
        return "site-packages" in path.split(os.sep)
    return any(settings.excludes(step) for step in chain)


def _report(document: Document, demand: Demand) -> Report:
    source = document.source
    if "\0" in source.text:
        raise BadSourceError("binary file: it holds NUL bytes")
    refuse_huge(source.text)
    return report_of(survey(source, demand))
