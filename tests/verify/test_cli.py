"""`--verify`, as a user runs it, on files, with torch where it says so: in a process of its own where that matters."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from normlint.verify.guard.run import Verifier

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

HEAD = "import torch\nfrom torch import nn\n\n\n"
SOUND = """\
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.dim = dim
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
"""


def changed(old: str, new: str) -> str:
    assert SOUND.count(old) == 1
    return SOUND.replace(old, new)


GLOBAL = changed("h.pow(2).mean(-1, keepdim=True)", "torch.sum(h.pow(2)) / self.dim")
TWICE = changed("self.eps)", "self.eps) * self.weight")
EPS = changed("+ self.eps", "+ self.eps + self.eps")
MISSING = """\
def rms_norm(x, weight, plan, eps=1e-6):
    if plan.fused:
        return plan.run(x, weight, eps)
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
"""
SLOW = changed(
    "h = x.float()", "h = x.float()\n        for _ in range(9999):\n            h.ravel().repeat(6561).sort()"
)


@dataclass(frozen=True)
class Ran:
    """What a run of the command gave."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The report."""
        return json.loads(self.out)

    @property
    def codes(self) -> list[str]:
        """Of all findings, in their order."""
        return [finding["code"] for finding in self.json["findings"]]

    @property
    def statuses(self) -> list[str | None]:
        """Of all norms, in their order."""
        return [norm["verdict"] and norm["verdict"]["status"] for norm in self.json["norms"]]


Run = Callable[..., Ran]
COMMAND = (sys.executable, "-m", "normlint")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def running(*arguments: str, command: Sequence[str] = COMMAND, stdin: str | None = None, **files: str) -> Ran:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(HEAD + text, encoding="utf-8")
        ran = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    return running


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("cpu") as shared:
        yield shared


