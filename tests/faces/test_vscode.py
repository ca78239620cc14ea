"""The extension for Visual Studio Code: it says what the server and the pages say, and passes its own tests."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normlint import __version__
from normlint.faces.server import command
from normlint.faces.server.options import KNOWN, Options, options_of

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
OWN = ("path", "trace.server")
pytestmark = pytest.mark.skipif(not EXTENSION.exists(), reason="the sdist is without the extension")


def text(name: str) -> str:
    return (EXTENSION / name).read_text(encoding="utf-8")


def package() -> dict[str, Any]:
    return json.loads(text("package.json"))


def properties() -> dict[str, dict[str, Any]]:
    found = package()["contributes"]["configuration"]["properties"]
    return {name.removeprefix("normlint."): one for name, one in found.items()}


def section() -> str:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    return page.partition("## Visual Studio Code")[2].partition("\n## ")[0]


def test_its_version_and_license_are_the_project_s() -> None:
    locked = json.loads(text("package-lock.json"))
    assert package()["version"] == locked["version"] == locked["packages"][""]["version"] == __version__
    assert text("LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_no_registry_is_named_where_its_packages_come_from() -> None:
    locked = json.loads(text("package-lock.json"))["packages"]
    assert [name for name, one in locked.items() if "resolved" in one] == []
    assert [name for name, one in locked.items() if name and "integrity" not in one] == []


def test_its_settings_are_the_server_s_and_its_own() -> None:
    assert tuple(properties()) == (OWN[0], *KNOWN, OWN[1])


def test_a_setting_that_nobody_has_changed_is_the_server_s_default() -> None:
    given = {name: one["default"] for name, one in properties().items() if name not in OWN}
    assert options_of(given) == (Options(), ())
    assert [field.name for field in dataclasses.fields(Options)] == [
        re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name) for name in KNOWN
    ]


def test_the_code_reads_and_the_page_names_its_own_settings() -> None:
    code = text("src/extension.ts")
    assert re.findall(r"\.get\(\"([\w.]+)\"", code) == ["path"]
    assert re.findall(r"^\| `normlint\.([\w.]+)` \|", section(), re.MULTILINE) == list(OWN)
    assert re.findall(
        r"path: _path, trace: _trace", text("src/server.ts")
    )  # vscode-languageclient reads `trace.server`


def test_its_commands_are_registered_and_on_both_pages() -> None:
    wanted = {one["command"]: f"*{one['category']}: {one['title']}*" for one in package()["contributes"]["commands"]}
    assert set(re.findall(r"registerCommand\(\"([\w.]+)\"", text("src/extension.ts"))) == set(wanted)
    for page in (section(), text("README.md")):
        assert re.findall(r"^\| (\*.*?\*) \|", page, re.MULTILINE) == list(wanted.values())


def test_it_runs_the_server_s_module_and_names_the_extra() -> None:
    code = text("src/server.ts")
    assert re.findall(r'MODULE = "(.*)"', code) == [command.__name__]
    assert "normlint[lsp]" in code


def test_its_own_tests_pass() -> None:
    """Which server is found, and a session with the real one."""
    npm = shutil.which("npm")
    if npm is None or not (EXTENSION / "node_modules" / "esbuild").exists():
        pytest.skip("the extension's packages are not installed: npm ci in editors/vscode")
    pytest.importorskip("pygls", reason="the server needs it")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"NORMLINT_PYTHON": sys.executable, "PYTHONPATH": paths}
    run = [npm, "test"]
    ran = subprocess.run(
        run, cwd=EXTENSION, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"^(#|ℹ) fail 0$", ran.stdout, re.MULTILINE)
