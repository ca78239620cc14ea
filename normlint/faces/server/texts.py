"""Make the diagnostics and hovers that an editor shows in a text."""

from __future__ import annotations

import re
from typing import Final

from lsprotocol import types

from normlint.engine.linter import STYLE
from normlint.engine.report import Diagnostic, ListedNorm
from normlint.faces.render.verdicts import LEGEND, eps_text, full_message, verdict_text
from normlint.faces.rules import url_of
from normlint.faces.server.documents import Checked
from normlint.text.finding import ERROR, REVIEW, WARNING

SOURCE: Final = "normlint"
SEVERITY: Final = {
    ERROR: types.DiagnosticSeverity.Error,
    WARNING: types.DiagnosticSeverity.Warning,
    REVIEW: types.DiagnosticSeverity.Information,
}


def diagnostics_of(checked: Checked) -> dict[str, list[types.Diagnostic]]:
    """Return the diagnostics of the document by the URI of each of its texts, also for texts without findings."""
    found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in checked.document.homes}
    for finding in checked.report.findings:
        found[checked.document.home(finding.start.cell)].append(diagnostic(checked, finding))
    return found


def diagnostic(checked: Checked, finding: Diagnostic) -> types.Diagnostic:
    """Return a finding as a diagnostic, with the verdict on its norm if there is one."""
    style = types.DiagnosticSeverity.Information if finding.code.startswith(STYLE) else None
    return types.Diagnostic(
        range=checked.document.range(finding.start, finding.end),
        message=full_message(finding),
        severity=style or SEVERITY[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(url_of(finding.code)),
        source=SOURCE,
    )


VERIFY: Final = "normlint.verify"


def verify_command(title: str, checked: Checked, norm: ListedNorm) -> types.Command:
    """Return the command that runs this norm."""
    return types.Command(title, VERIFY, arguments=[checked.document.uri, norm.number])


_DEFINES: Final = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)")
MOST: Final = 10  # lines of a hover


def hover_of(checked: Checked, uri: str, at: types.Position) -> types.Hover | None:
    """Return a hover of at most MOST lines on the findings and norms at a position; None if there are none."""
    findings = [one for one in checked.report.findings if _covers(checked, one, uri, at)]
    norms = _norms_at(checked, uri, at)
    numbers = {number for one in findings for number in one.norms}
    norms += [one for one in checked.report.norms if one.number in numbers and one not in norms]
    parts = [*map(_finding_text, findings), *map(norm_text, norms)]
    if not parts:
        return None
    where = checked.document.range(findings[0].start, findings[0].end) if findings else None
    shown = "\n".join("\n\n".join(parts).split("\n")[:MOST])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), where)


def norm_text(norm: ListedNorm) -> str:
    """Return Markdown with a norm's name, sentence, spine and verdict."""
    lines = [f"**{norm.qualname}** ({norm.kind})", norm.sentence, f"Spine: `{norm.spine}` _({LEGEND})_"]
    if norm.verdict is not None:
        lines += filter(None, (f"verify: {verdict_text(norm.verdict)}", eps_text(norm.verdict)))
    return "  \n".join(lines)


def _finding_text(finding: Diagnostic) -> str:
    """Return Markdown with a finding's message, consequence and a link to its rule's page."""
    lines = (
        f"**{finding.name} ({finding.code})**, {finding.severity}: {finding.message}",
        finding.consequence,
        f"[The rule's page]({url_of(finding.code)})",
    )
    return "  \n".join(lines)


def _covers(checked: Checked, finding: Diagnostic, uri: str, at: types.Position) -> bool:
    where = checked.document.range(finding.start, finding.end)
    return checked.document.home(finding.start.cell) == uri and where.start <= at <= where.end


def _norms_at(checked: Checked, uri: str, at: types.Position) -> list[ListedNorm]:
    """Return the norms in this line; else, on the name of a class or function, the next norm in it."""
    cell, line = checked.document.cell(uri), at.line + 1
    norms = [one for one in checked.report.norms if one.place.cell == cell]
    name = _definition_name_at(checked, cell, at)
    below = [one for one in norms if one.place.line > line and name in one.qualname.split(".")]
    here = [one for one in norms if one.place.line == line]
    return here or [one for one in below if one.qualname == below[0].qualname][:1]


def _definition_name_at(checked: Checked, cell: int | None, at: types.Position) -> str | None:
    """Return the name under the cursor if it is the name in a class or function statement."""
    text = next(iter(checked.document.source.lines(cell, at.line + 1, at.line + 1)), "")
    named = _DEFINES.match(text)
    if named is None:
        return None
    first, last = (checked.document.codec.client_num_units(text[:end]) for end in named.span(1))
    return named[1] if first <= at.character <= last else None
