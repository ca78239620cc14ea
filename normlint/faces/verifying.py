"""`--verify`: run the norms that were recognised, and put what they showed into the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from normlint.engine.linter import Demand
from normlint.engine.report import Diagnostic, ListedNorm, Report
from normlint.engine.selection import ConfigError
from normlint.faces.progress import watched
from normlint.rules.registry import RULES
from normlint.rules.runtime import Outcome
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict
from normlint.verify.guard.run import Verifier, VerifierError
from normlint.verify.program.prepare import prepare

TIMEOUT: Final = 10.0
WEIGHT: Final = {SKIPPED: 0, MATCH: 1, PRECISION: 2, WRONG: 3}
Answers = Iterable[tuple[int, Verdict]]
Key = tuple[str, int]


@contextmanager
def verifying(device: str | None, timeout: float | None) -> Iterator[Callable[[Report], Report]]:
    """What adds the verdicts to a report. Torch is imported in another process while this one goes on."""
    try:
        with Verifier(device or "auto", timeout or TIMEOUT) as verifier:
            yield lambda report: _verified_by(verifier, report)
    except VerifierError as error:
        raise ConfigError(str(error)) from None


def preparing(demand: Demand) -> Demand:
    """The same, and each norm made ready to be run."""
    return replace(demand, prepare=prepare)


def _verified_by(verifier: Verifier, report: Report) -> Report:
    jobs = [norm.pending.job for norm in report.norms if norm.pending is not None]
    answers = list(watched(verifier.verdicts(jobs), len(jobs), "Verifying"))
    return verified(report, answers, verifier.torch_version if jobs else "")


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
    return replace(report, findings=tuple(findings), norms=norms, torch=torch)


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
