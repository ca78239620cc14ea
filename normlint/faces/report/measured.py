"""What pictures need: norms that are run with all that is drawn of them, and run again as their fixes make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from normlint.engine.fix import fix_bytes, fix_path
from normlint.engine.linter import Demand
from normlint.engine.report import Failure, Report
from normlint.engine.settings import ConfigError
from normlint.engine.wish import Fixed, Key, Wish
from normlint.text.finding import Applicability
from normlint.text.source import Source, Unit
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare, prepare_rewritten

if TYPE_CHECKING:
    from normlint.faces.targets import Targets
    from normlint.faces.verifying import Bench
    from normlint.norm.norm import Norm

_MADE: Final = (Applicability.SAFE, Applicability.UNSAFE)


def need_matplotlib() -> None:
    """ConfigError where there is nothing to draw with: it is said before norms are run."""
    if find_spec("matplotlib") is None:
        raise ConfigError("the pictures of --report --verify need matplotlib: python -m pip install 'normlint[report]'")


def drawing(demand: Demand) -> Demand:
    """The same, and each norm made ready to be run and drawn."""
    return replace(demand, prepare=prepare_swept)


def prepare_swept(source: Source, unit: Unit, norm: Norm) -> Job:
    """What to run to draw a norm."""
    return prepare(source, unit, norm).swept


def prepare_rewritten_swept(source: Source, unit: Unit, norm: Norm, old: Unit) -> Job:
    """The same where a fix has made another thing of it."""
    return prepare_rewritten(source, unit, norm, old).swept


def with_mended(report: Report, chosen: Targets, bench: Bench) -> Report:
    """The report with what each norm is once it is mended, unsafe fixes among them; files stay as they are."""
    wanted = {one.path for one in report.findings if one.fix and one.fix.applicability in _MADE}
    tasks = [task for task in chosen.tasks if task[0] in wanted]
    jobs = {at: job for task in tasks for at, job in _mended_jobs(task, chosen.data, report)}
    verdicts = dict(zip(jobs, bench.verdicts(list(jobs.values())), strict=True))
    norms = (replace(norm, mended=verdicts.get((norm.path, norm.number))) for norm in report.norms)
    return replace(report, norms=tuple(norms))


def _mended_jobs(task: tuple[str, Demand], data: bytes | None, report: Report) -> Iterator[tuple[tuple[str, int], Job]]:
    """By the norm's path and number: the one of the same name that stands where it stood."""
    path, demand = task
    wish = Wish(replace(drawing(demand), safety=replace(demand.safety, unsafe=True)), again=prepare_rewritten_swept)
    fixed = fix_path(path, wish) if data is None else fix_bytes(path, data, wish)
    if isinstance(fixed, Failure) or not fixed.changed:
        return
    for key in fixed.touched:
        before = [norm for norm in report.norms if norm.path == path and (norm.unit, norm.qualname) == key]
        after = _jobs(fixed, key)
        if len(before) != len(after):
            continue  # it can't be said which is which
        for norm, job in zip(before, after, strict=True):
            if job is not None and (norm.pending is None or norm.pending.job.key != job.key):
                yield (path, norm.number), job


def _jobs(fixed: Fixed, key: Key) -> list[Job | None]:
    norms = [norm for norm in fixed.report.norms if (norm.unit, norm.qualname) == key]
    found: list[Job | None] = [norm.pending.job if norm.pending else None for norm in norms]
    return found or [job for other, job in fixed.rewritten if other == key]
