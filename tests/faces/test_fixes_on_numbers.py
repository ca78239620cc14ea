"""`--fix --verify`: a fix is put back where the norm is worse with it, and the rest kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.report import Failure
from normlint.engine.selection import Demand, Selection
from normlint.faces.fixing import _worse, kept_on_numbers
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Probe, Verdict
from normlint.verify.job import Job, Meaning
from tests.fake_fixes import FIXES, FakeFix, use

KEPT = {
    (WRONG, MATCH),
    (WRONG, PRECISION),
    (WRONG, WRONG),
    (PRECISION, MATCH),
    (PRECISION, PRECISION),
    (MATCH, MATCH),
    (SKIPPED, MATCH),
    (SKIPPED, PRECISION),
    (SKIPPED, WRONG),
    (SKIPPED, SKIPPED),
}
STATES = (MATCH, PRECISION, WRONG, SKIPPED)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, STATES)))
def test_a_fix_is_kept_or_put_back_when_a_norm_goes_from(before: str, after: str) -> None:
    assert _worse(Verdict(before), Verdict(after)) == ((before, after) not in KEPT)


class FakeBench:
    """Says of each text what it is set to."""

    def __init__(self, verdicts: Mapping[str, Verdict]) -> None:
        self.by_text = verdicts
        self.asked: list[str] = []

    def verdicts(self, jobs: Sequence[Job]) -> list[Verdict]:
        self.asked += [job.program for job in jobs]
        return [self.by_text[job.program] for job in jobs]


def prepare(source, unit, norm) -> Job:
    del norm
    return Job("N.forward", Meaning("rms"), program=unit.text)


DEMAND = Demand(Selection(("ALL",)), prepare=prepare)


@pytest.fixture
def prove(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fixed]:
    """Fix a text and prove it, with these verdicts on what it was and on what it becomes."""

    def run(
        text: str,
        verdicts: Mapping[str, Verdict],
        fixes: Mapping[str, FakeFix] = FIXES,
        name: str = "a.py",
        *,
        all_run: bool = False,
        unsafe: bool = False,
    ) -> Fixed:
        use(monkeypatch, fixes)
        request = FixRequest(replace(DEMAND, unsafe=unsafe))
        done = fix_file(name, request, text.encode())
        (result,) = kept_on_numbers([done], {name: request}, FakeBench(verdicts), all_run=all_run)  # type: ignore[arg-type]
        assert isinstance(result, Fixed)
        return result

    return run


def notes(result: Fixed) -> list[str]:
    return [note.message for note in result.report.notes]


def test_what_matches_is_kept(prove) -> None:
    result = prove("wide\n", {"wide\n": Verdict(WRONG), "wide(-1)\n": Verdict(MATCH)})
    assert (result.after.text, notes(result)) == ("wide(-1)\n", [])


def test_what_stays_wrong_as_it_was_is_kept_and_reported(prove) -> None:
    result = prove("wide\n", {"wide\n": Verdict(WRONG), "wide(-1)\n": Verdict(WRONG, "off by 3 %", "cpu")})
    assert result.after.text == "wide(-1)\n"
    assert notes(result) == ["N.forward: NRM101 fixed, but the norm is still wrong on cpu: off by 3 %"]


def test_what_fails_where_it_was_right_is_put_back_with_the_probe(prove) -> None:
    passed, failed = Probe("zeros", "fp16", 0.0, 1.0), Probe("zeros", "fp16", 2.0, 1.0)
    before, after = Verdict(WRONG, probes=(passed,)), Verdict(WRONG, "off", "cpu", probes=(failed,))
    result = prove("wide\n", {"wide\n": before, "wide(-1)\n": after})
    assert result.after.text == "wide\n"
    message = "N.forward: the fix of NRM101 is put back: with it, the norm is wrong on cpu, now also at zeros in fp16"
    assert notes(result) == [message]


def test_what_was_right_is_put_back_with_the_reason(prove) -> None:
    result = prove("wide\n", {"wide\n": Verdict(MATCH), "wide(-1)\n": Verdict(WRONG, "off by 3 %", "cpu")})
    assert (result.after.text, result.fixed) == ("wide\n", ())
    message = "N.forward: the fix of NRM101 is put back: with it, the norm is wrong on cpu: off by 3 %"
    assert notes(result) == [message]
    assert [(one.code, one.fix and one.fix.made) for one in result.report.findings] == [("NRM101", False)]


def test_what_can_not_be_run_before_or_after_is_kept_with_a_note(prove) -> None:
    result = prove("wide\n", {"wide\n": Verdict(SKIPPED, "a"), "wide(-1)\n": Verdict(SKIPPED, "needs b")})
    assert result.after.text == "wide(-1)\n"
    assert notes(result) == ["N.forward: NRM101 fixed, but not proved: needs b"]


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe fixes alone", "unsafe ones too"])
def test_a_plain_fix_of_what_cannot_be_run_counts_as_unsafe(prove, unsafe: bool) -> None:
    skipped = Verdict(SKIPPED, "needs a config")
    result = prove("wide\n", {"wide\n": skipped, "wide(-1)\n": skipped}, all_run=True, unsafe=unsafe)
    assert result.after.text == ("wide(-1)\n" if unsafe else "wide\n")
    assert [("--unsafe-fixes" in message, "needs a config" in message) for message in notes(result)] == [
        (not unsafe, True)
    ]


def test_only_the_norm_that_does_not_gain_is_put_back(prove) -> None:
    page = "```py\nwide\n```\n```py\nwide + 1\n```\n"
    verdicts = {
        "wide\n": Verdict(WRONG),
        "wide(-1)\n": Verdict(MATCH),
        "wide + 1\n": Verdict(MATCH),
        "wide(-1) + 1\n": Verdict(WRONG, "no"),
    }
    result = prove(page, verdicts, name="a.md")
    assert result.after.text == "```py\nwide(-1)\n```\n```py\nwide + 1\n```\n"
    assert [(note.line, note.message) for note in result.report.notes] == [
        (5, "N.forward: the fix of NRM101 is put back: with it, the norm is wrong: no")
    ]
    assert len(result.fixed) == 1


def test_files_without_a_fix_and_failures_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FIXES)
    request = FixRequest(DEMAND)
    results = [fix_file(name, request, text) for name, text in (("a.py", b"x\n"), ("b.py", b"wide :(\n"))]
    assert [type(one) for one in results] == [Fixed, Failure]
    bench = FakeBench({})
    assert kept_on_numbers(list(results), {"a.py": request, "b.py": request}, bench) == results  # type: ignore[arg-type]
    assert bench.asked == []


HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
NORM = """\
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        {print}h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean({dims}keepdim=True) + self.eps)
        return h.type_as(x) * self.weight{more}
