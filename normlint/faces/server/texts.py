"""What an editor shows in a text: findings, and what is said of the place under the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    """By the address of each text of the document, also those that there is nothing to say of."""
    found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in checked.document.homes}
    for finding in checked.report.findings:
        found[checked.document.home(finding.start.cell)].append(diagnostic(checked, finding))
    return found


def diagnostic(checked: Checked, finding: Diagnostic) -> types.Diagnostic:
    """One finding, with the verdict on its norm if there is one."""
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
    """The command that runs this norm."""
    return types.Command(title, VERIFY, arguments=[checked.document.uri, norm.number])


_DEFINES: Final = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)")
MOST: Final = 10  # lines of a hover


def hover_of(checked: Checked, uri: str, at: types.Position) -> types.Hover | None:
    """At most ten lines; None where there is nothing to say."""
    findings = [one for one in checked.report.findings if _covers(checked, one, uri, at)]
    norms = _norms_at(checked, uri, at)
    numbers = {number for one in findings for number in one.norms}
    norms += [one for one in checked.report.norms if one.number in numbers and one not in norms]
    parts = [*map(_brief, findings), *map(norm_text, norms)]
    if not parts:
        return None
    where = checked.document.range(findings[0].start, findings[0].end) if findings else None
    shown = "\n".join("\n\n".join(parts).split("\n")[:MOST])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), where)


def norm_text(norm: ListedNorm) -> str:
    """How a norm reads, and what running it has shown."""
    return "  \n".join(_norm_lines(norm))


def _norm_lines(norm: ListedNorm) -> Iterator[str]:
    yield f"**{norm.qualname}** ({norm.kind})"
    yield norm.sentence
    yield f"Spine: `{norm.spine}` _({LEGEND})_"
    if norm.verdict is not None:
        yield from (line for line in (f"verify: {verdict_text(norm.verdict)}", eps_text(norm.verdict)) if line)


def _brief(finding: Diagnostic) -> str:
    """What is wrong, and where to read on."""
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
    """Those in this line, or else the next one where the class or function around it is named."""
    cell, line = checked.document.cell(uri), at.line + 1
    norms = [one for one in checked.report.norms if one.place.cell == cell]
    name = _defined(checked, cell, at)
    below = [one for one in norms if one.place.line > line and name in one.qualname.split(".")]
    here = [one for one in norms if one.place.line == line]
    return here or [one for one in below if one.qualname == below[0].qualname][:1]


def _defined(checked: Checked, cell: int | None, at: types.Position) -> str | None:
    """The name under the cursor, where it is that of a definition."""
    text = next(iter(checked.document.source.lines(cell, at.line + 1, at.line + 1)), "")
    named = _DEFINES.match(text)
    if named is None:
        return None
    first, last = (checked.document.codec.client_num_units(text[:end]) for end in named.span(1))
    return named[1] if first <= at.character <= last else None
