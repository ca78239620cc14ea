"""Make the code actions at a finding: its fix, all fixes, a noqa comment, a run of its norm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from normlint.engine.report import Diagnostic, PlacedFix
from normlint.engine.write import with_noqa
from normlint.faces.server.documents import Checked, Document, with_all_fixes
from normlint.faces.server.texts import diagnostic, verify_command
from normlint.text.finding import Applicability
from normlint.text.source import Source, split_lines

if TYPE_CHECKING:
    from normlint.engine.fix import Fixed

Edits = dict[str, list[types.TextEdit]]


def fix_edits(document: Document, fix: PlacedFix) -> Edits:
    """Return the edits of one finding's fix."""
    edits: Edits = {}
    for one in fix.edits:
        made = types.TextEdit(document.range(one.start, one.end), one.text)
        edits.setdefault(document.home(one.start.cell), []).append(made)
    return edits


def all_edits(document: Document, fixed: Fixed) -> Edits:
    """Return the edits that turn the document into the fixed one, by lines."""
    if not document.cells:
        return _edits_of(document.uri, _changes(document, None, fixed.after.text))
    after = dict(fixed.after.cells)
    named = (_edits_of(uri, _changes(document, cell, after[cell])) for cell, uri in document.cells if cell in after)
    return {uri: edits for one in named for uri, edits in one.items()}


def noqa_edits(document: Document, finding: Diagnostic) -> Edits:
    """Return the edits that add a noqa comment for the finding to its line."""
    cell = finding.start.cell
    home = Source(document.source.path, document.source.home(cell))
    text, _ = with_noqa(home, {finding.start.line: {finding.code}})
    return _edits_of(document.home(cell), _changes(document, cell, text))


def workspace_edit(document: Document, edits: Edits, *, versioned: bool) -> types.WorkspaceEdit:
    """Return the edits as a workspace edit; `versioned`: the editor refuses it if the text has changed meanwhile."""
    if not versioned:
        return types.WorkspaceEdit(changes=dict(edits))
    texts = {uri: types.OptionalVersionedTextDocumentIdentifier(uri, document.version(uri)) for uri in edits}
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(texts[uri], own) for uri, own in edits.items()])


def _edits_of(uri: str, edits: Iterable[types.TextEdit]) -> Edits:
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


FIX_ALL: Final = "normlint.applyFixAll"
FIX_ALL_KIND: Final = "source.fixAll.normlint"
VERIFY_KIND: Final = "source.verify.normlint"
KINDS: Final = (types.CodeActionKind.QuickFix, FIX_ALL_KIND, VERIFY_KIND)
_APPLICABILITY_NOTE: Final = {
    Applicability.SAFE: "",
    Applicability.UNSAFE: " (unsafe)",
    Applicability.DISPLAY: " (unsafe: it may be meant as it is)",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for code actions in a range; `only`: the wanted kinds, empty for all."""

    uri: str
    range: types.Range
    only: tuple[str, ...] = ()
    versioned: bool = False

    def wants(self, kind: str) -> bool:
        """Return whether this kind, a kind that it belongs to, or any kind is wanted."""
        return not self.only or any(kind == one or kind.startswith(f"{one}.") or not one for one in self.only)

    @property
    def on_save(self) -> bool:
        """Return whether the fix-all kind was requested explicitly, as on save; the action then has its edits."""
        return bool(self.only) and self.wants(FIX_ALL_KIND)


def actions_of(checked: Checked, asked: Asked) -> list[types.CodeAction]:
    """Return the code actions in the order in which they are shown."""
    return [*_quick_fixes(checked, asked), *_fix_all(checked, asked), *_verify_actions(checked, asked)]


def fix_all_edit(checked: Checked, *, versioned: bool) -> types.WorkspaceEdit | None:
    """Return the edit that makes all fixes the settings allow; None if there are none."""
    fixed = with_all_fixes(checked) if any(one.fix and one.fix.made for one in checked.report.findings) else None
    edits = all_edits(checked.document, fixed) if fixed is not None and fixed.changed else {}
    return workspace_edit(checked.document, edits, versioned=versioned) if edits else None


def _quick_fixes(checked: Checked, asked: Asked) -> Iterator[types.CodeAction]:
    if not asked.wants(types.CodeActionKind.QuickFix):
        return
    here = [one for one in checked.report.findings if _touches(checked, one, asked)]
    for finding in here:
        if finding.fix is not None and finding.fix.edits:
            safe = finding.fix.applicability is Applicability.SAFE
            title = f"{finding.fix.message}{_APPLICABILITY_NOTE[finding.fix.applicability]}"
            edits = fix_edits(checked.document, finding.fix)
            yield _quick_fix(checked, asked, finding, f"{finding.code}: {title}", edits, preferred=safe)
    for finding in here:
        edits = noqa_edits(checked.document, finding)
        if edits:
            yield _quick_fix(checked, asked, finding, f"Disable {finding.code} for this line", edits, preferred=False)


def _quick_fix(
    checked: Checked, asked: Asked, finding: Diagnostic, title: str, edits: Edits, *, preferred: bool
) -> types.CodeAction:
    return types.CodeAction(
        title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(checked, finding)],
        is_preferred=preferred or None,
        edit=workspace_edit(checked.document, edits, versioned=asked.versioned),
    )


def _fix_all(checked: Checked, asked: Asked) -> Iterator[types.CodeAction]:
    """Yield the action that makes all fixes: with its edits if requested explicitly, else as a command."""
    if not asked.wants(FIX_ALL_KIND) or not any(one.fix and one.fix.made for one in checked.report.findings):
        return
    trusted = "" if checked.demand.unsafe else " safe"
    action = types.CodeAction(f"Make all{trusted} fixes of normlint", kind=FIX_ALL_KIND)
    if asked.on_save:
        action.edit = fix_all_edit(checked, versioned=asked.versioned)
        if action.edit is None:
            return
    else:
        action.command = types.Command(action.title, FIX_ALL, arguments=[asked.uri])
    yield action


def _verify_actions(checked: Checked, asked: Asked) -> Iterator[types.CodeAction]:
    if not asked.wants(VERIFY_KIND):
        return
    blamed = {number for one in checked.report.findings if _touches(checked, one, asked) for number in one.norms}
    cell = checked.document.cell(asked.uri)
    for norm in checked.report.norms:
        line = norm.place.line - 1
        in_line = norm.place.cell == cell and asked.range.start.line <= line <= asked.range.end.line
        if in_line or norm.number in blamed:
            title = f"Verify {norm.qualname}"
            yield types.CodeAction(title, kind=VERIFY_KIND, command=verify_command(title, checked, norm))


def _touches(checked: Checked, finding: Diagnostic, asked: Asked) -> bool:
    """Return whether the finding overlaps or touches the range."""
    if checked.document.home(finding.start.cell) != asked.uri:
        return False
    where = checked.document.range(finding.start, finding.end)
    return where.start <= asked.range.end and asked.range.start <= where.end
