"""What executes code and what doesn't: only `--verify=import`, only on the command line; and SECURITY.md says so."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.api import check_source, fix_source
from normlint.faces.options import parse
from normlint.rules import analyse
from normlint.text.verdict import MATCH, SKIPPED, WRONG, Verdict

ROOT = Path(__file__).parents[2]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

TRACE = "from pathlib import Path\nPath(__file__).with_suffix('.ran').write_text('')\n"
NORM = """
import torch
from torch import nn
from pack.tiny import EPS

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=EPS):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A norm in a package; the file leaves a trace if it is run."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "tiny.py").write_text("EPS = 1e-6\n")
    path = tmp_path / "pack" / "model.py"
    path.write_text(TRACE + NORM)
    return path


def ran(file: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    if text is not None:
        file.write_text(text)
    command = [sys.executable, "-m", "normlint", "--no-cache", "--output-format", "json", *arguments, str(file)]
    return subprocess.run(command, cwd=file.parents[1], capture_output=True, text=True, timeout=120, check=False)


def statuses(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [norm["verdict"]["status"] for norm in json.loads(done.stdout)["norms"]]


def was_run(file: Path) -> bool:
    return file.with_suffix(".ran").exists()


def test_reading_executes_nothing(file: Path) -> None:
    for options in ((), ("--show-norms",), ("--diff",), ("--fix", "--unsafe-fixes"), ("--select", "ALL")):
        ran(file, *options)
    check_source(file.read_text(), str(file))
    fix_source(file.read_text(), str(file))
    assert not was_run(file)


@needs_torch
def test_verifying_executes_nothing(file: Path) -> None:
    assert statuses(ran(file, "--verify")) == [MATCH]
    assert not was_run(file)


@needs_torch
def test_importing_executes_the_file_and_says_so(file: Path) -> None:
    done = ran(file, "--verify=import")
    assert (statuses(done), was_run(file)) == ([MATCH], True)
    assert done.stderr == "normlint: --verify=import imports the files that hold norms: their code is executed\n"


CODE = {
    "a broken norm is wrong": (NORM.replace("torch.rsqrt", "torch.sqrt"), WRONG, ""),
    "what can't be interpreted is run": (NORM.replace("self.eps = eps", "self.eps = eval('eps')"), MATCH, ""),
    "a package that is missing is named": ("import no_such_package\n" + NORM, SKIPPED, "needs no_such_package"),
    "a file that exits costs itself": ("raise SystemExit(3)\n" + NORM, SKIPPED, "crashed: exit status 1"),
    "a file that ends the process costs itself": ("import os\nos._exit(3)\n" + NORM, SKIPPED, "crashed: exit status 3"),
    "a file that raises is told": ("1 / 0\n" + NORM, SKIPPED, "ZeroDivisionError"),
}


@needs_torch
@pytest.mark.parametrize(("text", "status", "words"), CODE.values(), ids=CODE)
def test_the_verdict_on_an_imported_norm(text: str, status: str, words: str, file: Path) -> None:
    done = ran(file, "--verify=import", text=text)
    assert statuses(done) == [status]
    assert words in json.loads(done.stdout)["norms"][0]["verdict"]["reason"]


ASKED = {
    "verify": 'verify = "import"',
    "with a dash": 'verify-import = true',
    "as an argument": 'args = ["--verify=import"]',
}  # fmt: skip


@pytest.mark.parametrize("line", ASKED.values(), ids=ASKED)
def test_no_configuration_asks_for_it(line: str, file: Path) -> None:
    (file.parents[1] / "pyproject.toml").write_text(f"[tool.normlint]\n{line}\n")
    done = ran(file)
    assert done.returncode == 2
    assert not was_run(file)


def test_only_the_command_asks_for_it() -> None:
    """Nothing else makes a verifier that executes."""
    callers = {
        path.relative_to(ROOT / "normlint").as_posix()
        for path in (ROOT / "normlint").rglob("*.py")
        if re.search(r"execute=|prepare_to_execute\b", path.read_text(encoding="utf-8"))
    }
    assert callers == {"faces/cli.py", "faces/verifying.py", "verify/program/prepare.py"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--verify=import", "--fix"], "--verify=import and --fix cannot be combined"),
        (["--verify=import", "--diff"], "--verify=import and --diff cannot be combined"),
        (["--verify=import", "--report", "a.html"], "--verify=import and --report cannot be combined"),
        (["--verify=import", "-"], "--verify=import cannot read standard input"),
        (["--verify=run"], "invalid choice"),
    ],
)
def test_it_runs_files_as_they_are(options: list[str], said: str) -> None:
    from normlint.engine.settings import ConfigError

    with pytest.raises(ConfigError, match=re.escape(said)):
        parse(options)


def test_a_path_after_verify_is_a_path() -> None:
    options = parse(["--verify", "import", "a.py"])
    assert (options.verify, options.paths) == ("interpret", ["import", "a.py"])


@pytest.mark.parametrize("named", sorted(set(re.findall(r"tests/[\w/]+\.py::\w+", (ROOT / "SECURITY.md").read_text()))))
def test_each_sentence_has_a_test_that_is_there(named: str) -> None:
    file, _, name = named.partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_each_sentence_names_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    told = text.partition("## What runs code")[2].partition("## What counts")[0]
    sentences = [part for part in re.split(r"\n- |\n\| (?!-)", told)[1:] if "`tests/" not in part]
    assert [part for part in sentences if not part.startswith("limit |")] == []


HELD = sorted((ROOT / "tests" / "held").glob("*/*.py"))


@needs_torch
@pytest.mark.parametrize("path", HELD, ids=lambda path: path.stem)
def test_interpreted_and_imported_are_the_same_to_the_bit(path: Path) -> None:
    from normlint.text.read import read, units_of
    from normlint.verify.interpret import imported, judged
    from normlint.verify.program.prepare import prepare, prepare_to_execute

    source = read(str(path))
    (unit,) = units_of(source)
    for norm in analyse(unit.text).norms:
        job = prepare_to_execute(source, unit, norm)
        if job.module:
            assert shown(judged(prepare(source, unit, norm))) == shown(judged(job, names=imported))


def shown(verdict: Verdict) -> object:
    """All of it but what was printed, which interpreting doesn't know."""
    told = verdict.reason.partition("prints at every call")
    return verdict.status, told[:2], [(one.probe, one.dtype, one.error) for one in verdict.probes]
