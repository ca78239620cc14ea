"""flake8 reports what the command reports, where the command reports it."""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.engine.linter import Demand, check_bytes
from normlint.engine.selection import Selection
from normlint.faces.flake8 import Plugin
from tests.helpers import BAD

flake8_options = pytest.importorskip("flake8.options.manager")

TEXTS = {
    "one finding": BAD,
    "several in a line": "y = x.mean() / x.mean()\n",
    "wide characters before it": "变量 = x / x.mean()  # 归一化\n",
    "characters beyond the first plane": "'🙂'; y = x / x.mean()\n",
    "tabs": "if x:\n\ty = x / x.mean()\n",
    "a form feed": "\fx = 1\n\fy = x / x.mean()\n",
    "a BOM": "\ufeff" + BAD,
    "CR LF": "x = 1\r\ny = x / x.mean()\r\n",
    "a lone CR": "x = 1\ry = x / x.mean()\r",
    "a Unicode line separator in a string": "'\u2028'; y = x / x.mean()\n",
    "a backslash": "y = x / \\\n    x.mean()\n",
    "no final line end": BAD.rstrip(),
    "no finding": "x = 1\n",
}


def plugin_places(text: str) -> list[tuple[int, int, str]]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    plugin = Plugin(ast.parse("".join(lines)), "a.py", lines)
    return [(line, column + 1, told.partition(" ")[0]) for line, column, told, _ in plugin.run()]


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_places_are_the_command_s(text: str) -> None:
    findings = check_bytes("a.py", text.encode(), Demand()).findings
    assert plugin_places(text) == [(one.start.line, one.start.column, one.code) for one in findings]


def options(**given: object) -> argparse.Namespace:
    return argparse.Namespace(**{f"normlint_{name}": value for name, value in given.items()})


@pytest.fixture(autouse=True)
def demand_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plugin, "demand", Demand())


@pytest.mark.usefixtures("faked")
def test_rules_are_chosen_by_flake8_s_options() -> None:
    Plugin.parse_options(options(select=["NRM1"], ignore=["NRM302"], extend_select=["NRM6,NRM5"]))
    assert Plugin.demand.selection == Selection(("NRM1",), ("NRM302",), ("NRM6", "NRM5"))
    Plugin.parse_options(options(select="", ignore="", extend_select=""))
    assert Plugin.demand.selection == Selection()
    Plugin.parse_options(argparse.Namespace())
    assert Plugin.demand.selection == Selection()


@pytest.mark.usefixtures("faked")
def test_a_wrong_code_is_told_in_flake8_s_way() -> None:
    from flake8.exceptions import ExecutionError

    with pytest.raises(ExecutionError, match="unknown rule 'XYZ' in --normlint-select"):
        Plugin.parse_options(options(select=["XYZ"]))


def test_the_options_are_read_from_the_configuration() -> None:
    manager = flake8_options.OptionManager(version="1", plugin_versions="", parents=[], formatter_names=[])
    Plugin.add_options(manager)
    assert {"normlint_select", "normlint_ignore", "normlint_extend_select"} <= set(manager.config_options_dict)


@pytest.mark.usefixtures("faked")
def test_what_the_analysis_raises_never_reaches_flake8(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    assert plugin_places(BAD) != []
    monkeypatch.setattr("normlint.rules.analyse", fail)
    monkeypatch.setattr("normlint.rules.glance.glance", fail)
    assert plugin_places(BAD) == []


def test_a_skipped_file_is_skipped() -> None:
    assert plugin_places(SEED) != []
    assert plugin_places("# normlint: skip-file\n" + SEED) == []


def flake8(*arguments: str, cwd: Path, text: str | None = None) -> str:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select", "NRM,E9", *arguments]
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, input=text, check=False)
    assert ran.stderr == ""
    return ran.stdout


SEED = """
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.weights = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rms = 1 / torch.sqrt(torch.sum(torch.square(x)) / self.d_model + self.eps)
        return (x * rms) * self.weights
"""


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(SEED)
    (tmp_path / "noqa.py").write_text(SEED.replace("self.eps)\n        return", "self.eps)  # noqa\n        return"))
    (tmp_path / "bad.py").write_text("def f(:\n")
    return tmp_path


def command_lines(cwd: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "normlint", "--output-format", "json", *arguments]
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)["findings"]
    return [f"{one['path']}:{one['line']}:{one['column']}: {one['code']} {one['message']}" for one in found]


def test_the_real_flake8_reports_what_the_command_does(seeds: Path) -> None:
    ours = [line.removeprefix("./") for line in flake8("-j2", cwd=seeds).splitlines()]
    assert [line for line in ours if "E999" not in line] == command_lines(seeds)
    assert sum("E999" in line for line in ours) == 1


def test_standard_input_is_read_by_both(seeds: Path) -> None:
    ours = flake8("-", "--stdin-display-name", "a.py", cwd=seeds, text=SEED).splitlines()
    assert ours == command_lines(seeds, "a.py")


def test_off_by_default_stays_off_whatever_flake8_ignores(seeds: Path) -> None:
    assert "NRM601" not in flake8("--ignore", "E1", "a.py", cwd=seeds)
    assert "NRM601" not in flake8("--extend-select", "NRM601", "a.py", cwd=seeds)


def test_comments_mean_to_both_the_same(seeds: Path) -> None:
    text = SEED.replace("self.eps)\n        return", "self.eps)  # noqa: nrm101,nrm2\n        return")
    (seeds / "a.py").write_text(text)
    assert flake8("a.py", cwd=seeds) == ""
    assert command_lines(seeds, "a.py") == []
    assert "NRM101" in flake8("--disable-noqa", "a.py", cwd=seeds)
