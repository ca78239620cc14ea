"""The GitHub Action: its shape, and its scripts, run by bash as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

HERE = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((HERE / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("id", "setup"): step for step in ACTION["runs"]["steps"]}
BROKEN = """\
def rms_norm(x, weight, eps):
    h = x.float()
    return (h * (h.square().mean() + eps).rsqrt()).type_as(x) * weight
"""
SOUND = BROKEN.replace("mean()", "mean(-1, keepdim=True)")
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")

needs_bash = pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="bash is not here")


def test_the_file_is_an_action() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"]
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_is_given_reaches_the_scripts_by_variables_alone() -> None:
    told = set()
    for step in STEPS.values():
        assert not EXPRESSION.search(step.get("run", ""))
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", "a@" + "0" * 40))
        values = {**step.get("env", {}), **step.get("with", {}), "if": "${{" + step.get("if", "") + "}}"}
        told |= {name for value in values.values() for name in re.findall(r"inputs\.([\w-]+)", value)}
    assert told == set(ACTION["inputs"])


def script(step: str, values: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: `bash -eo pipefail` on a file, expressions of `env` filled in."""
    inputs = {f"inputs.{name}": given["default"] for name, given in ACTION["inputs"].items()} | values
    filled = {name: EXPRESSION.sub(lambda one: inputs[one[1]], text) for name, text in STEPS[step]["env"].items()}
    file = cwd.parent / f"{cwd.name}-{step}.sh"
    file.write_text(STEPS[step]["run"], encoding="utf-8")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(file)]
    environment = {**os.environ, **filled, "GITHUB_OUTPUT": str(cwd.parent / f"{cwd.name}-output")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@needs_bash
def test_the_first_script_installs_what_the_action_came_with(tmp_path: Path) -> None:
    own = tmp_path / "own action"
    own.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(HERE / name, own)
    shutil.copytree(HERE / "normlint", own / "normlint", ignore=shutil.ignore_patterns("__pycache__"))
    work = tmp_path / "work"
    work.mkdir()
    ran = script("install", {"github.action_path": str(own)}, work)
    if ran.returncode and re.search("No matching distribution|Could not find a version|connection", ran.stderr):
        pytest.skip(f"pip could not reach a package index: {ran.stderr[-300:]}")
    assert ran.returncode == 0, ran.stderr
    name, _, bin_ = (tmp_path / "work-output").read_text().strip().partition("=")
    assert name == "bin"
    (work / "a.py").write_text(BROKEN)
    ran = script("run", {"steps.install.outputs.bin": bin_}, work)
    assert (ran.returncode, ran.stdout.count("::error title=normlint (NRM101")) == (1, 1), ran.stderr


VERSIONS = {
    ("0.1.0", "false"): "normlint==0.1.0",
    (">=0.1", "false"): "normlint>=0.1",
    ("latest", "false"): "normlint",
    ("", "false"): "/the/action",
    ("", "true"): "/the/action[verify]",
    ("0.1.0", "true"): "normlint[verify]==0.1.0",
}


@needs_bash
@pytest.mark.parametrize(("given", "wanted"), VERSIONS.items(), ids=VERSIONS.values())
def test_it_is_asked_of_pip(
    given: tuple[str, str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A python that makes a virtual environment in which `pip` only says what it was asked for."""
    fake = tmp_path / "fake" / "python3"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        'echo "$@"; echo "$PIP_EXTRA_INDEX_URL"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    version, verify = given
    ran = script(
        "install", {"github.action_path": "/the/action", "inputs.version": version, "inputs.verify": verify}, work
    )
    asked, where = ran.stdout.splitlines()[-2:]
    assert asked.split()[-1] == wanted, ran.stderr
    assert where.endswith("/cpu") == (verify == "true")


@dataclass(frozen=True)
class Case:
    """What is given to the action, and what comes of it."""

    inputs: dict[str, str]
    status: int
    told: str = ""


RUNS = {
    "sound files alone": Case({"paths": "sound.py"}, 0),
    "no inputs, so that all is linted": Case({}, 1, "file=a b/%2525.py,line=3"),
    "paths with blanks and percent signs, one a line": Case({"paths": "sound.py\n\na b/%25.py\n"}, 1, "file=a b/%2525"),
    "a path that isn't there": Case({"paths": "gone.py"}, 2),
    "a path that looks like an option": Case({"paths": "--fix"}, 2),
    "options, quoted as in a shell": Case({"args": "--ignore 'NRM101' --extend-exclude \"not here\""}, 0),
    "options that hold commands, which are not run": Case({"args": "--exclude '$(touch run)`touch run`'"}, 1),
    "a quote that does not end": Case({"args": "--ignore 'NRM101"}, 1),
    "another format": Case({"output-format": "concise"}, 1, "a b/%25.py:3:18: NRM101"),
    "a format that there isn't": Case({"output-format": "xml"}, 2),
    "SARIF as well": Case({"sarif-file": "out dir.sarif"}, 1, "::error title=normlint (NRM101"),
    "SARIF where nothing may fail": Case({"sarif-file": "a.sarif", "args": "--exit-zero"}, 0, "::error"),
    "verification": Case({"verify": "true"}, 1, "changing one token changes"),
    "verification with SARIF": Case({"verify": "true", "sarif-file": "a.sarif"}, 1, "changing one token changes"),
}


@needs_bash
@pytest.mark.parametrize("case", RUNS.values(), ids=RUNS)
def test_the_second_script_is_given(case: Case, tmp_path: Path) -> None:
    if case.inputs.get("verify") == "true":
        pytest.importorskip("torch")
    work = tmp_path / "work"
    (work / "a b").mkdir(parents=True)
    (work / "sound.py").write_text(SOUND)
    (work / "a b" / "%25.py").write_text(BROKEN)
    given = {f"inputs.{name}": value for name, value in case.inputs.items()}
    ran = script("run", {"steps.install.outputs.bin": os.path.dirname(sys.executable), **given}, work)
    assert ran.returncode == case.status, ran.stderr
    assert case.told in ran.stdout
    assert not (work / "run").exists()
    assert (work / "a b" / "%25.py").read_text() == BROKEN
    if "sarif-file" in case.inputs:
        (run,) = json.loads((work / case.inputs["sarif-file"]).read_text())["runs"]
        assert [one["ruleId"] for one in run["results"]] == ["NRM101"]
