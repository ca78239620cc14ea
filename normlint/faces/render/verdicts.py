"""Format verdicts for the command and the output formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from normlint.engine.report import Diagnostic, Report
from normlint.faces.render import Style, harmless, position
from normlint.faces.terminal import counted
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict

RUNTIME = "NRM9"  # findings whose message is the verdict's reason
LEGEND = "A spine reads: statistic[its axes, * for all] | what happens to it, in the order of the code."


def verdict_text(verdict: Verdict) -> str:
    """Return `wrong on cpu: the reason`."""
    where = f" on {verdict.device}" if verdict.device else ""
    return verdict.status + where + (f": {verdict.reason}" if verdict.reason else "")


def eps_text(verdict: Verdict) -> str:
    """Return the measured eps, and the given one if it differs; "" if none was measured."""
    if verdict.effective_eps is None:
        return ""
    acts = f"{verdict.effective_eps:.3g}"
    given = "" if verdict.given_eps is None else f"{verdict.given_eps:.3g}"
    form = f" {verdict.eps_form}" if verdict.eps_form else ""
    return f"effective eps {acts}{form}" + (f", given {given}" if given and given != acts else "")


def full_message(finding: Diagnostic) -> str:
    """Return the finding's message with the verdict on its norm, unless the message is the verdict's reason."""
    if finding.verdict is None or finding.code.startswith(RUNTIME):
        return finding.message
    return f"{finding.message} (verify: {verdict_text(finding.verdict)})"


def message_on_file(finding: Diagnostic) -> str:
    """Return the full message for formats that know only lines of files: with the place if that is in a notebook."""
    where = f"{position(finding.start)}: " if finding.start.cell is not None else ""
    return where + full_message(finding)


def whole_line(finding: Diagnostic) -> str:
    """Return `path:line:column: CODE message`, as one line without colours."""
    return f"{finding.path}:{position(finding.start)}: {finding.code} {full_message(finding)}"


def brief(finding: Diagnostic) -> str:
    """Return the verdict as a note beside the message, without a reason that the message repeats; "" if none."""
    verdict = finding.verdict
    if verdict is None or verdict.status == MATCH:
        return f"{verdict_text(verdict)}: no input that was tried shows the finding" if verdict else ""
    return verdict_text(replace(verdict, reason="") if verdict.reason in finding.message else verdict)


def lines(report: Report, style: Style, shows: Callable[[Diagnostic], bool]) -> Iterator[str]:
    """Yield a line for each norm whose verdict isn't a match, unless a finding `shows` it."""
    shown = {(one.path, number) for one in report.findings if one.verdict and shows(one) for number in one.norms}
    for norm in report.norms:
        if norm.verdict is not None and norm.verdict.status != MATCH and (norm.path, norm.number) not in shown:
            where = style.located(norm.path, norm.place)
            yield f"{where} verify: {harmless(verdict_text(norm.verdict))} ({norm.qualname})"


def closing(report: Report) -> list[str]:
    """Return the line that counts the verdicts; empty if norms weren't run."""
    verdicts = [norm.verdict for norm in report.norms if norm.verdict is not None]
    if report.torch is None:
        return []
    counts = Counter(verdict.status for verdict in verdicts)
    statuses = ", ".join(f"{counts[each]} {each}" for each in (MATCH, PRECISION, WRONG, SKIPPED) if counts[each])
    devices = " and ".join(sorted({verdict.device for verdict in verdicts if verdict.device}))
    where = f" on {devices}" if devices else ""
    torch = f" (torch {report.torch})" if report.torch else ""
    helpers = report.norm_count - len(verdicts)
    inside = f"; {counted(helpers, 'helper')} ran inside the norms that call {'it' if helpers == 1 else 'them'}"
    verified = f"Verified {counted(len(verdicts), 'norm')}{where}{torch}{': ' if statuses else ''}{statuses}"
    return [f"{verified}{inside if helpers else ''}."]
