"""The extension for Visual Studio Code: it says what the server and the pages say, and passes its own tests."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from normlint import __version__
from normlint.faces.server import command
from normlint.faces.server.options import KNOWN, Options, options_of

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
OWN = ("path", "trace.server")
EDITOR = os.environ.get("NORMLINT_VSCODE")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATHS = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
ENVIRONMENT = os.environ | {"NORMLINT_PYTHON": sys.executable, "PYTHONPATH": PATHS}
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


# --- what needs its packages -----------------------------------------------------------------------------------------


def npm(*arguments: str) -> str:
    """What npm prints in the extension's directory, with this interpreter's server at hand."""
    program = shutil.which("npm")
    if program is None or not (EXTENSION / "node_modules" / "esbuild").exists():
        pytest.skip("the extension's packages are not installed: npm ci in editors/vscode")
    pytest.importorskip("pygls", reason="the server needs it")
    ran = subprocess.run(
        [program, *arguments],
        cwd=EXTENSION,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def test_its_own_tests_pass() -> None:
    """Which server is found, and a session with the real one."""
    assert re.search(r"^(#|ℹ) fail 0$", npm("test"), re.MULTILINE)


def test_a_session_in_the_editor_itself(tmp_path: Path) -> None:
    """The package, in VS Code's own server, with Chromium for its window."""
    if EDITOR is None or CHROMIUM is None:
        pytest.skip("NORMLINT_VSCODE names no VS Code server, or there is no Chromium")
    npm("run", "package", "--", "--out", str(tmp_path / "normlint.vsix"))
    zipfile.ZipFile(tmp_path / "normlint.vsix").extractall(tmp_path)
    npm("run", "build:editor", "--", f"--outfile={tmp_path / 'editor.js'}")
    python = tmp_path / "project" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    result = tmp_path / "result.txt"
    serve = ("node", "out/server-main.js", "--accept-server-license-terms", "--without-connection-token")
    kept = ("--host=127.0.0.1", "--port=0", f"--server-data-dir={tmp_path / 'server'}")
    env = ENVIRONMENT | {"NORMLINT_RESULT": str(result)}
    with running(*serve, *kept, cwd=EDITOR, env=env, stdout=subprocess.PIPE, text=True) as server:
        port = next(int(found[1]) for line in server.stdout if (found := re.search(r"listening on (\d+)", line)))
        there = f"vscode-remote://127.0.0.1:{port}{tmp_path}"
        asked = [["extensionDevelopmentPath", f"{there}/extension"], ["extensionTestsPath", f"{there}/editor.js"]]
        query = urlencode({"folder": tmp_path / "project", "payload": json.dumps(asked)})
        window = (CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'window'}")
        debugged = "--remote-debugging-port=0"  # else it leaves when the page is loaded
        with running(*window, debugged, f"http://127.0.0.1:{port}/?{query}", stderr=subprocess.DEVNULL):
            for _ in range(300):
                if result.exists() and result.read_text().endswith("failed\n"):
                    break
                time.sleep(1)
    assert result.read_text().splitlines()[-1] == "0 failed", result.read_text()


@contextmanager
def running(*command: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """It ends with all that it has started."""
    with subprocess.Popen(command, start_new_session=True, **how) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
