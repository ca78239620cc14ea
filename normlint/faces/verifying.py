"""`--verify`: run the norms that were recognised, and put what they showed into the report."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from normlint.engine.linter import Demand
from normlint.engine.report import Diagnostic, Failure, ListedNorm, Report
from normlint.engine.settings import ConfigError
from normlint.engine.wish import Wish
from normlint.faces.progress import watched
from normlint.rules.registry import RULES
from normlint.rules.runtime import Outcome
from normlint.text.verdict import INTERNAL, MATCH, PRECISION, SKIPPED, WRONG, Verdict
from normlint.verify.guard.run import Verifier, VerifierError
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare, prepare_rewritten, prepare_to_execute

TIMEOUT: Final = 10.0
EXECUTES: Final = "normlint: --verify=import imports the files that hold norms: their code is executed\n"
WEIGHT: Final = {SKIPPED: 0, MATCH: 1, PRECISION: 2, WRONG: 3}
Answers = Iterable[tuple[int, Verdict]]
Key = tuple[str, int]


class Bench:
    """A verifier, and what it has said: nothing is run twice."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._known: dict[Job, Verdict] = {}

    def verdicts(self, jobs: Sequence[Job]) -> list[Verdict]:
        """The verdict on each job, in their order."""
        new = list({job.key: job for job in jobs if job.key not in self._known}.values())
        for at, verdict in watched(self._verifier.verdicts(new), len(new), "Verifying"):
            self._known[new[at].key] = _in_one_line(verdict)
        return [self._known[job.key] for job in jobs]

    def verified(self, report: Report) -> Report:
        """The report with the verdicts in it."""
        jobs = [norm.pending.job for norm in report.norms if norm.pending is not None]
        answers = enumerate(self.verdicts(jobs))
        return verified(report, answers, self._verifier.torch_version if jobs else "")


@contextmanager
def verifying(device: str | None, timeout: float | None, *, execute: bool = False) -> Iterator[Bench]:
    """What adds the verdicts to a report. Torch is imported in another process while this one goes on."""
    if execute:
        sys.stderr.write(EXECUTES)
    try:
        with Verifier(device or "auto", timeout or TIMEOUT, execute=execute) as verifier:
            yield Bench(verifier)
    except VerifierError as error:
        raise ConfigError(str(error)) from None


def preparing(demand: Demand, *, execute: bool = False) -> Demand:
    """The same, and each norm made ready to be run."""
    return replace(demand, prepare=prepare_to_execute if execute else prepare)


def proving(wish: Wish) -> Wish:
    """The same, and each norm made ready to be run, also one that a fix has made another thing."""
    return replace(wish, demand=preparing(wish.demand), again=prepare_rewritten)


def verified(report: Report, answers: Answers, torch: str) -> Report:
    """The report with the verdict on each norm, on the findings about it, and with what only running shows.

    `answers` are to the jobs of the norms that are to be run, by number, in any order; `torch` is the version that ran.
    """
    pending = [norm for norm in report.norms if norm.pending is not None]
    verdicts = {(pending[at].path, pending[at].number): _in_one_line(verdict) for at, verdict in answers}
    norms = tuple(replace(norm, verdict=verdicts.get((norm.path, norm.number))) for norm in report.norms)
    known = (replace(one, verdict=_of_finding(one, verdicts)) for one in report.findings)
    new = (finding for norm in norms for finding in _runtime_findings(norm))
    order = {path: at for at, path in enumerate(dict.fromkeys(norm.path for norm in norms))}
    findings = sorted((*known, *new), key=lambda one: (order[one.path], _place(one)))
    notes = (note for norm in norms for note in _mistakes(norm))
    return replace(report, findings=tuple(findings), norms=norms, torch=torch, notes=(*report.notes, *notes))


def _mistakes(norm: ListedNorm) -> Iterator[Failure]:
    """What is told of a norm on which the verifier itself failed."""
    if norm.verdict is not None and norm.verdict.reason.startswith(INTERNAL):
        yield Failure(norm.path, norm.place.line, f"{norm.qualname}: {norm.verdict.reason}", internal=True)


def _in_one_line(verdict: Verdict) -> Verdict:
    """A reason may quote what the user's code raises."""
    return replace(verdict, reason=" ".join(verdict.reason.split()))


def _of_finding(finding: Diagnostic, verdicts: dict[Key, Verdict]) -> Verdict | None:
    """The gravest verdict on the norms that share the finding."""
    found = [verdicts[finding.path, number] for number in finding.norms if (finding.path, number) in verdicts]
    return max(found, key=lambda verdict: WEIGHT[verdict.status], default=None)


def _runtime_findings(norm: ListedNorm) -> Iterator[Diagnostic]:
    if norm.pending is None or norm.verdict is None:
        return
    outcome = Outcome(norm.verdict, norm.pending.explained)
    for code in norm.pending.wanted:
        rule = RULES[code]
        message = rule.told(outcome) if rule.told else ""
        if message:
            yield replace(norm.pending.spot, code=code, name=rule.name, message=message, verdict=norm.verdict)


def _place(finding: Diagnostic) -> tuple[int, int, int, str]:
    return finding.start.cell or 0, finding.start.line, finding.start.column, finding.code
