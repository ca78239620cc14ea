"""flake8 reports what the command reports, where the command reports it."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.engine import cache as caches
from normlint.engine.cache import OLD, VARIABLE, Cache
from normlint.engine.linter import check_bytes, check_checked_text
from normlint.engine.selection import Demand, Selection
from normlint.faces import flake8 as plugin
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
    found = Plugin(ast.parse("".join(lines)), "a.py", lines).run()
    return [(line, column + 1, message.partition(" ")[0]) for line, column, message, _ in found]


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_places_are_the_command_s(text: str) -> None:
    findings = check_bytes("a.py", text.encode(), Demand()).findings
    assert plugin_places(text) == [(one.start.line, one.start.column, one.code) for one in findings]


def options(**given: object) -> argparse.Namespace:
    return argparse.Namespace(**{f"normlint_{name}": value for name, value in given.items()})


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each test's own, and the plugin as it is when flake8 starts."""
    monkeypatch.setattr(Plugin, "demand", Demand())
    monkeypatch.setattr(Plugin, "remembers", True)
    another_process()
    path = tmp_path_factory.mktemp("answers")
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.mark.usefixtures("faked")
def test_rules_are_chosen_by_flake8_s_options() -> None:
    Plugin.parse_options(options(select=["NRM1"], ignore=["NRM302"], extend_select=["NRM6,NRM5"]))
    assert Plugin.demand.selection == Selection(("NRM1",), ("NRM302",), ("NRM6", "NRM5"))
    Plugin.parse_options(options(select="", ignore="", extend_select=""))
    assert Plugin.demand.selection == Selection()
    Plugin.parse_options(argparse.Namespace())
    assert Plugin.demand.selection == Selection()


@pytest.mark.usefixtures("faked")
def test_a_wrong_code_is_reported_in_flake8_s_way() -> None:
    from flake8.exceptions import ExecutionError

    with pytest.raises(ExecutionError, match="unknown rule 'XYZ' in --normlint-select"):
        Plugin.parse_options(options(select=["XYZ"]))


def test_the_options_are_read_from_the_configuration() -> None:
    manager = flake8_options.OptionManager(version="1", plugin_versions="", parents=[], formatter_names=[])
    Plugin.add_options(manager)
    known = set(manager.config_options_dict)
    assert {"normlint_select", "normlint_ignore", "normlint_extend_select", "normlint_no_cache"} <= known


