"""JupyterLab's specification of the server, as jupyter-lsp takes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from normlint.faces import jupyter
from normlint.rules.registry import DOCS_URL

ROOT = Path(__file__).parents[2]
# what jupyter-lsp 2 knows of a specification
KINDS = {
    "version": int,
    "display_name": str,
    "argv": list,
    "languages": list,
    "mime_types": list,
    "requires_documents_on_disk": bool,
    "install": dict,
    "urls": dict,
}


def test_it_has_the_form_that_jupyter_lsp_asks_for() -> None:
    pytest.importorskip("pygls", reason="without it there is no server")
    found = jupyter.specs(None)
    assert list(found) == [jupyter.NAME]
    spec = found[jupyter.NAME]
    assert {key: type(value) for key, value in spec.items()} == KINDS
    assert (spec["version"], spec["languages"]) == (2, ["python"])
    assert DOCS_URL.startswith(spec["urls"]["home"].removesuffix("editors/"))


def test_what_it_starts_is_the_server(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="without it there is no server")
    argv = jupyter.specs(None)[jupyter.NAME]["argv"]
    ran = subprocess.run([*argv, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("normlint-server ")


def test_without_pygls_there_is_nothing_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jupyter.importlib.util, "find_spec", lambda name: None)
    assert jupyter.specs(None) == {}


@pytest.mark.parametrize("other", ["pylsp", "pyright", "basedpyright", "pyrefly", "jedi-language-server"])
def test_a_server_that_completes_code_keeps_its_place(other: str) -> None:
    """Of servers with the same rank JupyterLab runs the first one of the alphabet."""
    assert other < jupyter.NAME


def test_it_is_found_by_its_entry_point() -> None:
    toml = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    points = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert points["jupyter_lsp_spec_v1"] == {jupyter.NAME: f"{jupyter.__name__}:{jupyter.specs.__name__}"}
