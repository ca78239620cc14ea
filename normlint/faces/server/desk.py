"""What the server holds: the documents that are open, the settings that hold for them, and what is known of each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pygls.uris import to_fs_path
from pygls.workspace import Workspace

from normlint.engine.settings import Configs
from normlint.faces.server import documents
from normlint.faces.server.analysis import Checked, check
from normlint.faces.server.documents import Document
from normlint.faces.server.options import Options, options_of

Answer = TypeVar("Answer")
TYPING: Final = 0.15  # seconds without a change after which a document is looked through


@dataclass(slots=True, eq=False)
class Opened:
    """An open document or notebook. `generation` counts its changes; what is `checked` may be of an older one."""

    uri: str
    generation: int = 0
    checked: Checked | None = None
    waiting: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def current(self) -> Checked | None:
        """What is known of it as it stands."""
        checked = self.checked
        return checked if checked is not None and checked.document.generation == self.generation else None


class Desk:
    """Everything here happens in the event loop; only `check` runs beside it, for one document at a time."""

    def __init__(self, show: Callable[[Checked], None]) -> None:
        self._show = show
        self._opened: dict[str, Opened] = {}
        self._pool = ThreadPoolExecutor(1, "normlint")
        self._options: dict[str, Options] = {"": Options()}
        self._configs: dict[str, Configs] = {}
        self.workspace = Workspace(None)

    @property
    def uris(self) -> tuple[str, ...]:
        """The documents and notebooks that are open."""
        return tuple(self._opened)

    @property
    def folders(self) -> tuple[str, ...]:
        """The directories of the workspace, the deepest first."""
        paths = (to_fs_path(folder.uri) for folder in self.workspace.folders.values())
        return tuple(sorted((path for path in paths if path), key=len, reverse=True))

    def configure(self, given: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Take the editor's settings by folder, "" for all others; what is wrong with them."""
        read = {folder: options_of(*values) for folder, values in given.items()}
        self._options = {"": Options(), **{folder: options for folder, (options, _) in read.items()}}
        return tuple(dict.fromkeys(message for _, wrong in read.values() for message in wrong))

    def options(self, uri: str) -> Options:
        """The editor's settings for a document."""
        return self._options.get(self._folder(self._path(uri)), self._options[""])

    def open(self, uri: str) -> None:
        """Something was opened; settings are read anew."""
        self._configs.clear()
        self._opened[uri] = Opened(uri)
        self.touch(uri, 0.0)

    def close(self, uri: str) -> None:
        """Forget it."""
        opened = self._opened.pop(uri, None)
        if opened is not None and opened.waiting is not None:
            opened.waiting.cancel()

    def touch(self, uri: str, delay: float = TYPING) -> None:
        """It has changed: look through it when nothing more has come for a while."""
        opened = self._opened.get(uri)
        if opened is None:
            return
        opened.generation += 1
        if opened.waiting is not None:
            opened.waiting.cancel()
        opened.waiting = asyncio.get_running_loop().create_task(self._later(opened, delay))

    def reload(self) -> None:
        """Settings have changed: all is looked through anew."""
        self._configs.clear()
        for uri in self.uris:
            self.touch(uri, 0.0)

    def stop(self) -> None:
        """The editor leaves."""
        for uri in self.uris:
            self.close(uri)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def current(self, uri: str) -> tuple[Opened, Checked] | None:
        """What is known of a document, or of the notebook of a cell, as it stands now; None for what isn't open."""
        opened = self._opened.get(self.home(uri))
        while opened is not None and self._opened.get(opened.uri) is opened:
            checked = opened.current or await self._checked(opened)
            if checked is None:
                return None
            if checked is opened.current:
                return opened, checked
        return None

    async def beside(self, work: Callable[[], Answer]) -> Answer:
        """Work with a document's text, which goes where all of it is done."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def home(self, uri: str) -> str:
        """The notebook of a cell; else the address itself."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook is not None else uri

    async def _later(self, opened: Opened, delay: float) -> None:
        await asyncio.sleep(delay)
        found = await self.current(opened.uri)
        if found is not None:
            self._show(found[1])

    async def _checked(self, opened: Opened) -> Checked | None:
        """What comes of a text that has changed in the meantime is dropped; None for a language that isn't ours."""
        async with opened.lock:
            if opened.current is not None:
                return opened.current
            document = self._document(opened)
            if document is None:
                return None
            configs, folders = self._configs_for(document.source.path), self.folders
            checked = await self.beside(lambda: check(document, configs, folders))
            if document.generation == opened.generation:
                opened.checked = checked
            return checked

    def _document(self, opened: Opened) -> Document | None:
        path = self._path(opened.uri)
        notebook = self.workspace.get_notebook_document(notebook_uri=opened.uri)
        if notebook is not None:
            texts = self.workspace.text_documents
            return documents.notebook(notebook, texts, path, opened.generation)
        return documents.text_document(self.workspace.get_text_document(opened.uri), path, opened.generation)

    def _path(self, uri: str) -> str:
        return documents.path_of(uri, next(iter(self.folders), os.getcwd()))

    def _folder(self, path: str) -> str:
        inside = (folder for folder in self.folders if path == folder or path.startswith(os.path.join(folder, "")))
        return next(inside, "")

    def _configs_for(self, path: str) -> Configs:
        folder = self._folder(path)
        if folder not in self._configs:
            options = self._options.get(folder, self._options[""])
            self._configs[folder] = Configs(options.over)
        return self._configs[folder]
