"""Changes of a text as the edits that an editor makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from lsprotocol import types

from normlint.engine.noqa import with_noqa
from normlint.engine.report import Diagnostic, PlacedFix
from normlint.engine.wish import Fixed
from normlint.faces.server.documents import Document
from normlint.text.source import Source, split_lines

Edits = dict[str, list[types.TextEdit]]


def fix_edits(document: Document, fix: PlacedFix) -> Edits:
    """One finding's fix."""
    edits: Edits = {}
    for one in fix.edits:
        made = types.TextEdit(document.range(one.start, one.end), one.text)
        edits.setdefault(document.home(one.start.cell), []).append(made)
    return edits


def all_edits(document: Document, fixed: Fixed) -> Edits:
    """Everything that was mended, line by line."""
    if not document.cells:
        return _named(document.uri, _changes(document, None, fixed.after.text))
    after = dict(fixed.after.cells)
    named = (_named(uri, _changes(document, cell, after[cell])) for cell, uri in document.cells if cell in after)
    return {uri: edits for one in named for uri, edits in one.items()}


def noqa_edits(document: Document, finding: Diagnostic) -> Edits:
    """A comment that silences the finding in its line."""
    cell = finding.start.cell
    home = Source(document.source.path, document.source.home(cell))
    text, _ = with_noqa(home, {finding.start.line: {finding.code}})
    return _named(document.home(cell), _changes(document, cell, text))


def workspace_edit(document: Document, edits: Edits, *, versioned: bool) -> types.WorkspaceEdit:
    """`versioned`: the editor can refuse it where the text has changed in the meantime."""
    if not versioned:
        return types.WorkspaceEdit(changes=dict(edits))
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=document.version(uri)), list(own)
            )
            for uri, own in edits.items()
        ]
    )


def _named(uri: str, edits: Iterable[types.TextEdit]) -> Edits:
    found = list(edits)
    return {uri: found} if found else {}


def _changes(document: Document, cell: int | None, after: str) -> Iterator[types.TextEdit]:
    source = document.source
    old, new = split_lines(source.home(cell)), split_lines(after)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for what, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what != "equal":
            where = document.range(source.place(cell, starts[first]), source.place(cell, starts[last]))
            yield types.TextEdit(where, "".join(new[new_first:new_last]))
