"""The server itself: what it tells the editor, and what it asks it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Final

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from normlint import __version__
from normlint.faces.server.analysis import Checked
from normlint.faces.server.desk import Desk
from normlint.faces.server.diagnostics import diagnostics_of
from normlint.faces.server.documents import ExactWorkspace

LOG: Final = logging.getLogger("normlint.server")
SECTION: Final = "normlint"
_NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook("*", [types.NotebookCellLanguage("python")])]
)


class NormlintServer(LanguageServer):
    """One editor's server."""

    def __init__(self) -> None:
        super().__init__("normlint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.desk = Desk(self.show)
        self.given: Any = None
        self.waiting: set[asyncio.Future[Any]] = set()
        self._told: set[str] = set()

    @property
    def pulls(self) -> bool:
        """Does the editor ask for diagnostics, and can it be told to ask again? Else they are sent."""
        pulls = get_capability(self.client_capabilities, "text_document.diagnostic", None) is not None
        return pulls and self.can("workspace.diagnostics.refresh_support")

    @property
    def versioned(self) -> bool:
        """Can the editor tell whether an edit is meant for the text that it has?"""
        return self.can("workspace.workspace_edit.document_changes")

    def can(self, capability: str) -> bool:
        """Has the editor said that it can do this?"""
        return bool(get_capability(self.client_capabilities, capability, False))

    def begin(self, options: Any) -> None:
        """The editor has said what it can do; documents are kept from now on."""
        first = self.workspace
        folders = list(first.folders.values())
        exact = ExactWorkspace(first.root_uri, workspace_folders=folders, position_encoding=first.position_encoding)
        if not folders and first.root_uri:
            exact.add_folder(types.WorkspaceFolder(first.root_uri, "root"))
        self.protocol._workspace = exact  # noqa: SLF001 - pygls has no other way in
        self.desk.workspace = exact
        self.given = options
        self.warn(*self.desk.configure({"": [options]}))

    async def configure(self, told: Any = None) -> None:
        """Ask for the settings of each folder, or take what is told; what was given at the start holds below them."""
        folders = self.desk.folders
        answers = [told] * (len(folders) + 1)
        if self.can("workspace.configuration"):
            uris = [None, *(folder.uri for folder in self.desk.workspace.folders.values())]
            paths = [to_fs_path(uri) if uri else None for uri in uris]
            items = [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in uris]
            try:
                found = await self.workspace_configuration_async(types.ConfigurationParams(items=items))
            except JsonRpcException as error:
                LOG.warning("no configuration: %s", error)
                return
            by_path = dict(zip(paths, found, strict=False))
            answers = [by_path.get(path) for path in (None, *folders)]
        given = {folder: [self.given, answer] for folder, answer in zip(("", *folders), answers, strict=True)}
        self.warn(*self.desk.configure(given))
        self.reload()

    def reload(self) -> None:
        """Settings have changed: all is looked through anew."""
        self.desk.reload()
        if self.pulls:
            self.workspace_diagnostic_refresh(None)

    async def watch(self) -> None:
        """Ask to be told of changed configuration, as far as the editor can."""
        wanted: list[types.Registration] = []
        if self.can("workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher("**/pyproject.toml")]
            options: Any = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            wanted.append(types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
        if self.can("workspace.did_change_configuration.dynamic_registration"):
            options = types.DidChangeConfigurationRegistrationOptions(SECTION)
            wanted.append(types.Registration("settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
        if wanted:
            with contextlib.suppress(JsonRpcException):
                await self.client_register_capability_async(types.RegistrationParams(wanted))

    def show(self, checked: Checked) -> None:
        """Tell the editor what is known of a document now."""
        self.warn(*checked.told)
        for error in checked.report.errors:
            LOG.info("%s: %s", error.path, error.message)
        if self.pulls and not checked.document.cells:
            return
        for uri, found in diagnostics_of(checked).items():
            version = checked.document.version(uri)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def renew(self, checked: Checked) -> None:
        """The same where the text hasn't changed, but what is known of it has."""
        self.show(checked)
        if self.pulls:
            self.workspace_diagnostic_refresh(None)
        if self.can("workspace.code_lens.refresh_support"):
            self.workspace_code_lens_refresh(None)

    def clear(self, *uris: str) -> None:
        """Nothing is said of these texts any more."""
        for uri in uris:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def warn(self, *messages: str) -> None:
        """Each once."""
        for message in messages:
            if message not in self._told:
                self._told.add(message)
                self.say(f"normlint: {message}", types.MessageType.Warning)

    def forget_warnings(self) -> None:
        """The settings have changed: what is wrong now is said, be it what was wrong before."""
        self._told.clear()

    def say(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """To the user."""
        self.window_show_message(types.ShowMessageParams(kind, message))
