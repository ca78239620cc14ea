"""A real server over its standard streams, and what an editor does with its answers."""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

PATIENCE = 20.0
SERVER = (sys.executable, "-m", "normlint.faces.server.command")
_number = itertools.count()


def capabilities(name: str = "neovim", **changes: Any) -> types.ClientCapabilities:
    """Those of a real editor, changed by paths such as `workspace__configuration`."""
    found = client_capabilities(name)
    for path, value in changes.items():
        *owners, last = path.split("__")
        held: Any = found
        for owner in owners:
            held = getattr(held, owner)
        setattr(held, last, value)
    return found


class Editor:
    """What a person sees: problems by text, messages; and what they can do."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.texts: dict[str, TextDocument] = {}
        self.result: types.InitializeResult

    @property
    def messages(self) -> list[str]:
        return [one.message for one in self.client.messages]

    def open(self, text: str, where: Path | str = "", language: str = "python") -> str:
        """Open a text, by default one that lies nowhere yet."""
        uri = where.as_uri() if isinstance(where, Path) else where or f"untitled:Untitled-{next(_number)}"
        codec = PositionCodec(self.result.capabilities.position_encoding)
        self.texts[uri] = TextDocument(uri, text, 1, language, position_codec=codec)
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 1, text))
        )
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace the one place where `old` stands, as an editor tells it: by its range alone."""
        document = self.texts[uri]
        assert document.source.count(old) == 1
        at = document.source.index(old)
        change = types.TextDocumentContentChangePartial(self.range(uri, at, at + len(old)), new)
        self._change(uri, document.source.replace(old, new), change)

    def replace(self, uri: str, text: str) -> None:
        """Replace all of it."""
        self._change(uri, text, types.TextDocumentContentChangeWholeDocument(text))

    def _change(self, uri: str, text: str, change: Any) -> None:
        old = self.texts[uri]
        version = (old.version or 0) + 1
        self.texts[uri] = TextDocument(uri, text, version, old.language_id, position_codec=old.position_codec)
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def close(self, uri: str) -> None:
        del self.texts[uri]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def range(self, uri: str, start: int, end: int) -> types.Range:
        """A stretch of characters in the protocol's units."""
        return types.Range(self.position(uri, start), self.position(uri, end))

    def position(self, uri: str, offset: int) -> types.Position:
        document = self.texts[uri]
        before = document.source[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return types.Position(len(before) - 1, document.position_codec.client_num_units(before[-1]))

    def at(self, uri: str, text: str) -> types.Position:
        """Where a piece of the text starts."""
        return self.position(uri, self.texts[uri].source.index(text))

    async def codes(self, uri: str, wanted: Sequence[str] | None = None) -> list[str]:
        """The problems of a text; waits until they are the wanted ones, or any."""
        return [str(one.code) for one in await self.problems(uri, wanted)]

    async def problems(self, uri: str, wanted: Sequence[str] | None = None) -> Sequence[types.Diagnostic]:
        async def known() -> bool:
            found = self.client.diagnostics.get(uri)
            return found is not None and (wanted is None or [one.code for one in found] == list(wanted))

        await self.until(known, lambda: f"{uri}: wanted {wanted}, got {self.client.diagnostics.get(uri)}")
        return self.client.diagnostics[uri]

    async def message(self, words: str) -> None:
        """Wait for a message."""

        async def known() -> bool:
            return any(words in message for message in self.messages)

        await self.until(known, lambda: f"wanted {words!r}, got {self.messages}")

    async def until(self, holds: Callable[[], Any], otherwise: Callable[[], str]) -> None:
        for _ in range(int(PATIENCE * 100)):
            if await holds():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(otherwise())

    async def settled(self, uri: str) -> list[str]:
        """The problems of the text as it stands now: what is asked afterwards is answered afterwards."""
        await self.hover(uri, types.Position(0, 0))
        await asyncio.sleep(0.25)
        return [str(one.code) for one in self.client.diagnostics.get(uri, ())]

    async def hover(self, uri: str, at: types.Position) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), at))
        return found.contents.value if found else ""  # type: ignore[union-attr]

    async def actions(self, uri: str, at: types.Position, *only: str) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), types.Range(at, at), types.CodeActionContext([], only=only or None)
        )
        return list(await self.client.text_document_code_action_async(params) or ())  # type: ignore[arg-type]

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(types.ExecuteCommandParams(name, arguments))

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Make the edits, all ranges counted in the text as it was, and tell the server."""
        by_text = dict(edit.changes or {})
        for one in edit.document_changes or ():
            assert isinstance(one, types.TextDocumentEdit)
            assert one.text_document.version == self.texts[one.text_document.uri].version
            by_text[one.text_document.uri] = [each for each in one.edits if isinstance(each, types.TextEdit)]
        for uri, edits in by_text.items():
            self.replace(uri, edited(self.texts[uri], edits))


def edited(document: TextDocument, edits: Sequence[types.TextEdit]) -> str:
    """The text after the edits."""
    text = document.source
    for one in sorted(edits, key=lambda one: (one.range.start, one.range.end), reverse=True):
        start, end = (_offset(document, at) for at in (one.range.start, one.range.end))
        text = text[:start] + one.new_text + text[end:]
    return text


def _offset(document: TextDocument, at: types.Position) -> int:
    """In characters. Past the last line is its end."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", document.source)
    if at.line >= len(lines):
        return len(document.source)
    units = document.position_codec.client_num_units
    line = lines[at.line]
    column = next((n for n in range(len(line) + 1) if units(line[:n]) >= at.character), len(line))
    return sum(map(len, lines[: at.line])) + column


@asynccontextmanager
async def editor(
    *folders: Path,
    options: Any = None,
    settings: dict[str, Any] | None = None,
    can: types.ClientCapabilities | None = None,
    server: Sequence[str] = SERVER,
) -> AsyncIterator[Editor]:
    """An editor with a server of its own. `settings`: what it answers when it is asked for its configuration."""
    client = make_test_lsp_client()
    _structure_actions(client)
    for scope, values in (settings or {}).items():
        client.set_configuration({"normlint": values}, scope_uri=scope or None)
    await client.start_io(*server)
    this = Editor(client)
    client.feature(types.WORKSPACE_APPLY_EDIT)(lambda params: _applied(this, params))
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
    params = types.InitializeParams(
        capabilities=can or capabilities(),
        workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
        initialization_options=options,
    )
    try:
        this.result = await client.initialize_session(params)
        yield this
        await asyncio.wait_for(client.shutdown_session(), PATIENCE)
    finally:
        if client._server is not None and client._server.returncode is None:
            client._server.kill()
        await client.stop()


def _applied(this: Editor, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
    this.apply(params.edit)
    return types.ApplyWorkspaceEditResult(applied=True)


def _structure_actions(client: LanguageClient) -> None:
    """lsprotocol takes every action that has a command for the command itself."""
    converter = client.protocol._converter
    action = Union[types.Command, types.CodeAction]  # noqa: UP007 - the key that lsprotocol has registered
    converter.register_structure_hook(action, lambda given, _: converter.structure(given, types.CodeAction))