"""
REAL = {
    "a norm that becomes right is kept": (NORM.format(print="", dims="", more=""), True, ""),
    "a norm that stays wrong is noted": (
        NORM.format(print="print(x)\n        ", dims="-1, ", more=" * self.weight"),
        True,
        "RMSNorm.forward: NRM503 fixed, but the norm is still wrong on cpu: fp32 input: output is off by up to",
    ),
}


@pytest.mark.parametrize(("norm", "kept", "message"), REAL.values(), ids=REAL)
def test_with_torch(norm: str, kept: bool, message: str, command, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    Path("a.py").write_text(HEAD + norm)
    ran = command("--fix", "--verify", "--unsafe-fixes", "--device", "cpu")
    assert (Path("a.py").read_text() != HEAD + norm) == kept
    assert message in ran.err
    assert bool(message) == bool(ran.err)
    assert ran.status == (1 if message else 0), ran.out


LEARNED = (
    HEAD
    + """
class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor(0.25).log())
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps.exp()) ** -0.5 * self.weight
"""
)


@pytest.mark.parametrize(
    ("more", "kept"),
    [((), False), (("--unsafe-fixes",), True), (("--no-verify",), True)],
    ids=["is left alone", "is made with unsafe fixes", "is made if nothing is to be run"],
)
def test_a_safe_fix_of_a_norm_that_cannot_be_run(more: tuple[str, ...], kept: bool, command, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    Path("a.py").write_text(LEARNED)
    ran = command("--fix", *more)
    assert (Path("a.py").read_text() != LEARNED) == kept
    assert ("this one is learned" in ran.err) == (more != ("--no-verify",))


def test_each_norm_behind_one_helper_is_reported_with_its_codes() -> None:
    text = """import torch


def _rms_norm(x):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True)).to(x.dtype)


def norm_of_queries(x, weight):
    return _rms_norm(x) * weight


def norm_of_keys(x, weight):
    return _rms_norm(x) * weight
"""
    fixed = fix_file("a.py", FixRequest(Demand()), text.encode())
    assert isinstance(fixed, Fixed)
    assert {name: codes for (_, name), codes in fixed.touched.items()} == dict.fromkeys(
        ("norm_of_queries", "norm_of_keys"), ("NRM205", "NRM301")
    )
