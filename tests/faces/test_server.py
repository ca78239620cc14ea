"""The language server, over its standard streams, with what a real editor says it can do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from normlint.rules.registry import RULES
from tests.editor import SERVER, Editor, capabilities, editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOUND = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.type_as(x)
"""
OVER_THE_LAST, OVER_ALL = "mean(-1, keepdim=True)", "mean()"
BROKEN = SOUND.replace(OVER_THE_LAST, OVER_ALL)
OUTSIDE = SOUND.replace(
    "torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)",
    "1 / (torch.sqrt(h.pow(2).mean(-1, keepdim=True)) + self.eps)",
)
BOTH = BROKEN + "\n\n" + OUTSIDE.partition("\n\n\n")[2].replace("RMSNorm", "OtherNorm")
CALL = "h.pow(2).mean()"
ALL_OF_IT = "source.fixAll"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ed() -> AsyncIterator[Editor]:
    """One server for all that don't ask for one of their own."""
    async with editor() as shared:
        yield shared


# --- nothing is said -------------------------------------------------------------------------------------------------

SILENT: dict[str, tuple[str, str, str]] = {
    "a sound norm": (SOUND, "", "python"),
    "an empty text": ("", "", "python"),
    "a text without a norm": ("x = 1\n", "", "python"),
    "a statement that is being typed": (BROKEN + "def f(\n", "", "python"),
    "a norm that is being typed": (BROKEN.replace("mean()", "mean("), "", "python"),
    "a text with a NUL": (BROKEN + "\0", "", "python"),
    "a language that isn't ours": (BROKEN, "", "toml"),
    "the JSON of a notebook": ('{"cells": []}' + BROKEN, "untitled:a.ipynb", "json"),
    "a cell without its notebook": (BROKEN, "vscode-notebook-cell:/a/b.ipynb#W0", "python"),
    "a page without Python": ("# mean() sqrt()\n", "", "markdown"),
    "a line that is silenced": (BROKEN.replace("+ self.eps)", "+ self.eps)  # noqa: NRM101"), "", "python"),
    "a file that is silenced": ("# normlint: skip-file\n" + BROKEN, "", "python"),
    "a package that is installed": (BROKEN, "file:///usr/lib/python3/site-packages/a/b.py", "python"),
}


@pytest.mark.parametrize(("text", "uri", "language"), SILENT.values(), ids=SILENT)
async def test_nothing_is_said_of(text: str, uri: str, language: str, ed: Editor) -> None:
    where = ed.open(text, uri, language)
    assert await ed.settled(where) == []
    assert await ed.actions(where, types.Position(0, 0), "quickfix", ALL_OF_IT) == []
    assert ed.messages == []
    ed.close(where)


NOTHING_THERE = ("untitled:never-opened", "file:///no/such/file.py", "http://example.org/a.py")


@pytest.mark.parametrize("uri", NOTHING_THERE)
async def test_a_text_that_is_not_open_has_no_answers(uri: str, ed: Editor) -> None:
    assert await ed.hover(uri, types.Position(3, 3)) == ""
    assert await ed.actions(uri, types.Position(3, 3)) == []
    assert await ed.command("normlint.applyFixAll", uri) is False


# --- as one types ----------------------------------------------------------------------------------------------------


async def test_findings_come_and_go_as_one_types(ed: Editor) -> None:
    uri = ed.open(SOUND)
    assert await ed.codes(uri, []) == []
    ed.type(uri, OVER_THE_LAST, OVER_ALL)
    assert await ed.codes(uri, ["NRM101"])
    ed.type(uri, "h.type_as(x)", "h.type_as(x")
    assert await ed.codes(uri, []) == []
    ed.type(uri, "h.type_as(x", "h.type_as(x)")
    assert await ed.codes(uri, ["NRM101"])
    ed.type(uri, OVER_ALL, OVER_THE_LAST)
    assert await ed.codes(uri, []) == []


async def test_a_notebook_that_the_editor_shows_as_one_text_is_python(ed: Editor) -> None:
    assert await ed.codes(ed.open(BROKEN, "file:///a/b.ipynb"), ["NRM101"])


async def test_a_finding_says_where_what_and_where_to_read_on(ed: Editor) -> None:
    uri = ed.open(BROKEN)
    (found,) = await ed.problems(uri, ["NRM101"])
    at = BROKEN.index(CALL)
    assert found.range == ed.range(uri, at, at + len(CALL))
    assert found.severity == types.DiagnosticSeverity.Error
    assert found.source == "normlint"
    assert found.code_description
    assert found.code_description.href == RULES["NRM101"].url
    assert found.message.startswith("`mean` without a dim")


