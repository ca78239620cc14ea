"""Run the recognised norms (`--verify`) and add their verdicts to the report."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from normlint.engine.discovery import path_order
from normlint.engine.fix import FixRequest, fix_file
from normlint.engine.report import Diagnostic, Failure, ListedNorm, Report
from normlint.engine.selection import Demand
from normlint.engine.settings import ConfigError
from normlint.faces.options import TIMEOUT
from normlint.faces.terminal import watched
from normlint.rules.registry import RULES
from normlint.rules.runtime import Outcome
from normlint.text.verdict import INTERNAL, WEIGHT, Verdict
from normlint.verify.guard.run import Verifier, VerifierError
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare, prepare_rewritten, prepare_to_execute

if TYPE_CHECKING:
    from normlint.faces.options import Targets

EXECUTES: Final = "normlint: --verify=import imports the files that hold norms: their code is executed\n"
Answers = Iterable[tuple[int, Verdict]]


class CachedVerifier:
    """A verifier that stores its verdicts, so that no job is run twice."""

    def __init__(self, verifier: Verifier, *, sweep: bool = False) -> None:
        self._verifier, self._sweep = verifier, sweep  # `sweep`: also measure the curves that a report draws
        self._known: dict[Job, Verdict] = {}

    def verdicts(self, jobs: Sequence[Job]) -> list[Verdict]:
        """Return the verdict on each job, in order."""
        jobs = [replace(job, sweep=self._sweep) for job in jobs]
        new = list({job.key: job for job in jobs if job.key not in self._known}.values())
        for at, verdict in watched(self._verifier.verdicts(new), len(new), "Verifying"):
            self._known[new[at].key] = _in_one_line(verdict)
        return [self._known[job.key] for job in jobs]

    def verified(self, report: Report) -> Report:
        """Return the report with the verdicts on its norms and findings."""
        jobs = [norm.pending.job for norm in report.norms if norm.pending is not None]
        answers = enumerate(self.verdicts(jobs))
        return verified(report, answers, self._verifier.torch_version if jobs else "")


@contextmanager
def verifying(
    device: str | None, timeout: float | None, *, execute: bool = False, sweep: bool = False
) -> Iterator[CachedVerifier]:
    """Return a context manager with a verifier, which imports torch in another process while this one continues."""
    if execute:
        sys.stderr.write(EXECUTES)
    try:
        with Verifier(device or "cpu", timeout or TIMEOUT, execute=execute) as verifier:
            yield CachedVerifier(verifier, sweep=sweep)
    except VerifierError as error:
        raise ConfigError(str(error)) from None


def preparing(demand: Demand, *, execute: bool = False) -> Demand:
    """Return the demand with the job to run each norm prepared."""
    return replace(demand, prepare=prepare_to_execute if execute else prepare)


def proving(request: FixRequest) -> FixRequest:
    """Return the request with the job to run each norm prepared, also of those replaced with something else."""
    return replace(request, demand=preparing(request.demand), prepare_rewritten=prepare_rewritten)


def verified(report: Report, answers: Answers, torch: str) -> Report:
    """Return the report with the verdict on each norm and its findings, and with the runtime findings.

    `answers`: the verdicts on the pending norms, by their index among these, in any order. `torch`: its version.
    """
    pending = [norm for norm in report.norms if norm.pending is not None]
    verdicts = {pending[at].key: _in_one_line(verdict) for at, verdict in answers}
    norms = tuple(replace(norm, verdict=verdicts.get(norm.key)) for norm in report.norms)
    known = (replace(one, verdict=_of_finding(one, verdicts)) for one in report.findings)
    new = (finding for norm in norms for finding in _runtime_findings(norm))
    findings = sorted((*known, *new), key=lambda one: (path_order(one.path), _place(one)))
    notes = (note for norm in norms for note in _mistakes(norm))
    return replace(report, findings=tuple(findings), norms=norms, torch=torch, notes=(*report.notes, *notes))


def _mistakes(norm: ListedNorm) -> Iterator[Failure]:
    """Yield the error for a norm on which the verifier itself failed."""
    if norm.verdict is not None and norm.verdict.reason.startswith(INTERNAL):
        yield Failure(norm.path, norm.place.line, f"{norm.qualname}: {norm.verdict.reason}", internal=True)


def _in_one_line(verdict: Verdict) -> Verdict:
    """Return the verdict with its reason in one line, since it may quote an exception of the user's code."""
    return replace(verdict, reason=" ".join(verdict.reason.split()))


def _of_finding(finding: Diagnostic, verdicts: dict[tuple[str, int], Verdict]) -> Verdict | None:
    """Return the worst verdict on the norms that share the finding."""
    found = [verdicts[finding.path, number] for number in finding.norms if (finding.path, number) in verdicts]
    return max(found, key=lambda verdict: WEIGHT[verdict.status], default=None)


def _runtime_findings(norm: ListedNorm) -> Iterator[Diagnostic]:
    if norm.pending is None or norm.verdict is None:
        return
    outcome = Outcome(norm.verdict, norm.pending.explained)
    for code in norm.pending.wanted:
        rule = RULES[code]
        message = rule.check_run(outcome) if rule.check_run else ""
        if message:
            finding = replace(norm.pending.spot, code=code, name=rule.name, message=message, severity=rule.severity)
            yield replace(finding, verdict=norm.verdict)


def _place(finding: Diagnostic) -> tuple[int, int, int, str]:
    return finding.start.cell or 0, finding.start.line, finding.start.column, finding.code


def with_repairs(report: Report, chosen: Targets, verifier: CachedVerifier | None = None) -> Report:
    """Return the report with what each norm computes after its fixes, also unsafe ones, and its verdict if run.

    The fixes are made in memory; the files are not changed.
    """
    wanted = {one.path for one in report.findings if one.fix}
    tasks = [task for task in chosen.tasks if task[0] in wanted]
    found = [one for task in tasks for one in _repairs(task, chosen.data, report, run=verifier is not None)]
    sentences = {norm.key: sentence for norm, sentence, _ in found}
    jobs = {norm.key: job for norm, _, job in found if job is not None}
    verdicts = dict(zip(jobs, verifier.verdicts(list(jobs.values())), strict=True)) if verifier else {}
    norms = (
        replace(one, fixed_verdict=verdicts.get(one.key), fixed_sentence=sentences.get(one.key, ""))
        for one in report.norms
    )
    return replace(report, norms=tuple(norms))


def _repairs(
    task: tuple[str, Demand], data: bytes | None, report: Report, *, run: bool
) -> Iterator[tuple[ListedNorm, str, Job | None]]:
    """Yield each norm that a fix changes, its sentence after the fix, and with `run` its job if that is a new one."""
    path, demand = task
    every = FixRequest(replace(demand, unsafe=True))
    fixed = fix_file(path, proving(every) if run else every, data)
    if isinstance(fixed, Failure):
        return
    for name in fixed.touched:
        old, new = (
            [norm for norm in norms if (norm.path, norm.unit, norm.qualname) == (path, *name)]
            for norms in (report.norms, fixed.report.norms)
        )
        ready = [norm.pending.job if norm.pending else None for norm in new]
        ready = ready or [job for other, job in fixed.rewritten if other == name]
        for at, norm in enumerate(old):  # if the numbers differ, they can't be matched
            sentence = new[at].sentence if len(new) == len(old) else ""
            job = ready[at] if len(ready) == len(old) else None
            same = norm.pending is not None and job is not None and norm.pending.job.key == job.key
            yield norm, sentence, None if same else job
