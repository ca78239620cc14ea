"""The start: its answers are the full command's, and it imports next to nothing for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.faces import cli, entry
from tests.helpers import Ran

SOUND = "x = 1\n"
SUSPECT = "    y = x / x.pow(2).mean().sqrt()\n"  # the sieve lets it through
BROKEN = "def f(:\n"
WRONG = """\
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean() + self.eps)
"""

Files = dict[str, str]
OTHERS = '[project]\nname = "x"\n'

RUNS: dict[str, tuple[Files, list[str]]] = {
    "a sound file": ({"a.py": SOUND}, ["a.py"]),
    "a sound directory": ({"a.py": SOUND, "b/c.md": "x"}, []),
    "an empty directory": ({}, []),
    "a directory of many sound files": ({f"{n}.py": SOUND for n in range(20)}, []),
    "a file that doesn't parse and holds no norm": ({"a.py": BROKEN}, ["a.py"]),
    "a file that doesn't parse and may hold one": ({"a.py": BROKEN + SUSPECT}, ["a.py"]),
    "a suspect": ({"a.py": SUSPECT.strip()}, ["a.py"]),
    "a finding": ({"a.py": WRONG}, ["a.py"]),
    "a finding among many": ({f"{n}.py": SOUND for n in range(20)} | {"a.py": WRONG}, []),
    "a path that is not there": ({"a.py": SOUND}, ["no.py"]),
    "a path that is not there, and one that is": ({"a.py": SOUND}, ["a.py", "no.py"]),
    "no path at all": ({"a.py": SOUND}, [""]),
    "a path twice": ({"a.py": SOUND}, ["a.py", "./a.py"]),
    "no configuration wanted": ({"a.py": SOUND, "pyproject.toml": "[tool.normlint]\nx = 1\n"}, ["--isolated"]),
    "no cache wanted": ({"a.py": WRONG}, ["--no-cache"]),
    "a configuration of others": ({"a.py": SOUND, "pyproject.toml": OTHERS}, ["a.py"]),
    "a configuration": ({"a.py": SOUND, "b.py": WRONG, "pyproject.toml": '[tool.normlint]\nexclude = ["b.py"]\n'}, []),
    "a wrong configuration": ({"a.py": SOUND, "pyproject.toml": "[tool.normlint]\nx = 1\n"}, []),
    "a configured format": ({"a.py": SOUND, "pyproject.toml": '[tool.normlint]\noutput-format = "json"\n'}, []),
    "a brief format": ({"a.py": WRONG, "pyproject.toml": '[tool.normlint]\noutput-format = "concise"\n'}, []),
    "a broken configuration that isn't ours": ({"a.py": SOUND, "pyproject.toml": "["}, []),
    "a .gitignore": ({"a.py": WRONG, ".gitignore": "a.py\n"}, []),
    "an option": ({"a.py": SOUND}, ["--statistics"]),
    "an unknown option": ({"a.py": SOUND}, ["--foo"]),
    "an option after a path": ({"a.py": SOUND}, ["a.py", "--exit-zero"]),
    "the end of options": ({"a.py": SOUND}, ["--", "a.py"]),
}


@pytest.mark.parametrize(("files", "arguments"), RUNS.values(), ids=RUNS)
def test_the_answer_is_the_full_commands_for(
    files: Files, arguments: list[str], tmp_path: Path, command: Callable[..., Ran], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    expected = command(*arguments)
    cold = Ran(entry.main(arguments), *capsys.readouterr())
    warm = Ran(entry.main(arguments), *capsys.readouterr())
    assert cold == expected
    assert warm == expected


def test_sound_files_are_not_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "main", lambda *_: pytest.fail("handed over"))
    (tmp_path / "a.py").write_text(SOUND)
    assert entry.main(["a.py"]) == 0


HEAVY = """argparse ast concurrent contextlib dataclasses hashlib inspect json libcst markdown_it multiprocessing
pathspec pickle rich shutil tempfile tokenize tomllib tomli torch zlib
normlint.engine.config normlint.engine.linter normlint.engine.report normlint.faces.cli normlint.rules""".split()


def imported(cwd: Path, *arguments: str, program: tuple[str, ...] = ("-m", "normlint")) -> set[str]:
    """The modules that a run of its own imports, as the interpreter tells them."""
    command = [sys.executable, "-X", "importtime", *program, *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    bare = [sys.executable, "-X", "importtime", "-c", "import runpy"]
    told = [
        subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, check=False).stderr
        for line in (command, bare)
    ]
    ours, always = ({line.rpartition("|")[2].strip() for line in text.splitlines()} for text in told)
    return ours - always


LIGHT: dict[str, tuple[Files, list[str], set[str]]] = {
    "a sound file": ({"a.py": SOUND}, ["a.py"], set()),
    "a sound file without configuration": ({"a.py": SOUND}, ["--isolated", "a.py"], set()),
    "a configuration of others": ({"a.py": SOUND, "pyproject.toml": OTHERS}, ["a.py"], set()),
    "a file that doesn't parse": ({"a.py": BROKEN}, ["a.py"], set()),
    "a configuration": (
        {"a.py": SOUND, "pyproject.toml": "[tool.normlint]\nselect = ['NRM1']\n"},
        ["a.py"],
        {"tomllib" if sys.version_info >= (3, 11) else "tomli", "normlint.engine.config"},
    ),
}


@pytest.mark.parametrize(("files", "arguments", "allowed"), LIGHT.values(), ids=LIGHT)
def test_next_to_nothing_is_imported_for(files: Files, arguments: list[str], allowed: set[str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    seen = imported(tmp_path, *arguments)
    assert "normlint.faces.entry" in seen
    assert seen & set(HEAVY) <= allowed | (set() if not allowed else {"contextlib"})


LATER = "import normlint.engine.cache as c; c._RACY = 0; from normlint.faces.entry import main; main(['--isolated'])"


def test_known_files_are_answered_without_the_analysis(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"import torch\n{WRONG}")
    for number in range(12):
        (tmp_path / f"{number}.py").write_text(SOUND)
    analysis = {"argparse", "libcst", "normlint.engine.linter", "normlint.rules"}
    assert "normlint.rules" in imported(tmp_path, program=("-c", LATER))
    assert not analysis & imported(tmp_path, program=("-c", LATER))


def test_a_profile_of_a_run_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOUND)
    profiled = [sys.executable, "-m", "cProfile", "-o", "profile", "-m", "normlint", "a.py"]
    ran = subprocess.run(profiled, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "All checks passed" in ran.stdout
    assert (tmp_path / "profile").stat().st_size > 0
