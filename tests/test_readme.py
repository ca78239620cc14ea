"""The README says what is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.faces.options import _parser
from normlint.faces.rules import all_rules, table

HERE = Path(__file__).parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not all_rules(), reason="no rule is registered yet")
def test_the_table_is_the_registry() -> None:
    assert table() in README, "run `python scripts/rule_table.py`"


def test_each_option_is_named() -> None:
    options = {option for action in _parser()._actions for option in action.option_strings if option.startswith("--")}
    assert {option for option in options if option not in README} == {"--help"}


def run(*arguments: str, cwd: Path = HERE) -> str:
    command = [sys.executable, "-m", "normlint", "--isolated", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False).stdout


def test_the_first_finding_is_what_the_command_says() -> None:
    first, _, _ = run("rmsnorm.py", cwd=HERE / "fixtures" / "demo").partition("\n\n")
    assert f"```\n{first}\n```\n" in README


def test_the_diff_is_what_the_command_shows() -> None:
    assert f"````diff\n{run('--diff', 'fixtures/seeds/review.md')}````\n" in README


def test_the_constraints_pin_what_the_tests_need() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib came with 3.11")
    import tomllib

    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {line.partition("==")[0] for line in (HERE / "constraints.txt").read_text().splitlines() if "==" in line}
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    others = [requirement for requirement in wanted if not requirement.startswith("normlint[")]  # an extra of extras
    assert {requirement.partition(">")[0] for requirement in others} <= pinned


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_the_test_of_the_verification_chapter_passes(tmp_path: Path) -> None:
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "assert_norm" in block]
    (tmp_path / "test_example.py").write_text(example, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
