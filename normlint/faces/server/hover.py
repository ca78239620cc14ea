"""What is said of the place under the cursor: the page of a finding's rule, and how the norm reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from normlint.engine.report import Diagnostic, ListedNorm
from normlint.faces.render.verdicts import eps_told, told
from normlint.faces.rules import explanation, url_of
from normlint.faces.server.analysis import Checked

_DEFINES: Final = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)")
_FENCE: Final = re.compile(r"^```fix$", re.MULTILINE)


def hover_of(checked: Checked, uri: str, at: types.Position) -> types.Hover | None:
    """None where there is nothing to say."""
    findings = [one for one in checked.report.findings if _covers(checked, one, uri, at)]
    norms = _norms_at(checked, uri, at)
    numbers = {number for one in findings for number in one.norms}
    norms += [one for one in checked.report.norms if one.number in numbers and one not in norms]
    parts = [*map(norm_text, norms), *map(_page, findings)]
    if not parts:
        return None
    where = checked.document.range(findings[0].start, findings[0].end) if findings else None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), where)


def norm_text(norm: ListedNorm) -> str:
    """How a norm reads, and what running it has shown."""
    return "\n\n".join(_norm_lines(norm))


def _norm_lines(norm: ListedNorm) -> Iterator[str]:
    yield f"**{norm.qualname}** ({norm.kind})"
    yield f"```text\n{norm.spine}\n```"
    if norm.verdict is not None:
        yield from (line for line in (f"verify: {told(norm.verdict)}", eps_told(norm.verdict)) if line)


def _page(finding: Diagnostic) -> str:
    """The rule's page; its examples of what is wrong and right are Python to an editor."""
    page = _FENCE.sub("```py", explanation(finding.code)).strip()
    return f"{finding.message}\n\n{page}\n\n[{finding.name}]({url_of(finding.code)})"


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