BEFORE = {
    "letters": "abc",
    "letters beyond ASCII": "é",
    "letters beyond 16 bits": "😋𝒳",
    "a form feed": "\f",
    "separators of lines that end none": "\u2028\x0b\x85",
}
ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_columns_count_in_the_units_that_were_agreed(encoding: str) -> None:
    codec, width = ENCODINGS[encoding]
    async with editor(can=capabilities(general__position_encodings=[encoding])) as own:
        for before in BEFORE.values():
            line = f"        _ = '{before}'; h = h * torch.rsqrt(h.pow(2).mean() + self.eps)"
            uri = own.open(SOUND.replace("        h = h *", f"        _ = '{before}'; h = h *"))
            own.type(uri, OVER_THE_LAST, OVER_ALL)
            (found,) = await own.problems(uri, ["NRM101"])
            column = len(line[: line.index(CALL)].encode(codec)) // width
            assert found.range.start == types.Position(12, column)
        assert own.result.capabilities.position_encoding == encoding


async def test_text_after_an_odd_line_break_stays_in_step(ed: Editor) -> None:
    uri = ed.open("# a\f\u2028\x1c b\r\n# c\r" + SOUND.replace("\n", "\r\n"))
    ed.type(uri, OVER_THE_LAST, OVER_ALL)
    (found,) = await ed.problems(uri, ["NRM101"])
    assert found.range.start == ed.at(uri, CALL)
    assert found.range.start.line == BROKEN[: BROKEN.index(CALL)].count("\n") + 2


async def test_a_suggestion_about_style_is_no_warning() -> None:
    async with editor(options={"extendSelect": ["NRM602"]}) as own:
        uri = own.open(SOUND)
        (found,) = await own.problems(uri, ["NRM602"])
        assert found.severity == types.DiagnosticSeverity.Information


async def test_what_is_closed_is_forgotten(ed: Editor) -> None:
    uris = [ed.open(BROKEN) for _ in range(20)]
    for uri in uris:
        assert await ed.codes(uri, ["NRM101"])
    for uri in uris:
        ed.close(uri)
        assert await ed.codes(uri, []) == []
        assert await ed.hover(uri, types.Position(12, 40)) == ""


# --- fixes -----------------------------------------------------------------------------------------------------------

FIXES: dict[str, tuple[str, str, str, bool | None]] = {
    "a safe fix is the preferred one": (BROKEN, CALL, SOUND, True),
    "an unsafe fix says so": (OUTSIDE, "torch.sqrt", "", None),
}


@pytest.mark.parametrize(("text", "where", "fixed", "preferred"), FIXES.values(), ids=FIXES)
async def test_quick(text: str, where: str, fixed: str, preferred: bool | None, ed: Editor) -> None:
    uri = ed.open(text)
    fix, disable, *_ = await ed.actions(uri, ed.at(uri, where), "quickfix")
    assert fix.is_preferred is preferred
    assert ("(unsafe)" in fix.title) is not preferred
    assert fix.diagnostics
    assert fix.title.startswith(f"{fix.diagnostics[0].code}: ")
    assert disable.title == f"Disable {fix.diagnostics[0].code} for this line"
    assert fix.edit
    ed.apply(fix.edit)
    assert await ed.codes(uri, []) == []
    assert ed.texts[uri].source == (fixed or ed.texts[uri].source)


async def test_a_finding_is_silenced_in_its_line_alone(ed: Editor) -> None:
    uri = ed.open(BOTH.replace("def forward(self, x):\n", "def forward(self, x):\n        print(x)\n", 1))
    assert await ed.codes(uri, ["NRM503", "NRM101", "NRM302"])
    *_, disable = (one for one in await ed.actions(uri, ed.at(uri, CALL), "quickfix") if "Disable" in one.title)
    assert disable.edit
    ed.apply(disable.edit)
    assert await ed.codes(uri, ["NRM503", "NRM302"])
    assert "mean() + self.eps)  # noqa: NRM101\n" in ed.texts[uri].source


ROOT = Path(__file__).parents[2] / "fixtures"
FILES = ("demo/rmsnorm.py", "seeds/review.md", "seeds/article.md", "seeds/prenorm.md")


@pytest.mark.parametrize("safety", ["safe", "unsafe"])
async def test_all_fixes_on_save_are_the_commands(safety: str, tmp_path: Path) -> None:
    paths = [tmp_path / Path(name).name for name in FILES]
    for path, name in zip(paths, FILES, strict=True):
        path.write_bytes((ROOT / name).read_bytes())
    after = {}
    async with editor(tmp_path, options={"unsafeFixes": safety == "unsafe"}) as own:
        for path in paths:
            uri = own.open(path.read_text(encoding="utf-8"), path, "markdown" if path.suffix == ".md" else "python")
            for action in await own.actions(uri, types.Position(0, 0), ALL_OF_IT):
                assert action.kind == "source.fixAll.normlint"
                assert action.edit
                own.apply(action.edit)
            after[path] = own.texts[uri].source
    option = "--unsafe-fixes" if safety == "unsafe" else "--no-unsafe-fixes"
    subprocess.run(
        [sys.executable, "-m", "normlint", "--fix", "--no-verify", option, str(tmp_path)], check=False, cwd=tmp_path
    )
    assert after == {path: path.read_text(encoding="utf-8") for path in paths}
    assert any(path.read_bytes() != (ROOT / name).read_bytes() for path, name in zip(paths, FILES, strict=True))


