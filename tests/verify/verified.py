"""From a file to the verdicts of its norms, as `--verify` goes, without the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from normlint.norm.norm import Norm
from normlint.rules import analyse
from normlint.text.read import read, units_of
from normlint.text.source import Source, Unit
from normlint.text.verdict import Verdict
from normlint.verify.guard.run import Verifier
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare


def jobs_of(path: Path, prepare: Callable[[Source, Unit, Norm], Job] = prepare) -> list[tuple[Norm, Job]]:
    """Each norm of a file, and the job that is made of it; a helper is run with its callers."""
    source = read(str(path))
    return [
        (norm, prepare(source, unit, norm))
        for unit in units_of(source)
        for norm in analyse(unit.text, snippet=unit.snippet).norms
        if not norm.helper
    ]


def verdicts_of(verifier: Verifier, jobs: Sequence[Job]) -> list[Verdict]:
    """The verdicts in the order of the jobs."""
    return in_order(verifier.verdicts(jobs), len(jobs))


def in_order(numbered: Iterable[tuple[int, Verdict]], count: int) -> list[Verdict]:
    """What came in any order; none may be missing."""
    by_number = dict(numbered)
    return [by_number[number] for number in range(count)]