@pytest.mark.usefixtures("faked")
def test_what_the_analysis_raises_never_reaches_flake8(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr("normlint.rules.analyse", fail)
        broken.setattr("normlint.rules.blocks.analyse_blocks", fail)
        assert plugin_places(BAD) == []
    assert plugin_places(BAD) != [], "what failed is not remembered"


def test_a_skipped_file_is_skipped() -> None:
    assert plugin_places(SEED) != []
    assert plugin_places("# normlint: skip-file\n" + SEED) == []


# --- what is remembered -----------------------------------------------------------------------------------------------


def lines_of(cache: Path) -> list[str]:
    return [line for file in sorted(cache.glob("cache-*")) for line in file.read_text().splitlines() if line]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were analysed."""
    texts: list[str] = []

    def look(path: str, text: str, demand: Demand) -> object:
        texts.append(text)
        return check_checked_text(path, text, demand)

    monkeypatch.setattr("normlint.faces.flake8.check_checked_text", look)
    return texts


def another_process() -> None:
    plugin._cache.cache_clear()


def test_a_text_is_analysed_once(cache: Path, looked: list[str]) -> None:
    first = plugin_places(SEED)
    another_process()
    assert plugin_places(SEED) == first != []
    assert looked == [SEED]
    assert len(lines_of(cache)) == 1


def test_of_a_text_that_cannot_hold_a_norm_nothing_is_kept(cache: Path, looked: list[str]) -> None:
    assert plugin_places("x = 1\n") == []
    assert looked == []
    assert list(cache.iterdir()) == []


def test_another_selection_is_another_question(looked: list[str]) -> None:
    assert plugin_places(SEED) != []
    Plugin.parse_options(options(ignore=["NRM"]))
    assert plugin_places(SEED) == []
    assert len(looked) == 2


def test_another_program_has_another_file(monkeypatch: pytest.MonkeyPatch, cache: Path, looked: list[str]) -> None:
    plugin_places(SEED)
    monkeypatch.setattr("normlint.engine.cache._sources", lambda: "changed")
    another_process()
    plugin_places(SEED)
    assert len(looked) == 2
    assert len(list(cache.glob("cache-*"))) == 2


def spoil_torn(line: str) -> str:
    return line[: len(line) // 2]


def spoil_changed(line: str) -> str:
    return line.replace("NRM101", "NRM102")


def foreign(payload: str) -> Callable[[str], str]:
    def spoil(line: str) -> str:
        key = line.strip().partition("\t")[0]
        return f"{key}\t{caches._check(key, payload)}\t{payload}\n"

    return spoil


SPOILT = {
    "a line that was torn": spoil_torn,
    "a line that was changed": spoil_changed,
    "a line that is no report": foreign('["no place"]'),
    "a report that is no list": foreign("{}"),
    "a report that nests without end": foreign("[" * 5000),
    "no text at all": lambda line: "\0\xff\n" * 9,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_is_not_as_it_was_written_is_no_answer(
    spoil: Callable[[str], str], cache: Path, looked: list[str]
) -> None:
    first = plugin_places(SEED)
    (file,) = cache.glob("cache-*")
    file.write_text(spoil(file.read_text().strip()), encoding="latin-1")
    for _ in range(2):
        another_process()
        assert plugin_places(SEED) == first
    assert len(looked) == 2


def test_where_nothing_can_be_written_nothing_is_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looked: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    for _ in range(2):
        another_process()
        assert plugin_places(SEED) != []
    assert len(looked) == 2


def without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)


def without_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normlint.engine.cache._PACKAGE", "/nowhere/normlint")


@pytest.mark.parametrize("lack", [without_home, without_sources], ids=["a home", "files of the program's"])
def test_without_a_place_nothing_is_remembered(
    lack: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lack(monkeypatch)
    for _ in range(2):
        another_process()
        assert plugin_places(SEED) != []
    assert len(looked) == 2
    assert list(tmp_path.iterdir()) == []


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


def a_folder(file: Path) -> None:
    file.mkdir()


def an_endless_file(file: Path) -> None:
    file.symlink_to("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links of POSIX")
@pytest.mark.parametrize("put", [a_pipe, a_folder, an_endless_file], ids=["a pipe", "a folder", "an endless file"])
def test_what_is_no_file_of_ours_is_neither_read_nor_written(put: Callable[[Path], None], cache: Path) -> None:
    plugin_places(SEED)
    (file,) = cache.glob("cache-*")
    file.unlink()
    put(file)
    another_process()
    assert plugin_places(SEED) != []


def test_what_cannot_be_tidied_away_stops_nothing(cache: Path, looked: list[str]) -> None:
    (cache / "cache-00000000").mkdir()
    os.utime(cache / "cache-00000000", (1, 1))
    (cache / "cache-00000001").symlink_to(cache / "nowhere")
    plugin_places(SEED)
    another_process()
    plugin_places(SEED)
    assert len(looked) == 1


def test_a_link_is_not_followed(cache: Path, tmp_path: Path) -> None:
    plugin_places(SEED)
    (file,) = cache.glob("cache-*")
    file.unlink()
    (tmp_path / "target").write_text("mine")
    file.symlink_to(tmp_path / "target")
    another_process()
    assert plugin_places(SEED) != []
    assert (tmp_path / "target").read_text() == "mine"


def test_files_that_nobody_has_used_for_long_go(cache: Path) -> None:
    old, young, other = (cache / name for name in ("cache-00000000", "cache-00000001", "other"))
    for file in (old, young, other):
        file.write_text("")
    for file in (old, other):
        os.utime(file, (time.time() - OLD - 9,) * 2)
    plugin_places(SEED)
    assert not old.exists()
    assert young.exists()
    assert other.exists()


def test_several_processes_add_their_lines(cache: Path) -> None:
    program = (
        "import sys; from normlint.engine.cache import Cache, Known; cache = Cache(sys.argv[1])\n"
        "for n in range(200): cache.learn(f'{sys.argv[2]} {n}', '', Known(sys.argv[2] * 99)); cache.save()"
    )
    runs = [subprocess.Popen([sys.executable, "-c", program, str(cache), name]) for name in ("a", "b", "c")]
    assert [run.wait() for run in runs] == [0, 0, 0]
    kept = Cache(str(cache))
    for name in ("a", "b", "c"):
        for n in range(200):
            known = kept.found(f"{name} {n}", "")
            assert known is not None
            assert known.findings == name * 99


def test_nothing_is_remembered_where_that_is_not_wanted(seeds: Path, cache: Path) -> None:
    assert "NRM101" in flake8("--normlint-no-cache", "a.py", cwd=seeds)
    assert list(cache.iterdir()) == []
    assert "NRM101" in flake8("a.py", cwd=seeds)
    assert len(lines_of(cache)) == 1


# --- the real flake8 --------------------------------------------------------------------------------------------------


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


TWICE = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight * self.weight
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_only_interpreting_shows_is_reported_where_it_is_asked_for(jobs: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="norms are interpreted with torch")
    for name in "ab":
        (tmp_path / f"{name}.py").write_text(TWICE, encoding="utf-8")
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=NRM", f"--jobs={jobs}"]

    def flake8(*more: str) -> str:
        return subprocess.run(
            [*command, *more], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        ).stdout

    assert flake8() == ""
    lines = flake8("--normlint-verify").splitlines()
    assert [line.split(": ")[1].split()[0] for line in lines] == ["NRM901", "NRM901"]
    assert {line.split(":")[0] for line in lines} == {"./a.py", "./b.py"}


HIDDEN = """
import importlib.machinery, sys
found = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *more: None if name == "torch" else found(name, *more)
"""
UNABLE = {
    "PyTorch isn't there": (HIDDEN, "--normlint-verify needs PyTorch, which is not installed"),
    "no process can be started": ("import sys; sys.executable = '/no'", "the verifier can't be started: [Errno 2]"),
}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("before", "why"), UNABLE.values(), ids=UNABLE)
def test_norms_are_only_read_and_that_is_reported_once_where(before: str, why: str, jobs: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="norms are interpreted with torch")
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(SEED, encoding="utf-8")
    program = f"{before}\nfrom flake8.main.cli import main\nsys.exit(main())"
    command = [sys.executable, "-c", program, "--isolated", "--select=NRM1", f"--jobs={jobs}", "--normlint-verify"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"normlint: {why}")
    assert line.endswith(": norms are only read")
    assert [line.split(" ")[1] for line in ran.stdout.splitlines()] == ["NRM101"] * 3