async def test_the_command_makes_all_fixes_in_one_versioned_edit() -> None:
    can = capabilities(workspace__workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True))
    async with editor(can=can) as own:
        uri = own.open(BOTH)
        offered = [one for one in await own.actions(uri, own.at(uri, CALL)) if one.command]
        make = next(one.command for one in offered if one.command and one.kind == "source.fixAll.normlint")
        assert await own.command(make.command, *make.arguments or ()) is True
        assert await own.codes(uri, ["NRM302"])
        assert own.texts[uri].source == BOTH.replace(OVER_ALL, OVER_THE_LAST)
        assert await own.command(make.command, *make.arguments or ()) is False


# --- what is said of a place -----------------------------------------------------------------------------------------

HOVERS: dict[str, tuple[str, list[str], list[str]]] = {
    "an import": ("import torch", [], ["RMSNorm", "NRM"]),
    "another method": ("__init__", [], ["RMSNorm.forward"]),
    "a finding": (CALL, ["global-reduction (NRM101)", RULES["NRM101"].consequence, RULES["NRM101"].url, "mean[*]"], []),
    "the class": ("RMSNorm(nn", ["RMSNorm.forward", "mean[*] | eps"], ["OtherNorm", "NRM101"]),
    "the other class": ("OtherNorm(nn", ["OtherNorm.forward", "mean[-1] keepdim"], ["RMSNorm.forward"]),
    "the method": ("forward(self", ["RMSNorm.forward"], ["OtherNorm", "NRM101"]),
}


@pytest.mark.parametrize(("where", "said", "unsaid"), HOVERS.values(), ids=HOVERS)
async def test_the_hover_over(where: str, said: list[str], unsaid: list[str], ed: Editor) -> None:
    uri = ed.open(BOTH)
    text = await ed.hover(uri, ed.at(uri, where))
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []
    assert bool(text) == bool(said)
    assert "```" not in text
    assert len(text.splitlines()) <= 10


# --- what goes wrong -------------------------------------------------------------------------------------------------

FAILING = """
import normlint.rules.blocks as module, normlint.rules as rules
from normlint.faces.server.command import main
def failing(of):
    def called(text, **options):
        print("what a library may print")
        if "BOOM" in text:
            raise RuntimeError("boom")
        return of(text, **options)
    return called
module.analyse_blocks, rules.analyse = failing(module.analyse_blocks), failing(rules.analyse)
main([])
"""


async def test_a_bug_in_the_analysis_costs_that_document_alone() -> None:
    async with editor(server=(sys.executable, "-c", FAILING)) as own:
        bad, good = own.open(BROKEN + "# BOOM\n"), own.open(BROKEN)
        assert await own.codes(good, ["NRM101"])
        await own.message("internal error: RuntimeError: boom")
        assert await own.codes(bad, []) == []
        own.type(bad, "# BOOM", "# calm")
        assert await own.codes(bad, ["NRM101"])
        assert len(own.messages) == 1


WRONG_CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a command that isn't there": ("normlint.nothing", ()),
    "a command without its arguments": ("normlint.verify", ()),
    "a command with too many": ("normlint.applyFixAll", ("a", "b", "c")),
}


@pytest.mark.parametrize(("name", "arguments"), WRONG_CALLS.values(), ids=WRONG_CALLS)
async def test_is_answered_with_an_error(name: str, arguments: tuple[Any, ...], ed: Editor) -> None:
    from pygls.exceptions import JsonRpcException

    with pytest.raises(JsonRpcException):
        await ed.command(name, *arguments)
    assert await ed.codes(ed.open(BROKEN), ["NRM101"])


# --- the command -----------------------------------------------------------------------------------------------------


async def test_it_answers_an_editor_before_it_imports_what_reads_and_runs_norms() -> None:
    code = "import sys, normlint.faces.server.features; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = ("normlint.norm", "normlint.evaluate", "normlint.fixes", "normlint.rules", "normlint.verify", "libcst")
    assert [one for one in ran.stdout.split() if one.startswith(late)] == []


async def test_it_says_its_version() -> None:
    ran = subprocess.run([*SERVER, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("normlint-server ")


@pytest.mark.parametrize("asked", [[], ["--version"]], ids=["to serve", "for its version"])
async def test_without_pygls_it_says_what_to_install_when_it_is_asked(asked: list[str]) -> None:
    without = (
        "import sys; sys.modules['pygls'] = None\nfrom normlint.faces.server.command import main\nsys.exit(main())"
    )
    ran = subprocess.run([sys.executable, "-c", without, *asked], capture_output=True, text=True, check=False, input="")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install 'normlint[lsp]'" in ran.stderr
