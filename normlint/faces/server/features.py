"""Handle the editor's notifications, requests and commands."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from lsprotocol import types

from normlint.faces.server import runs
from normlint.faces.server.actions import FIX_ALL, KINDS, Asked, actions_of, fix_all_edit
from normlint.faces.server.server import NormlintServer
from normlint.faces.server.texts import VERIFY, hover_of

server: Final = NormlintServer()


@server.feature(types.INITIALIZE)
def initialize(ls: NormlintServer, params: types.InitializeParams) -> None:
    """Apply the editor's initial settings."""
    ls.begin(params.initialization_options)


@server.feature(types.INITIALIZED)
async def initialized(ls: NormlintServer, _: types.InitializedParams) -> None:
    """Ask the editor for its settings and for notifications of changes, which is allowed from here on."""
    await ls.watch()
    if ls.can("workspace.configuration"):
        await ls.ask()


@server.feature(types.SHUTDOWN)
async def shutdown(ls: NormlintServer, _: Any) -> None:
    """Stop all work. Requests under way are answered first, since pygls fails on unanswered ones."""
    ls.documents.stop()
    for future in ls.waiting:
        if not future.done():
            future.set_result(None)
    await asyncio.to_thread(runs.end_all)
    await asyncio.sleep(0.05)


# --- documents -------------------------------------------------------------------------------------------------------


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: NormlintServer, params: types.DidOpenTextDocumentParams) -> None:
    """Analyse an opened document immediately."""
    ls.documents.open(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(ls: NormlintServer, params: types.DidChangeTextDocumentParams) -> None:
    """Analyse an edited document after a pause."""
    ls.documents.touch(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: NormlintServer, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document, and clear what is shown of it."""
    ls.documents.close(params.text_document.uri)
    ls.clear(params.text_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
def notebook_did_open(ls: NormlintServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """Analyse an opened notebook immediately."""
    ls.documents.open(params.notebook_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
def notebook_did_change(ls: NormlintServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """Analyse a notebook after its cells or their text changed, and clear the diagnostics of deleted cells."""
    cells = params.change.cells
    gone = (cells.structure.did_close if cells and cells.structure else None) or ()
    ls.clear(*(cell.uri for cell in gone))
    ls.documents.touch(params.notebook_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
def notebook_did_close(ls: NormlintServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget the document, and clear what is shown of it."""
    ls.documents.close(params.notebook_document.uri)
    ls.clear(*(cell.uri for cell in params.cell_text_documents))


# --- settings --------------------------------------------------------------------------------------------------------


@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def did_change_configuration(ls: NormlintServer, params: types.DidChangeConfigurationParams) -> None:
    """Read the settings again, from the editor if it supports that, else from the notification."""
    ls.forget_warnings()
    if ls.can("workspace.configuration"):
        await ls.ask()
    else:
        ls.configure(params.settings)


# --- questions -------------------------------------------------------------------------------------------------------


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))
async def code_action(ls: NormlintServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the code actions in a range."""
    uri = params.text_document.uri
    found = await ls.documents.current(uri)
    if found is None:
        return []
    only = tuple(getattr(kind, "value", kind) for kind in params.context.only or ())
    asked = Asked(uri, params.range, only, ls.versioned)
    return await ls.documents.in_worker(partial(actions_of, found[1], asked))


@server.feature(types.TEXT_DOCUMENT_HOVER)
async def hover(ls: NormlintServer, params: types.HoverParams) -> types.Hover | None:
    """Return what is known of the findings and norms at a position."""
    uri = params.text_document.uri
    found = await ls.documents.current(uri)
    return hover_of(found[1], uri, params.position) if found else None


# --- commands --------------------------------------------------------------------------------------------------------


@server.command(VERIFY)
async def verify(ls: NormlintServer, uri: str, where: Any) -> dict[str, Any] | None:
    """Interpret one norm of a document, given by its number or `{"line": N}`, and show its verdict."""
    found = await ls.documents.current(uri)
    norm = runs.norm_at(found[1], uri, where) if found else None
    if found is None or norm is None:
        ls.say("normlint: there is no norm here", types.MessageType.Warning)
        return None
    opened, checked = found
    ready = await ls.documents.in_worker(partial(runs.prepared, checked, norm))
    if isinstance(ready, str):
        ran = runs.Ran(ready)
    else:
        work = partial(runs.run, ready, ls.documents.options)
        ran = await runs.in_thread(work, ls.waiting) or runs.Ran("the server was ended")
    if opened.current is not None and opened.current.document is checked.document:
        opened.checked = runs.with_verdict(opened.current, ran)
        ls.show(opened.checked)
    ls.say(f"normlint: {ran.message}", types.MessageType.Warning if ran.wrong else types.MessageType.Info)
    verdict = ran.report.norms[0].verdict if ran.report else None
    return {"qualname": norm.qualname, "status": verdict.status if verdict else None, "message": ran.message}


@server.command(FIX_ALL)
async def apply_fix_all(ls: NormlintServer, uri: str) -> bool:
    """Make all fixes that the settings allow in one edit; return whether the editor applied it."""
    found = await ls.documents.current(uri)
    edit = await ls.documents.in_worker(partial(fix_all_edit, found[1], versioned=ls.versioned)) if found else None
    if edit is None:
        return False
    done = await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label="Fixes of normlint"))
    return done.applied
