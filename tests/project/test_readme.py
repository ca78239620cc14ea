"""The README says what is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.faces.rules import all_rules

HERE = Path(__file__).parents[2]
README = (HERE / "README.md").read_text(encoding="utf-8")


def test_each_rule_belongs_to_a_row_of_the_table() -> None:
    families = re.findall(r"^\| (NRM\d)xx \|", README, re.M)
    assert sorted({rule.code[:4] for rule in all_rules()}) == families


def test_the_figures_are_those_of_the_comparison() -> None:
    compared = (HERE / "docs" / "comparison.md").read_text(encoding="utf-8")
    rows = ("ruff, all rules", "TorchFix, all rules", "normlint, reading only", "normlint `--verify`")
    ruff, torchfix, read, verified = (re.search(rf"^\| {row} \| (\d+) \|", compared, re.M)[1] for row in rows)
    tested, whole = re.search(r"fails for (\d+) of those (\d+)", compared).groups()
    figures = (ruff, torchfix, tested, read, verified)
    assert f"| mistakes found, of {whole} | {' | '.join(figures)} |" in README
    sound = re.search(r"Of (\d+) sound norms, normlint reports none", README)[1]
    assert f"Of the {sound} sound norms" in compared


def code(page: str) -> list[str]:
    """What the fences of a page hold, without comments."""
    return [re.sub(r" +# .*", "", block) for block in re.findall(r"^```\w*\n.*?^```$", page, re.M | re.S)]


def cells(page: str) -> list[list[str]]:
    """Of each row of a table the cells that are the same in every language: codes, figures, names of tools."""
    rows = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|"))
    return [[cell for cell in row if re.fullmatch(r"[\d-]+|NRM\dxx|ruff|TorchFix|normlint.*", cell)] for row in rows]


@pytest.mark.parametrize("part", [
    code,
    cells,
    lambda page: re.findall(r"^#+", page, re.M),
    lambda page: sorted(re.findall(r"\]\((https://(?!.*README)[^)]+)\)", page)),
    lambda page: sorted(re.findall(r"(?<!`)`[^`\n]+`(?!`)", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S))),
], ids=["code", "tables", "chapters", "links", "words of code"])  # fmt: skip
def test_the_chinese_page_is_in_step(part: Callable[[str], list[object]]) -> None:
    assert part((HERE / "README.zh-CN.md").read_text(encoding="utf-8")) == part(README)


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
