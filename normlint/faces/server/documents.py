"""Turn an editor's open documents into sources and lint them; the files on disk are not read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import PositionCodec, TextDocument, Workspace

from normlint.engine.discovery import Configs
from normlint.engine.linter import attempt, guarded, report_on
from normlint.engine.report import Failure, Report
from normlint.engine.selection import Demand, demand_of
from normlint.engine.settings import Settings
from normlint.text.notebooks import code_cells
from normlint.text.raw import MARKDOWN, NOTEBOOK, PYTHON, SUFFIXES, BadSourceError
from normlint.text.read import refuse_huge
from normlint.text.source import Place, Source, split_lines

if TYPE_CHECKING:
    from normlint.engine.fix import Fixed

_LANGUAGES: Final = {"python": PYTHON, "markdown": MARKDOWN}


class ExactDocument(TextDocument):
    """A text whose lines end where the protocol says, unlike `str.splitlines` not at form feeds or separators."""

    @property
    def lines(self) -> Sequence[str]:
        """Return the lines with their line ends."""
        return tuple(split_lines(self.source))


class ExactWorkspace(Workspace):
    """A workspace of ExactDocuments."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> ExactDocument:
        return ExactDocument(doc_uri, source, version, language_id, position_codec=self.position_codec)


@dataclass(frozen=True, slots=True)
class Document:
    """A snapshot of an open text, or of a notebook with all its cells.

    `cells`: the URI of each cell of a notebook by number. `versions`: the editor's version of each text by URI.
    """

    uri: str
    source: Source
    generation: int
    codec: PositionCodec
    cells: tuple[tuple[int, str], ...] = ()
    versions: tuple[tuple[str, int | None], ...] = ()

    @property
    def homes(self) -> tuple[str, ...]:
        """Return the URIs of its texts."""
        return tuple(uri for uri, _ in self.versions)

    def home(self, cell: int | None) -> str:
        """Return the URI of the text or of the cell with this number."""
        return self.uri if cell is None else dict(self.cells)[cell]

    def cell(self, uri: str) -> int | None:
        """Return the number of the cell with this URI; None outside notebooks."""
        return next((number for number, own in self.cells if own == uri), None)

    def version(self, uri: str) -> int | None:
        """Return the editor's version of a text."""
        return dict(self.versions).get(uri)

    def position(self, place: Place) -> types.Position:
        """Convert a place to a position in the editor's encoding."""
        line = next(iter(self.source.lines(place.cell, place.line, place.line)), "")
        return types.Position(place.line - 1, self.codec.client_num_units(line[: place.column - 1]))

    def range(self, start: Place, end: Place) -> types.Range:
        """Convert a start and end to a range in the editor's encoding."""
        return types.Range(self.position(start), self.position(end))


def text_document(document: TextDocument, path: str, generation: int) -> Document | None:
    """Return the document of an open text; None for a language that normlint doesn't read."""
    kind = _kind(document)
    if kind is None:
        return None
    source = Source(path, document.source, kind)
    versions = ((document.uri, document.version),)
    return Document(document.uri, source, generation, document.position_codec, versions=versions)


def notebook_document(
    notebook: types.NotebookDocument, texts: Mapping[str, TextDocument], path: str, generation: int
) -> Document:
    """Return the document of an open notebook; cells in other languages are counted but hold no code."""
    found = ((cell, texts.get(unquote(cell.document))) for cell in notebook.cells)
    cells = [(cell, text) for cell, text in found if text is not None]
    written: list[dict[str, object]] = [
        {"cell_type": "code" if _is_code(cell, text) else "markdown", "metadata": {}, "source": text.source}
        for cell, text in cells
    ]
    held = json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False)
    return Document(
        notebook.uri,
        Source(path, held, NOTEBOOK, cells=code_cells(held)),
        generation,
        cells[0][1].position_codec if cells else PositionCodec(),
        tuple((number, text.uri) for number, (_, text) in enumerate(cells, 1)),
        tuple((text.uri, text.version) for _, text in cells),
    )


def path_of(uri: str, folder: str) -> str:
    """Return the path of a document; for an unsaved one its name in the folder."""
    path = to_fs_path(uri) if uri_scheme(uri) in ("file", "vscode-notebook-cell") else None
    return path or os.path.join(folder, os.path.basename(uri.partition(":")[2]) or "untitled")


def _kind(document: TextDocument) -> str | None:
    by_name = SUFFIXES.get(os.path.splitext(document.filename or "")[1].lower())
    if by_name == NOTEBOOK:  # a cell, the JSON, or (JupyterLab, jupytext) all its code as one text
        alone = uri_scheme(document.uri) == "vscode-notebook-cell"
        return None if alone else _LANGUAGES.get(document.language_id or "")
    return by_name or _LANGUAGES.get(document.language_id or "python")


def _is_code(cell: types.NotebookCell, text: TextDocument) -> bool:
    return cell.kind == types.NotebookCellKind.Code and (text.language_id or "python") == "python"


@dataclass(frozen=True, slots=True)
class Checked:
    """A document and the report on it; `warnings`: messages that belong to no line, to be shown once."""

    document: Document
    demand: Demand
    report: Report = field(default_factory=Report)
    warnings: tuple[str, ...] = ()


def check(document: Document, configs: Configs, folders: Sequence[str]) -> Checked:
    """Lint a document with its file's settings; the report is empty if the file is excluded."""
    path = document.source.path
    settings = configs.of(path)
    broken = tuple(str(error) for error in configs.errors.values())
    demand = demand_of(settings, path)
    if is_excluded(path, settings, folders):
        return Checked(document, demand, warnings=broken)
    report = look(document, demand)
    bugs = tuple(f"{path}: {error.message}" for error in report.errors if error.internal)
    return Checked(document, demand, report, broken + bugs)


def look(document: Document, demand: Demand) -> Report:
    """Lint a document; if making fixes fails, report its findings without fixes."""
    return guarded(document.source.path, lambda wanted: _report(document.source, wanted), demand)


def with_all_fixes(checked: Checked) -> Fixed | None:
    """Make all fixes the settings allow; None if that fails."""
    from normlint.engine.fix import FixRequest, fix

    source = checked.document.source
    done = attempt(source.path, lambda: fix(source, FixRequest(checked.demand)))
    return None if isinstance(done, Failure) else done


def is_excluded(path: str, settings: Settings, folders: Sequence[str]) -> bool:
    """Return whether the file is excluded by the project's patterns, or is part of an installed package."""
    path = os.path.abspath(path)
    tops = {os.path.abspath(top) for top in (settings.root, *folders)}
    chain = [path]
    while (above := os.path.dirname(chain[-1])) not in {*tops, chain[-1]}:
        chain.append(above)
    if above not in tops:
        return "site-packages" in path.split(os.sep)
    return any(settings.excludes(step) for step in chain)


def _report(source: Source, demand: Demand) -> Report:
    if "\0" in source.text:
        raise BadSourceError("binary file: it holds NUL bytes")
    refuse_huge(source.text)
    return report_on(source, demand)
