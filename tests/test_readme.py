"""The README says what is so."""

from __future__ import annotations

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


def test_the_constraints_pin_what_the_tests_need() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib came with 3.11")
    import tomllib

    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {line.partition("==")[0] for line in (HERE / "constraints.txt").read_text().splitlines() if "==" in line}
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    assert {requirement.partition(">")[0] for requirement in wanted} <= pinned
