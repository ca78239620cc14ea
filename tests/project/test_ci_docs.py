"""What the pages on CI and pre-commit tell people to write: each service's schema takes it, and its commands run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from normlint import __version__

HERE = Path(__file__).parents[2]
PAGES = {name: (HERE / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("ci", "pre-commit")}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(page, kind, text) for page, source in PAGES.items() for kind, text in BLOCK.findall(source)]
YAML = [text for page, kind, text in BLOCKS if (page, kind) == ("ci", "yaml")]
HOOKS = [text for page, kind, text in BLOCKS if (page, kind) == ("pre-commit", "yaml")]
BROKEN = """\
def rms_norm(x, weight, eps):
    h = x.float()
    return (h * (h.square().mean() + eps).rsqrt()).type_as(x) * weight
"""


def service(text: str) -> str:
    if "jobs:" in text:
        return "vendor.github-workflows"
    return "vendor.azure-pipelines" if "pool:" in text else "vendor.gitlab-ci"


def run(*command: str, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)


def test_there_are_examples_for_each_service() -> None:
    assert sorted(map(service, YAML)) == [
        *["vendor.azure-pipelines"] * 2,
        *["vendor.github-workflows"] * 3,
        *["vendor.gitlab-ci"] * 2,
    ]


@pytest.mark.parametrize("text", YAML, ids=[f"{service(text)} {at}" for at, text in enumerate(YAML)])
def test_an_example_is_valid_for(text: str, tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text(text, encoding="utf-8")
    more = ["--data-transform", "gitlab-ci"] if service(text) == "vendor.gitlab-ci" else []
    checked = run("-m", "check_jsonschema", "--builtin-schema", service(text), *more, str(tmp_path / "ci.yml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_pre_commit_takes_its_examples_and_the_hooks(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    for at, text in enumerate(HOOKS):
        whole = text if "repos:" in text else f"{text}repos: []\n"
        (tmp_path / f"{at}.yaml").write_text(whole, encoding="utf-8")
    configs = map(str, tmp_path.glob("*.yaml"))
    for command in (["validate-config", *configs], ["validate-manifest", ".pre-commit-hooks.yaml"]):
        checked = run("-m", "pre_commit", *command)
        assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout


def test_the_inputs_of_the_action_are_documented() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    inputs = yaml.safe_load((HERE / "action.yml").read_text(encoding="utf-8"))["inputs"]
    told = re.findall(r"^\| `([\w-]+)` \|", PAGES["ci"].partition("| input |")[2].partition("\n\n")[0], re.MULTILINE)
    assert told == ["paths", "args", "output-format", "sarif-file", "verify", "version", "python-version"]
    assert set(told) == set(inputs)
    used = re.findall(r"uses: normlint/normlint@.*?\n +with:\n((?: {10}.*\n)+)", PAGES["ci"])
    assert {name for one in used for name in re.findall(r"^ {10}([\w-]+):", one, re.MULTILINE)} <= set(inputs)


def test_the_tags_are_those_of_a_release() -> None:
    tags = re.findall(r"(?:rev: |normlint@)(v\S+)", "".join(PAGES.values()))
    assert set(tags) == {f"v{__version__}"}


def commands() -> Iterator[list[str]]:
    for _, kind, text in BLOCKS:
        for line in text.splitlines():
            found = re.fullmatch(
                r"(?: *- (?:run: |script: )?)?(normlint .*)" if kind == "yaml" else "(normlint .*)", line
            )
            if found and "--verify" not in line:
                yield shlex.split(found[1])


COMMANDS = list(commands())


@pytest.mark.parametrize("command", COMMANDS, ids=map(shlex.join, COMMANDS))
def test_a_command_says_what_it_found(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "norm.py").write_text(BROKEN)
    if "--baseline" in command:
        run("-m", "normlint", "--write-baseline", "normlint.json", "src", cwd=tmp_path)
    ran = run("-m", *command, cwd=tmp_path)
    accepted = any("baseline" in one for one in command)
    assert ran.returncode == (0 if accepted else 1), ran.stderr
    if "--output-file" in command:
        assert "NRM101" in (tmp_path / command[command.index("--output-file") + 1]).read_text(encoding="utf-8")
    assert ran.stdout or "--output-file" in command
