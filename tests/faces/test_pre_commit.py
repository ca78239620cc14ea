"""The hooks, run by pre-commit itself on commits in a fresh git repository."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fake_fixes import FIXES, use
from tests.helpers import Ran

HERE = Path(__file__).parents[2]
SOUND = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inverse = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)
        return (x.float() * inverse).type_as(x) * self.weight
"""
BROKEN = SOUND.replace("mean(-1, keepdim=True)", "mean()")
NOTHING = "print('no norm')\n"

Command = Callable[..., Ran]

ON_FIX = {
    "nothing was found": ("x\n", ["--fix"], 0),
    "nothing was to be written": ("wide\n", [], 1),
    "nothing would change": ("outside\n", ["--diff"], 0),
    "what was fixed is to be no matter": ("wide\n", ["--fix", "--exit-zero"], 0),
    "all is fixed": ("wide\n", ["--fix"], 1),
    "some remains": ("wide\noutside\n", ["--fix"], 1),
    "a path isn't there": ("wide\n", ["--fix", ".", "gone.py"], 2),
}


@pytest.mark.parametrize(("text", "arguments", "status"), ON_FIX.values(), ids=ON_FIX)
def test_exit_non_zero_on_fix_tells_that_something_was_written_when(
    text: str, arguments: list[str], status: int, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, FIXES)
    Path("a.py").write_text(text)
    assert command("--exit-non-zero-on-fix", *arguments).status == status


@dataclass(frozen=True)
class Project:
    """A repository of a user's, with the hooks installed from a repository of normlint's."""

    root: Path
    hooks: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def git(self, *arguments: str) -> str:
        ran = self.run("git", *arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "pre_commit", *arguments)

    def configure(self, *hooks: dict[str, object]) -> None:
        repo = {"repo": str(self.hooks), "rev": "v1.0.0", "hooks": hooks}
        self.write({".pre-commit-config.yaml": json.dumps({"repos": [repo]})})  # JSON is YAML
        self.git("add", ".pre-commit-config.yaml")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def add(self, files: dict[str, str]) -> None:
        self.write(files)
        self.git("add", "--", *files)

    def commit(self) -> tuple[bool, str]:
        """Was it made? And what pre-commit said."""
        ran = self.run("git", "commit", "-m", "a change")
        return ran.returncode == 0, ran.stderr + ran.stdout

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No configuration of git's but this one, and a store of pre-commit's own."""
    home = tmp_path_factory.mktemp("home")
    ours = ("GIT_", "NORMLINT_", "PYTHONPATH", "SKIP")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    names = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    no_files = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    return {**inherited, **names, **no_files, "PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never", "LC_ALL": "C"}


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """This working tree as a repository with a tag, as pre-commit wants it."""
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path_factory.mktemp("hooks")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(HERE / name, root)
    shutil.copytree(HERE / "normlint", root / "normlint", ignore=shutil.ignore_patterns("__pycache__"))
    tree = Project(root, root, environment)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"], ["tag", "v1.0.0"]):
        tree.git(*command)
    return root


def fresh(root: Path, hooks: Path, environment: dict[str, str]) -> Project:
    project = Project(root, hooks, environment)
    project.git("init", "-q")
    return project


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, hooks: Path, environment: dict[str, str]) -> Path:
    """The hooks' environment, made once: the store is shared by all projects. It needs a package index."""
    project = fresh(tmp_path_factory.mktemp("first"), hooks, environment)
    project.configure({"id": "normlint"})
    ran = project.pre_commit("install-hooks")
    if ran.returncode:
        pytest.skip(f"pre-commit could not install normlint: {ran.stdout[-500:]}{ran.stderr[-500:]}")
    return hooks


@pytest.fixture
def project(tmp_path: Path, installed: Path, environment: dict[str, str]) -> Project:
    """A repository whose commits go through pre-commit; `configure` says which hooks."""
    made = fresh(tmp_path, installed, environment)
    assert made.pre_commit("install").returncode == 0
    return made


def test_a_sound_commit_passes(project: Project) -> None:
    project.configure({"id": "normlint"})
    project.add({"norm.py": SOUND})
    made, said = project.commit()
    assert made, said
    assert said.startswith("normlint....")
    assert "Passed" in said.splitlines()[0]


def test_a_commit_without_python_skips_the_hook(project: Project) -> None:
    project.configure({"id": "normlint"}, {"id": "normlint-fix"})
    project.add({"notes.txt": BROKEN, "page.md": f"```python\n{BROKEN}```\n"})
    made, said = project.commit()
    assert made, said
    assert said.count("(no files to check)Skipped") == 2


def test_a_broken_norm_stops_the_commit_with_what_normlint_says(project: Project) -> None:
    project.configure({"id": "normlint"})
    project.add({"norm.py": BROKEN, "other.py": NOTHING})
    made, said = project.commit()
    assert not made
    assert "Failed\n- hook id: normlint\n- exit code: 1\n" in said
    assert "norm.py:12:31: NRM101 [*] `mean` without a dim" in said
    assert project.text("norm.py") == BROKEN


