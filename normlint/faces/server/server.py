"""Keep the open documents and their reports, and send diagnostics, messages and requests to the editor."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import Workspace

from normlint import __version__
from normlint.engine.discovery import Configs
from normlint.faces.server.documents import (
    Checked,
    Document,
    ExactWorkspace,
    check,
    notebook_document,
    path_of,
    text_document,
)
from normlint.faces.server.options import Options, options_of
from normlint.faces.server.texts import diagnostics_of

Answer = TypeVar("Answer")
TYPING: Final = 0.15  # seconds without a change after which a document is analysed


@dataclass(slots=True, eq=False)
class Opened:
    """An open document or notebook; `generation` counts its changes, and `checked` may belong to an older one."""

    uri: str
    generation: int = 0
    checked: Checked | None = None
    waiting: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def current(self) -> Checked | None:
        """Return the results for the current text; None if it hasn't been analysed."""
        checked = self.checked
        return checked if checked is not None and checked.document.generation == self.generation else None


class OpenDocuments:
    """The open documents; all work is done in the event loop, except `check`, which runs in one worker thread."""

    def __init__(self, show: Callable[[Checked], None]) -> None:
        self._show = show
        self._opened: dict[str, Opened] = {}
        self._pool = ThreadPoolExecutor(1, "normlint")
        self.options = Options()  # the editor's settings
        self.workspace = Workspace(None)

    @property
    def folders(self) -> tuple[str, ...]:
        """Return the directories of the workspace, the longest path first."""
        paths = (to_fs_path(folder.uri) for folder in self.workspace.folders.values())
        return tuple(sorted((path for path in paths if path), key=len, reverse=True))

    def open(self, uri: str) -> None:
        """Add a document and analyse it."""
        self._opened[uri] = Opened(uri)
        self.touch(uri, 0.0)

    def close(self, uri: str) -> None:
        """Remove a closed document."""
        opened = self._opened.pop(uri, None)
        if opened is not None and opened.waiting is not None:
            opened.waiting.cancel()

    def touch(self, uri: str, delay: float = TYPING) -> None:
        """Analyse a changed document after `delay` seconds without further changes."""
        opened = self._opened.get(uri)
        if opened is None:
            return
        opened.generation += 1
        if opened.waiting is not None:
            opened.waiting.cancel()
        opened.waiting = asyncio.get_running_loop().create_task(self._check_later(opened, delay))

    def reload(self) -> None:
        """Analyse all open documents again, since settings have changed."""
        for uri in self._opened:
            self.touch(uri, 0.0)

    def stop(self) -> None:
        """Cancel all work, since the server is shut down."""
        for uri in tuple(self._opened):
            self.close(uri)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def current(self, uri: str) -> tuple[Opened, Checked] | None:
        """Return the current results for a document, or for the notebook of a cell; None if it isn't open or read."""
        opened = self._opened.get(self.home(uri))
        while opened is not None and self._opened.get(opened.uri) is opened:
            checked = opened.current or await self._checked(opened)
            if checked is None:
                return None
            if checked is opened.current:
                return opened, checked
        return None

    async def in_worker(self, work: Callable[[], Answer]) -> Answer:
        """Run `work` in the worker thread and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def home(self, uri: str) -> str:
        """Return the URI of the notebook of a cell; for other texts the URI itself."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook is not None else uri

    async def _check_later(self, opened: Opened, delay: float) -> None:
        await asyncio.sleep(delay)
        found = await self.current(opened.uri)
        if found is not None:
            self._show(found[1])

    async def _checked(self, opened: Opened) -> Checked | None:
        """Analyse a document and store the result unless the text has changed meanwhile; None for another language."""
        async with opened.lock:
            if opened.current is not None:
                return opened.current
            document = self._document(opened)
            if document is None:
                return None
            configs, folders = Configs(self.options.over), self.folders
            checked = await self.in_worker(lambda: check(document, configs, folders))
            if document.generation == opened.generation:
                opened.checked = checked
            return checked

    def _document(self, opened: Opened) -> Document | None:
        path = path_of(opened.uri, next(iter(self.folders), os.getcwd()))
        notebook = self.workspace.get_notebook_document(notebook_uri=opened.uri)
        if notebook is not None:
            texts = self.workspace.text_documents
            return notebook_document(notebook, texts, path, opened.generation)
        return text_document(self.workspace.get_text_document(opened.uri), path, opened.generation)


LOG: Final = logging.getLogger("normlint.server")
SECTION: Final = "normlint"
_NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook("*", [types.NotebookCellLanguage("python")])]
)


class NormlintServer(LanguageServer):
    """The language server of one editor."""

    def __init__(self) -> None:
        super().__init__("normlint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.documents = OpenDocuments(self.show)
        self.given: Any = None
        self.waiting: set[asyncio.Future[Any]] = set()
        self._shown_messages: set[str] = set()

    @property
    def versioned(self) -> bool:
        """Return whether the editor supports edits for a specific version of a text."""
        return self.can("workspace.workspace_edit.document_changes")

    def can(self, capability: str) -> bool:
        """Return whether the editor has this capability."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def begin(self, options: Any) -> None:
        """Set up the workspace and the initial settings after the editor's `initialize` request."""
        first = self.workspace
        folders = list(first.folders.values())
        exact = ExactWorkspace(first.root_uri, workspace_folders=folders, position_encoding=first.position_encoding)
        if not folders and first.root_uri:
            exact.add_folder(types.WorkspaceFolder(first.root_uri, "root"))
        self.protocol._workspace = exact  # noqa: SLF001 - pygls has no public way to set it
        self.documents.workspace = exact
        self.given = options
        self.configure()

    def configure(self, *settings: Any) -> None:
        """Apply the editor's settings over the initial ones, and analyse all documents again."""
        self.documents.options, wrong = options_of(self.given, *settings)
        self.warn(*wrong)
        self.documents.reload()

    async def ask(self) -> None:
        """Ask the editor for its settings."""
        items = [types.ConfigurationItem(section=SECTION)]
        try:
            self.configure(*await self.workspace_configuration_async(types.ConfigurationParams(items=items)))
        except JsonRpcException as error:
            LOG.warning("no configuration: %s", error)

    async def watch(self) -> None:
        """Ask for notifications of changed settings, if the editor supports that."""
        if self.can("workspace.did_change_configuration.dynamic_registration"):
            options = types.DidChangeConfigurationRegistrationOptions(SECTION)
            wanted = types.Registration("settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
            with contextlib.suppress(JsonRpcException):
                await self.client_register_capability_async(types.RegistrationParams([wanted]))

    def show(self, checked: Checked) -> None:
        """Send the diagnostics and warnings of a document to the editor."""
        self.warn(*checked.warnings)
        for error in checked.report.errors:
            LOG.info("%s: %s", error.path, error.message)
        for uri, found in diagnostics_of(checked).items():
            version = checked.document.version(uri)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def clear(self, *uris: str) -> None:
        """Clear the diagnostics of these texts."""
        for uri in uris:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def warn(self, *messages: str) -> None:
        """Show each message to the user, unless it was shown before."""
        for message in messages:
            if message not in self._shown_messages:
                self._shown_messages.add(message)
                self.say(f"normlint: {message}", types.MessageType.Warning)

    def forget_warnings(self) -> None:
        """Forget which messages were shown, so that each is shown again after a change of settings."""
        self._shown_messages.clear()

    def say(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(kind, message))