@pytest.fixture
def here(command: Callable[..., Any], verifier: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same in this process, with one verifier for all tests: of their own, each would import torch."""
    monkeypatch.setattr("normlint.faces.verifying.Verifier", lambda *_, **__: nullcontext(verifier))

    def running(*arguments: str, **files: str) -> Ran:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(HEAD + text, encoding="utf-8")
        ran = command(*arguments)
        return Ran(ran.status, ran.out, ran.err)

    return running


# --- what needs no torch ---------------------------------------------------------------------------------------------

TROUBLE = {
    "a device without --verify": (["--device", "cpu"], "--device needs --verify"),
    "a time limit without --verify": (["--verify-timeout", "3"], "--verify-timeout needs --verify"),
    "a device that no torch has": (["--verify", "--device", "gpu"], "argument --device: 'gpu' is none of auto, cpu,"),
    "a device with a wrong number": (["--verify", "--device", "cuda:x"], "argument --device: 'cuda:x' is none of"),
    "no time at all": (["--verify", "--verify-timeout", "0"], "argument --verify-timeout: '0' is no number of seconds"),
    "a time that is none": (["--verify", "--verify-timeout", "nan"], "argument --verify-timeout: 'nan' is no number"),
    "endless time": (["--verify", "--verify-timeout", "inf"], "argument --verify-timeout: 'inf' is no number of"),
}


@pytest.mark.parametrize(("arguments", "said"), TROUBLE.values(), ids=TROUBLE)
def test_2_and_one_line_for(arguments: list[str], said: str, run: Run) -> None:
    ran = run(*arguments, a=SOUND)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"normlint: {said}")
    assert len(ran.err.splitlines()) == 1


NO_TORCH = """\
import importlib.machinery, sys

found = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *more: None if name == "torch" else found(name, *more)
from normlint.faces.cli import main

sys.exit(main())
"""


CONFIGURED = "[tool.normlint]\nverify = true\n"


def test_what_is_configured_is_left_out_without_torch_and_that_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(CONFIGURED, encoding="utf-8")
    ran = run(command=(sys.executable, "-c", NO_TORCH), a=GLOBAL)
    assert "NRM101" in ran.out
    assert ran.err == "normlint: verify = true needs PyTorch, which is not installed: norms are only read\n"
    assert run("--no-verify", command=(sys.executable, "-c", NO_TORCH)).err == ""


@needs_torch
def test_it_can_be_configured(here: Run, tmp_path: Path) -> None:
    assert here(a=TWICE) == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")
    (tmp_path / "pyproject.toml").write_text(CONFIGURED, encoding="utf-8")
    ran = here()
    assert (ran.status, "NRM901" in ran.out) == (1, True)
    assert here("--no-verify") == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")


UNPROVED = MISSING.replace("-1, keepdim=True", "")
BESIDE = {
    "--diff shows what --fix would write, and says of the rest what it is": (
        ["--diff"], 1, "+        h = h * torch.rsqrt(torch.sum(h.pow(2), dim=-1, keepdim=True)", "1 would remain"),
    "--fix reports what only running shows": (["--fix"], 1, "NRM901", "Fixed 1 finding in 1 file (NRM101); 1 remains."),
    "--add-noqa silences it": (["--add-noqa"], 0, "Added 2 noqa comments.", ""),
    "--write-baseline accepts it": (["--write-baseline", "accepted.json"], 0, "Wrote 2 findings to accepted.json.", ""),
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize(("arguments", "status", "shown", "also"), BESIDE.values(), ids=BESIDE)
def test_configured(arguments: list[str], status: int, shown: str, also: str, here: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(CONFIGURED, encoding="utf-8")
    ran = here(*arguments, a=GLOBAL, b=TWICE)
    assert ran.status == status
    assert shown in ran.out
    assert also in ran.out + ran.err
    if not status:  # what was accepted is accepted in every later run, with and without torch
        accepted = ["--baseline", "accepted.json"] if "--write-baseline" in arguments else []
        assert "All checks passed" in here(*accepted).out
        assert "All checks passed" in here("--no-verify", *accepted).out


@needs_torch
@pytest.mark.parametrize(("configured", "option", "fixes"), [("", [], False), (CONFIGURED, [], False),
                         ("", ["--verify"], True), (CONFIGURED, ["--unsafe-fixes"], True)])  # fmt: skip
def test_a_fix_that_cannot_be_tried_is_made_only_where_that_is_asked_for(
    configured: str, option: list[str], fixes: bool, here: Run, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(configured, encoding="utf-8")
    ran = here("--fix", *option, a=UNPROVED)
    assert ("mean(-1, keepdim=True)" in (tmp_path / "a.py").read_text(encoding="utf-8")) is fixes
    assert ("is put back" in ran.err) is not fixes


WRONG_AFTER = {  # what a fix would leave wrong, with nothing left to report
    "an eps that was added to the norm itself": (
        "(h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True)) + self.eps)",
        "NRM301",
    ),
    "an eps that is multiplied": ("(h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) * self.eps))", "NRM301"),
    "a sum that was to be a square": ("(h * torch.rsqrt((h * 2).mean(-1, keepdim=True) + self.eps))", "NRM403"),
}
LEFT = """class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        return {}.to(x.dtype) * self.weight
"""


@needs_torch
@pytest.mark.parametrize(("spelled", "code"), WRONG_AFTER.values(), ids=WRONG_AFTER)
@pytest.mark.parametrize("option", ["--fix", "--unsafe-fixes"])
def test_a_fix_is_put_back_where_it_leaves_wrong_what_no_rule_would_report(
    option: str, spelled: str, code: str, here: Run, tmp_path: Path
) -> None:
    text = LEFT.format(spelled)
    ran = here("--fix", option, a=text)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == HEAD + text
    assert f"the fix of {code} is put back: with it, the norm is wrong" in ran.err


@needs_torch
@pytest.mark.parametrize("name", ["LayerNorm", "N"])
def test_a_fix_is_kept_where_what_stays_wrong_is_reported_or_little(name: str, here: Run, tmp_path: Path) -> None:
    text = f"""class {name}(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        s, m = torch.std_mean(h, -1, keepdim=True)
        return ((h - m) / (s + self.eps)).to(x.dtype) * self.weight + self.bias
"""
    here("--fix", "--unsafe-fixes", "--select", "NRM105", a=text)
    assert "keepdim=True, correction=0)" in (tmp_path / "a.py").read_text(encoding="utf-8")


def test_without_torch_it_is_said_before_anything_is_linted(run: Run) -> None:
    ran = run("--verify", command=(sys.executable, "-c", NO_TORCH), a=GLOBAL)
    message = "normlint: verification needs torch: pip install 'normlint[verify]'\n"
    assert (ran.status, ran.out, ran.err) == (2, "", message)


def test_without_torch_all_else_works(run: Run) -> None:
    ran = run("--output-format", "json", command=(sys.executable, "-c", NO_TORCH), a=GLOBAL, b=SOUND)
    assert (ran.status, ran.codes, ran.statuses) == (1, ["NRM101"], [None, None])


# --- runs ------------------------------------------------------------------------------------------------------------


@needs_torch
def test_a_sound_norm_matches(run: Run) -> None:
    ran = run("--verify", "--device", "cpu", a=SOUND)
    assert (ran.status, ran.err) == (0, "")
    assert re.fullmatch(
        r"All checks passed: 1 norm in 1 file.\nVerified 1 norm on cpu \(torch [\w.+]+\): 1 match\.\n", ran.out
    )


@needs_torch
def test_a_finding_carries_its_proof(run: Run) -> None:
    ran = run("--verify", "--device", "cpu", a=GLOBAL)
    assert ran.status == 1
    assert ran.out.count(": NRM") == 1
    assert re.search(
        r"\n += global-reduction .*\n += the norm: .*\n += verify \(whole norm\): wrong on cpu: \w.*\n += help: ",
        ran.out,
    )
    assert re.search(r"Found 1 error\.\n.* --fix\.\nVerified 1 norm on cpu \(torch .*\): 1 wrong\.\n\Z", ran.out)


CHUNKED = """\
from torch import nn

class AdaNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.linear = nn.Linear(dim, 2 * dim)

    def forward(self, x, c):
        scale, shift = self.linear(c).chunk(2)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None]
"""
OF_TOKENS = """\
import torch.nn.functional as F

def attend(q, k):
    b, n, d = q.shape
    return F.normalize(q) @ F.normalize(k).transpose(-1, -2)
"""


@needs_torch
def test_a_file_whose_callers_alone_are_reported_stays_in_its_place(here: Run) -> None:
    ran = here("--verify", "--device", "cpu", "--output-format", "json", a=GLOBAL, b=CHUNKED, c=GLOBAL)
    assert [(one["path"], one["code"]) for one in ran.json["findings"]] == [
        ("a.py", "NRM101"),
        ("b.py", "NRM703"),
        ("c.py", "NRM101"),
    ]


@needs_torch
def test_a_match_beside_a_finding_says_what_it_means(here: Run) -> None:
    ran = here("--verify", "--device", "cpu", "--select", "NRM106", a=OF_TOKENS)
    assert ran.out.count("NRM106") > 0
    assert ran.out.count(": match on cpu: no input that was tried shows the finding") == ran.out.count(": match on cpu")


@needs_torch
def test_many_verdicts_of_one_run(here: Run) -> None:
    """Reading finds the first mistake; running finds the second and third; the fourth can't be built."""
    files = {"a_global": GLOBAL, "b_twice": TWICE, "c_eps": EPS, "d_missing": MISSING, "e_sound": SOUND}
    ran = here("--verify", "--device", "cpu", "--output-format", "json", **files)
    assert ran.status == 1
    assert [(one["path"], one["code"]) for one in ran.json["findings"]] == [
        ("a_global.py", "NRM101"),
        ("b_twice.py", "NRM901"),
        ("c_eps.py", "NRM902"),
    ]
    assert ran.statuses == ["wrong", "wrong", "wrong", "skipped", "match"]
    missing, sound = ran.json["norms"][3:]
    assert missing["verdict"]["reason"] == "needs a value for plan"
    assert sound["verdict"]["effective_eps"] == pytest.approx(1e-6, rel=1e-3)


@needs_torch
def test_a_skipped_norm_is_reported_and_fails_only_where_that_is_asked_for(here: Run) -> None:
    ran = here("--verify", "--output-format", "concise", a=MISSING)
    assert ran.status == 0
    assert ran.out.startswith(
        "a.py:9:12: verify: skipped: needs a value for plan (rms_norm)\nAll checks passed: 1 norm in 1 file.\n"
    )
    ran = here("--verify", "--extend-select", "NRM903", "--output-format", "concise")
    assert ran.status == 1
    assert ran.out.startswith("a.py:9:12: NRM903 not verified: needs a value for plan\nChecked 1 norm in 1 file.\n")


@needs_torch
def test_comments_silence_what_running_finds(here: Run) -> None:
    silenced = TWICE.replace("self.eps) * self.weight", "self.eps) * self.weight  # noqa: NRM901")
    assert here("--verify", a=silenced).status == 0
    assert here("--verify", "--ignore-noqa").status == 1
    assert here("--verify", "--ignore", "NRM901", "--ignore-noqa").status == 0


@needs_torch
def test_what_runs_too_long_costs_itself_alone(run: Run) -> None:
    ran = run("--verify", "--verify-timeout", "2", "--output-format", "json", a=SLOW, b=SOUND)
    assert (ran.status, ran.statuses) == (0, ["skipped", "match"])
    assert "timed out" in ran.json["norms"][0]["verdict"]["reason"]


@needs_torch
def test_standard_input_and_other_processes_are_verified(run: Run) -> None:
    ran = run("-", "--verify", "--output-format", "json", stdin=HEAD + TWICE)
    assert (ran.status, ran.codes, ran.statuses) == (1, ["NRM901"], ["wrong"])
    ran = run("--verify", "--jobs", "2", "--output-format", "json", a=TWICE, b=SOUND)
    assert (ran.status, ran.codes, ran.statuses) == (1, ["NRM901"], ["wrong", "match"])


@needs_torch
def test_listed_norms_show_verdict_and_eps(here: Run) -> None:
    ran = here("--verify", "--device", "cpu", "--show-norms", a=EPS)
    assert ran.status == 0
    first, _, *verdict, found, closing = ran.out.splitlines()
    assert first == "a.py:15:16: rms RMSNorm.forward"
    assert re.search(r"effective eps \S+.*, given 1e-06", "\n".join(verdict))
    assert (found, closing[:18]) == ("Found 1 norm in 1 file.", "Verified 1 norm on")


@needs_torch
def test_a_file_without_norms_has_nothing_to_verify(here: Run) -> None:
    ran = here("--verify", a="x = 1\n")
    assert ran.status == 0
    assert ran.out == "All checks passed: 0 norms in 1 file.\nVerified 0 norms.\n"


@needs_torch
def test_a_device_that_is_not_there_is_reported(run: Run) -> None:
    ran = run("--verify", "--device", "cuda:99", a=SOUND)
    assert (ran.status, ran.out) == (2, "")
    assert re.fullmatch(r"normlint: --device cuda:99: .*\n", ran.err)