def test_the_fixing_hook_mends_stops_and_lets_the_second_commit_pass(project: Project) -> None:
    project.configure({"id": "normlint-fix"})
    project.add({"norm.py": BROKEN})
    made, said = project.commit()
    assert not made
    assert "Failed\n- hook id: normlint-fix\n- exit code: 1\n- files were modified by this hook\n" in said
    assert "Fixed 1 finding in 1 file (NRM101); none remain." in said
    assert project.text("norm.py") == SOUND
    project.git("add", "norm.py")
    made, said = project.commit()
    assert made, said
    assert project.git("show", "HEAD:norm.py") == SOUND


def test_notebooks_are_fixed_and_markdown_is_where_the_user_asks_for_it(project: Project) -> None:
    kinds = ["python", "pyi", "jupyter", "markdown"]
    project.configure({"id": "normlint-fix", "types_or": kinds})
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{**cell, "source": BROKEN}]}
    project.add({"a.ipynb": json.dumps(notebook), "b.md": f"```python\n{BROKEN}```\n"})
    made, said = project.commit()
    assert not made
    assert "Fixed 2 findings in 2 files (NRM101 × 2); none remain." in said
    assert json.loads(project.text("a.ipynb"))["cells"][0]["source"] == SOUND
    assert project.text("b.md") == f"```python\n{SOUND}```\n"


def test_what_the_configuration_excludes_is_not_linted_although_it_is_named(project: Project) -> None:
    project.configure({"id": "normlint"}, {"id": "normlint-fix"})
    project.add({"pyproject.toml": "[tool.normlint]\nexclude = ['old']\n", "old/norm.py": BROKEN})
    made, said = project.commit()
    assert made, said
    assert said.count("Passed") == 2
    assert project.text("old/norm.py") == BROKEN


def test_arguments_of_the_user_reach_the_hook(project: Project) -> None:
    project.configure({"id": "normlint", "args": ["--ignore", "NRM101", "--output-format", "concise"], "verbose": True})
    project.add({"norm.py": BROKEN})
    made, said = project.commit()
    assert made, said
    assert "All checks passed" in said


def test_of_a_file_staged_in_part_only_that_part_is_linted_and_the_rest_comes_back(project: Project) -> None:
    project.configure({"id": "normlint"})
    project.add({"norm.py": SOUND})
    project.write({"norm.py": BROKEN})
    made, said = project.commit()
    assert made, said
    assert project.git("show", "HEAD:norm.py") == SOUND
    assert project.text("norm.py") == BROKEN
    project.git("add", "norm.py")
    project.write({"norm.py": SOUND})
    made, said = project.commit()
    assert not made
    assert "NRM101" in said
    assert project.text("norm.py") == SOUND


def test_what_the_fixing_hook_mends_beside_unstaged_lines_leaves_them_there(project: Project) -> None:
    project.configure({"id": "normlint-fix"})
    between = "".join(f"line_{number} = {number}\n" for number in range(20))
    project.add({"norm.py": BROKEN + between})
    project.write({"norm.py": BROKEN + between + "mine = 'unstaged'\n"})
    made, _ = project.commit()
    assert not made
    assert project.text("norm.py") == SOUND + between + "mine = 'unstaged'\n"
    assert project.git("diff", "--cached", "--name-only").split() == [".pre-commit-config.yaml", "norm.py"]


BATCHES = {
    "by length, one after another": ({}, "very_long_" * 20, 2),
    "two at a time": ({"require_serial": False}, "short", 2),
}


@pytest.mark.parametrize(("more", "folder", "batches"), BATCHES.values(), ids=BATCHES)
def test_many_files_in_several_batches_share_a_cache(
    more: dict[str, object], folder: str, batches: int, project: Project
) -> None:
    project.configure({"id": "normlint", "verbose": True, "args": ["--output-format", "concise"], **more})
    names = [f"{folder}/{folder}/{folder}_{number}.py" for number in range(300)]
    project.add({name: f"{SOUND}\n\nnumber = {at}\n" for at, name in enumerate(names)})
    made, said = project.commit()
    assert made, said
    assert said.count("All checks passed") >= batches
    project.add({names[150]: BROKEN})
    ran = project.pre_commit("run", "--all-files")
    assert ran.returncode == 1
    assert f"{names[150]}:12:31: NRM101" in ran.stdout
    assert ran.stdout.count("NRM101") == 1
    assert "Traceback" not in ran.stdout


def test_try_repo_shows_the_hook_before_it_is_configured(project: Project) -> None:
    project.add({"norm.py": BROKEN, "sound.py": SOUND})
    ran = project.pre_commit("try-repo", str(project.hooks), "normlint", "--files", "norm.py", "sound.py")
    assert ran.returncode == 1
    assert "norm.py:12:31: NRM101 [*] `mean` without a dim" in ran.stdout
