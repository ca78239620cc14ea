"""Findings as an editor shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from normlint.engine.linter import STYLE
from normlint.engine.report import Diagnostic, ListedNorm
from normlint.faces.render.verdicts import said, told
from normlint.faces.rules import url_of
from normlint.faces.server.analysis import Checked
from normlint.text.source import Place
from normlint.text.verdict import MATCH

SOURCE: Final = "normlint"


def diagnostics_of(checked: Checked) -> dict[str, list[types.Diagnostic]]:
    """By the address of each text of the document, also those that there is nothing to say of."""
    found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in checked.document.homes}
    for finding in checked.report.findings:
        found[checked.document.home(finding.start.cell)].append(diagnostic(checked, finding))
    for norm in _unsaid(checked):
        found[checked.document.home(norm.place.cell)].append(_verdict(checked, norm))
    return found


def diagnostic(checked: Checked, finding: Diagnostic) -> types.Diagnostic:
    """One finding, with the verdict on its norm if there is one."""
    style = finding.code.startswith(STYLE)
    return types.Diagnostic(
        range=checked.document.range(finding.start, finding.end),
        message=said(finding),
        severity=types.DiagnosticSeverity.Information if style else types.DiagnosticSeverity.Warning,
        code=finding.code,
        code_description=types.CodeDescription(url_of(finding.code)),
        source=SOURCE,
    )


def _unsaid(checked: Checked) -> Iterator[ListedNorm]:
    """Norms with a verdict other than a match that no finding tells."""
    shown = {number for one in checked.report.findings if one.verdict for number in one.norms}
    for norm in checked.report.norms:
        if norm.verdict is not None and norm.verdict.status != MATCH and norm.number not in shown:
            yield norm


def _verdict(checked: Checked, norm: ListedNorm) -> types.Diagnostic:
    assert norm.verdict is not None
    line = next(iter(checked.document.source.lines(norm.place.cell, norm.place.line, norm.place.line)), "")
    end = Place(norm.place.cell, norm.place.line, max(len(line.rstrip()), norm.place.column) + 1)
    return types.Diagnostic(
        range=checked.document.range(norm.place, end),
        message=f"verify: {told(norm.verdict)}",
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
    )
