"""The language server in a workspace: settings, folders, notebooks, pages; and norms that it runs."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from normlint.faces.server.options import KNOWN
from tests.editor import Editor, capabilities, editor
from tests.faces.test_server import ALL_OF_IT, BOTH, BROKEN, CALL, OUTSIDE, OVER_ALL, OVER_THE_LAST, SOUND

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.asyncio(loop_scope="function")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text(encoding="utf-8")

# --- settings --------------------------------------------------------------------------------------------------------

# What the project says, what the editor answers, the findings there, and the message that is shown.
SETTINGS: dict[str, tuple[str, Any, list[str], str]] = {
    "the editor's": ("", {"select": ["eps-outside-sqrt"]}, ["NRM302"], ""),
    "the editor's over the project's": ('select = ["NRM3"]', {"select": ["NRM1"]}, ["NRM101"], ""),
    "the editor's besides the project's": ('select = ["NRM3"]', {"extendSelect": ["NRM1"]}, ["NRM101", "NRM302"], ""),
    "an excluded directory": ('exclude = ["inner"]', {}, [], ""),
    "a file that the editor excludes": ("", {"extendExclude": ["inner/*"]}, [], ""),
    "what an editor's extension keeps there": (
        "", {"server": "x", "trace": {}, "select": None}, ["NRM101", "NRM302"], "",
    ),
    "a setting of another name": ("", {"selct": ["NRM3"]}, ["NRM101", "NRM302"], "unknown setting 'selct'"),
    "a code that isn't there": ("", {"select": ["NRM777"]}, ["NRM101", "NRM302"], "unknown rule 'NRM777'"),
    "a broken pyproject.toml": ("select = 3", {}, ["NRM101", "NRM302"], "select must be a list"),
}  # fmt: skip


@pytest.mark.parametrize(("project", "asked", "codes", "message"), SETTINGS.values(), ids=SETTINGS)
async def test_settings_of(project: str, asked: Any, codes: list[str], message: str, tmp_path: Path) -> None:
    configured(tmp_path, project)
    async with editor(tmp_path, settings={"": asked}) as own:
        uri = own.open(BOTH, tmp_path / "inner" / "a.py")
        assert await own.codes(uri, codes) == codes
        if message:
            await own.message(message)
        assert await own.settled(uri) == codes
        assert len(own.messages) == bool(message)


START: dict[str, tuple[Any, Any, list[str]]] = {
    "at the start, wrapped": ({"settings": {"ignore": ["NRM1"]}}, None, ["NRM302"]),
    "asked for later, over those at the start": ({"select": ["NRM3"]}, {"select": ["NRM1"]}, ["NRM101"]),
}


@pytest.mark.parametrize(("start", "asked", "codes"), START.values(), ids=START)
async def test_settings_that_the_editor_gives(start: Any, asked: Any, codes: list[str], tmp_path: Path) -> None:
    async with editor(tmp_path, options=start, settings={"": asked} if asked else None) as own:
        assert await own.codes(own.open(BOTH, tmp_path / "a.py"), codes) == codes
        assert own.messages == []


async def test_the_page_has_every_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Settings")[2].partition("\n## ")[0], re.MULTILINE)
    assert tuple(rows) == KNOWN


async def test_the_examples_on_the_page_are_what_they_say_they_are() -> None:
    blocks = re.findall(r"^```(json|toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    for language, text in blocks:
        (json.loads if language == "json" else tomllib.loads)(text)


async def test_each_folder_and_each_file_has_its_project_s(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    configured(first, 'select = ["NRM3"]')
    configured(first / "deep", 'select = ["NRM1"]')
    configured(second, "")
    async with editor(first, second, settings={"": {"ignore": ["NRM3"]}}) as own:
        for path, codes in ((first, []), (first / "deep", ["NRM101"]), (second, ["NRM101"])):
            assert await own.codes(own.open(BOTH, path / "a.py"), codes) == codes


async def test_changed_settings_hold_with_the_next_change(tmp_path: Path) -> None:
    configured(tmp_path, 'select = ["NRM3"]')
    async with editor(tmp_path) as own:
        uri = own.open(BOTH, tmp_path / "a.py")
        assert await own.codes(uri, ["NRM302"])
        configured(tmp_path, 'select = ["NRM1"]')
        own.replace(uri, BOTH + "\n")
        assert await own.codes(uri, ["NRM101"])
        own.client.set_configuration({"normlint": {"select": ["NRM3"]}})
        own.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
        assert await own.codes(uri, ["NRM302"])


async def test_an_editor_that_is_not_asked_sends_its_settings() -> None:
    async with editor(can=capabilities(workspace__configuration=False)) as own:
        uri = own.open(BOTH)
        assert await own.codes(uri, ["NRM101", "NRM302"])
        sent = {"normlint": {"select": ["NRM3"]}}
        own.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(sent))
        assert await own.codes(uri, ["NRM302"])


# --- pages and notebooks ---------------------------------------------------------------------------------------------


async def test_a_block_in_a_page_is_python() -> None:
    async with editor() as own:
        uri = own.open(
            f"# A page\n\n> ```python\n{'> ' + BROKEN.strip().replace(chr(10), chr(10) + '> ')}\n> ```\n",
            "",
            "markdown",
        )
        (found,) = await own.problems(uri, ["NRM101"])
        assert found.range.start == own.at(uri, CALL)
        (fix, *_) = await own.actions(uri, own.at(uri, CALL), "quickfix")
        assert fix.edit
        own.apply(fix.edit)
        assert await own.codes(uri, []) == []
        assert OVER_THE_LAST in own.texts[uri].source


IMPORTS, _, NORM = BROKEN.partition("\n\n\n")
NOTEBOOK = "file:///a/b.ipynb"
CELLS = ((1, "markdown", "# mean() sqrt()"), (2, "python", f"%pip install torch\n{IMPORTS}"), (2, "python", NORM))


def cell(kind: int, number: int) -> types.NotebookCell:
    return types.NotebookCell(types.NotebookCellKind(kind), f"{NOTEBOOK}#{number}")


def open_notebook(own: Editor) -> None:
    texts = [types.TextDocumentItem(f"{NOTEBOOK}#{n}", lang, 1, text) for n, (_, lang, text) in enumerate(CELLS)]
    notebook = types.NotebookDocument(
        NOTEBOOK, "jupyter-notebook", 1, [cell(kind, n) for n, (kind, *_) in enumerate(CELLS)]
    )
    own.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))


def change_notebook(own: Editor, change: types.NotebookDocumentCellChanges) -> None:
    document = types.VersionedNotebookDocumentIdentifier(2, NOTEBOOK)
    params = types.DidChangeNotebookDocumentParams(document, types.NotebookDocumentChangeEvent(cells=change))
    own.client.notebook_document_did_change(params)


def notebooks() -> types.ClientCapabilities:
    sync = types.NotebookDocumentSyncClientCapabilities()
    return capabilities(notebook_document=types.NotebookDocumentClientCapabilities(sync))


async def test_a_notebook_is_one_piece_of_python() -> None:
    async with editor(can=notebooks()) as own:
        assert own.result.capabilities.notebook_document_sync
        open_notebook(own)
        uri = f"{NOTEBOOK}#2"
        (found,) = await own.problems(uri, ["NRM101"])
        before = NORM[: NORM.index(CALL)].split("\n")
        at = types.Position(len(before) - 1, len(before[-1]))
        assert found.range.start == at
        assert await own.codes(f"{NOTEBOOK}#1") == []
        assert "NRM101" in await own.hover(uri, at)
        (fix, disable, *_) = await own.actions(uri, at, "quickfix")
        for action in (fix, disable, *await own.actions(uri, at, ALL_OF_IT)):
            assert action.edit
            assert list(action.edit.changes or ()) == [uri]


async def test_cells_change_come_and_go() -> None:
    async with editor(can=notebooks()) as own:
        open_notebook(own)
        uri, more = f"{NOTEBOOK}#2", f"{NOTEBOOK}#3"
        assert await own.codes(uri, ["NRM101"])
        line = NORM[: NORM.index(OVER_ALL)].count("\n")
        column = NORM.split("\n")[line].index(OVER_ALL)
        where = types.Range(types.Position(line, column), types.Position(line, column + len(OVER_ALL)))
        edit = types.TextDocumentContentChangePartial(where, OVER_THE_LAST)
        content = types.NotebookDocumentCellContentChanges(types.VersionedTextDocumentIdentifier(2, uri), [edit])
        change_notebook(own, types.NotebookDocumentCellChanges(text_content=[content]))
        assert await own.codes(uri, []) == []
        array = types.NotebookCellArrayChange(3, 0, [cell(2, 3)])
        opened = types.TextDocumentItem(more, "python", 1, OUTSIDE.partition("\n\n\n")[2])
        change = types.NotebookDocumentCellChangeStructure(array, did_open=[opened])
        change_notebook(own, types.NotebookDocumentCellChanges(structure=change))
        assert await own.codes(more, ["NRM302"])
        gone = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(3, 1), did_close=[types.TextDocumentIdentifier(more)]
        )
        change_notebook(own, types.NotebookDocumentCellChanges(structure=gone))
        assert await own.codes(more, []) == []
        texts = [types.TextDocumentIdentifier(f"{NOTEBOOK}#{n}") for n in range(3)]
        closed = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(NOTEBOOK), texts)
        own.client.notebook_document_did_close(closed)
        assert await own.hover(uri, types.Position(0, 0)) == ""


# --- norms that are run ----------------------------------------------------------------------------------------------


@needs_torch
async def test_a_norm_is_run_when_it_is_asked_for() -> None:
    text = f"{SOUND}\n\n{OUTSIDE.partition(chr(10) * 3)[2].replace('RMSNorm', 'OtherNorm')}"
    async with editor(options={"device": "cpu"}) as own:
        uri = own.open(text)
        assert await own.codes(uri, ["NRM302"])
        assert (await own.command("normlint.verify", uri, 0))["status"] == "match"
        assert own.messages == ["normlint: RMSNorm.forward: match on cpu (on these inputs; that is evidence, no proof)"]
        own.replace(uri, text.replace(OVER_THE_LAST, OVER_ALL, 1))
        assert await own.codes(uri, ["NRM101", "NRM302"])
        assert "verify" not in str(own.client.diagnostics[uri])
        ran = await own.command("normlint.verify", uri, {"line": own.at(uri, CALL).line})
        assert (ran["qualname"], ran["status"]) == ("RMSNorm.forward", "wrong")
        found = [one.message for one in await own.problems(uri, ["NRM101", "NRM302"])]
        assert ["verify: wrong on cpu: changing one token" in message for message in found] == [True, False]


LARGE = "x.new_ones(2000, 2000)"  # a tenth of a second a product: the budget of steps lasts longer than the test
WAITING = SOUND.replace(
    "        h = x.float()\n",
    f"        h = x.float()\n        for _ in range(10**12):\n            {LARGE} @ {LARGE}\n",
)


@needs_torch
async def test_a_norm_that_never_ends_keeps_neither_the_server_nor_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with editor(options={"device": "cpu", "verifyTimeout": 120}) as own:
        uri = own.open(WAITING)
        assert await own.codes(uri) == []
        running = asyncio.create_task(own.command("normlint.verify", uri, 0))
        while not list(tmp_path.iterdir()):
            assert not running.done()
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        assert not running.done()
        own.type(uri, OVER_THE_LAST, OVER_ALL)
        assert await own.codes(uri, ["NRM101"])
        await asyncio.wait_for(own.client.shutdown_session(), 60)  # and not when the norm's time is over
        assert list(tmp_path.iterdir()) == []
        running.cancel()
        own.client.capabilities = None  # it has ended


NO_TORCH = "import sys; sys.modules['torch'] = None\nfrom normlint.faces.server.command import main\nmain([])"


async def test_without_torch_it_says_what_to_install() -> None:
    async with editor(server=(sys.executable, "-c", NO_TORCH)) as own:
        uri = own.open(BROKEN)
        assert (await own.command("normlint.verify", uri, 0))["status"] is None
        await own.message("pip install 'normlint[lsp,verify]'")
        assert await own.codes(uri, ["NRM101"])
        assert await own.command("normlint.verify", own.open("x = 1\n"), {"line": 0}) is None
        await own.message("there is no norm here")


def configured(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.normlint]\n{text}\n")
