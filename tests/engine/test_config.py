"""`[tool.normlint]`, and which rules it chooses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.engine.config import CODES, load, load_given, parse
from normlint.engine.discovery import Configs
from normlint.engine.selection import Selection, checked_codes, demand_of, find_rule
from normlint.engine.settings import ConfigError, Settings

pytestmark = pytest.mark.usefixtures("faked")

SELECTIONS = {
    "nothing: what is on by default": (Selection(), "NRM101 NRM302 NRM503"),
    "a code": (Selection(("NRM101",)), "NRM101"),
    "a prefix": (Selection(("NRM3", "NRM5")), "NRM302 NRM503"),
    "everything": (Selection(("ALL",)), "NRM101 NRM302 NRM503 NRM601"),
    "a code that is off by default": (Selection(("NRM601",)), "NRM601"),
    "another one besides": (Selection(extend_select=("NRM6",)), "NRM101 NRM302 NRM503 NRM601"),
    "all but one": (Selection(("ALL",), ("NRM601",)), "NRM101 NRM302 NRM503"),
    "a code of an ignored family": (Selection(("NRM302",), ("NRM3",)), "NRM302"),
    "a family with an ignored code": (Selection(("NRM3",), ("NRM302",)), ""),
    "the same selected and ignored": (Selection(("NRM3",), ("NRM3",)), ""),
    "everything ignored": (Selection(ignore=("ALL",)), ""),
    "a default family ignored": (Selection(ignore=("NRM1",)), "NRM302 NRM503"),
}


@pytest.mark.parametrize(("selection", "codes"), SELECTIONS.values(), ids=SELECTIONS)
def test_selecting(selection: Selection, codes: str) -> None:
    every = ("NRM101", "NRM302", "NRM503", "NRM601")
    assert " ".join(code for code in every if selection.chooses(code)) == codes


def test_a_code_without_a_rule_is_on() -> None:
    assert Selection().chooses("NRM999")


def test_codes_are_given_as_prefixes_names_or_in_small_letters() -> None:
    assert checked_codes(["nrm1", "eps-outside-sqrt", "all", " "], "here") == ("NRM1", "NRM302", "ALL")


def test_an_unknown_code_comes_with_a_hint() -> None:
    with pytest.raises(ConfigError, match=r"unknown rule 'NRM501' in here \(did you mean NRM"):
        checked_codes(["NRM501"], "here")
    with pytest.raises(ConfigError, match=r"unknown rule 'E5'.*--list-rules"):
        checked_codes(["E5"], "here")


@pytest.mark.parametrize("text", ["NRM302", "nrm302", "eps-outside-sqrt"])
def test_a_rule_is_found_by(text: str) -> None:
    assert find_rule(text).code == "NRM302"


def test_a_rule_that_is_not_there_comes_with_a_hint() -> None:
    with pytest.raises(ConfigError, match="did you mean eps-outside-sqrt"):
        find_rule("eps-outside-sqr")


GOOD = {
    "codes": ({"select": ["NRM1"], "ignore": ["NRM3"]}, {"select": ("NRM1",), "ignore": ("NRM3",)}),
    "more codes": ({"extend-select": ["NRM6"]}, {"extend_select": ("NRM6",)}),
    "patterns": ({"exclude": ["a"], "extend-exclude": ["b"]}, {"exclude": ("a",), "extend_exclude": ("b",)}),
    "codes by pattern": ({"per-file-ignores": {"t/*": ["NRM1"]}}, {"per_file_ignores": (("t/*", ("NRM1",)),)}),
    "flags": ({"respect-gitignore": False, "force-exclude": True}, {"respect_gitignore": False, "force_exclude": True}),
    "a place for the cache": ({"cache-dir": "c"}, {"cache_dir": "c"}),
    "a format": ({"output-format": "json"}, {"output_format": "json"}),
}


@pytest.mark.parametrize(("table", "values"), GOOD.values(), ids=GOOD)
def test_a_table_gives(table: dict[str, object], values: dict[str, object]) -> None:
    settings = parse(table, "pyproject.toml")
    assert {name: getattr(settings, name) for name in values} == values


def test_the_codes_known_beforehand_are_the_registrys() -> None:
    program = "from normlint.engine.selection import known_rules; print(*sorted(known_rules()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert tuple(ran.stdout.split()) == CODES


WRONG = {
    "no table": (3, "must be a table"),
    "an unknown key": ({"selekt": []}, "unknown key 'selekt'"),
    "codes that are no list": ({"select": "NRM1"}, "select must be a list of strings"),
    "codes that are no strings": ({"ignore": [1]}, "ignore must be a list of strings"),
    "an unknown code": ({"select": ["XYZ"]}, r"^pyproject\.toml: unknown rule 'XYZ' in \[tool\.normlint\] select; "),
    "a flag that is none": ({"respect-gitignore": "yes"}, "must be true or false"),
    "an unknown format": ({"output-format": "xml"}, "must be one of full, concise"),
    "a place that is none": ({"cache-dir": ""}, "cache-dir must be the name of a directory"),
    "a list by pattern": ({"per-file-ignores": []}, "must be a table"),
    "an unknown code by pattern": ({"per-file-ignores": {"a": ["XYZ"]}}, "unknown rule 'XYZ'"),
}


@pytest.mark.parametrize(("table", "message"), WRONG.values(), ids=WRONG)
def test_a_table_is_refused_for(table: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(table, "pyproject.toml")


def test_a_file_without_our_table_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    for text in ("", "[tool.ruff]\n", "tool = 3\n"):
        file.write_text(text)
        assert load(str(file)) is None


def test_a_named_file_needs_our_table_or_is_it(tmp_path: Path) -> None:
    project, own = tmp_path / "pyproject.toml", tmp_path / "normlint.toml"
    project.write_text("[tool.ruff]\n")
    own.write_text('select = ["NRM1"]\n')
    with pytest.raises(ConfigError, match="has no"):
        load_given(str(project))
    assert load_given(str(own)).select == ("NRM1",)
    project.write_text('[tool.normlint]\nselect = ["NRM3"]\n')
    assert load_given(str(project)).select == ("NRM3",)


UNREADABLE = {
    "broken TOML": b"[tool.normlint\n",
    "bytes that are no text": b"x = '\xff'\n",
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_invalid_toml_is_reported(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match="invalid TOML"):
        load(str(file))


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        load_given(str(tmp_path / "no.toml"))


def test_the_nearest_file_with_our_table_holds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.normlint]\nselect = ["NRM1"]\n')
    near, middle = tmp_path / "a" / "b", tmp_path / "a"
    near.mkdir(parents=True)
    (middle / "pyproject.toml").write_text("[tool.other]\n")
    configs = Configs()
    assert configs.of(str(near / "x.py")).select == ("NRM1",)
    (near / "pyproject.toml").write_text('[tool.normlint]\nselect = ["NRM3"]\n')
    assert Configs().of(str(near / "x.py")).select == ("NRM3",)


def test_a_broken_file_is_kept_and_the_next_one_up_holds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.normlint]\nselect = ["NRM1"]\n')
    (tmp_path / "a").mkdir()
    broken = tmp_path / "a" / "pyproject.toml"
    broken.write_text("[tool.normlint")
    configs = Configs()
    assert configs.of(str(tmp_path / "a" / "x.py")).select == ("NRM1",)
    assert list(configs.errors) == [str(broken)]


def test_fixed_settings_hold_everywhere(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.normlint]\nselect = ["NRM1"]\n')
    assert Configs(fixed=Settings()).of(str(tmp_path / "x.py")).select is None


PATTERNS = {
    "a name": ("gen", "/r/a/gen", True),
    "a name elsewhere": ("gen", "/r/a/gene", False),
    "a name with a star": ("*_pb2.py", "/r/a/x_pb2.py", True),
    "a path": ("a/gen", "/r/a/gen", True),
    "a path from another root": ("a/gen", "/r/b/a/gen", False),
    "a directory with a slash": ("a/gen/", "/r/a/gen", True),
    "any depth": ("**/gen/*.py", "/r/a/gen/x.py", True),
    "any depth, and none": ("a/**/x.py", "/r/a/x.py", True),
    "all below": ("a/**", "/r/a", True),
    "from here": ("./a", "/r/a", True),
}


@pytest.mark.parametrize(("pattern", "path", "fits"), PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_fits(pattern: str, path: str, fits: bool) -> None:
    assert Settings("/r").fits(path.replace("/", os.sep), (pattern,)) is fits


def test_codes_are_ignored_by_file() -> None:
    settings = Settings("/r", per_file_ignores=(("tests/*", ("NRM1",)),))
    assert not demand_of(settings, "/r/tests/a.py").chooses("NRM101")
    assert demand_of(settings, "/r/tests/a.py").chooses("NRM302")
    assert demand_of(settings, "/r/a.py").chooses("NRM101")
