"""From norms to jobs, and from verdicts to findings: nothing is run here."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from normlint.engine.linter import check_bytes
from normlint.engine.report import ListedNorm, Report, merged
from normlint.engine.selection import Demand, Selection
from normlint.faces.render import Display, render
from normlint.faces.verifying import verified
from normlint.norm.norm import Norm
from normlint.rules.registry import RULES
from normlint.rules.runtime import Outcome
from normlint.text.source import Source, Unit
from normlint.text.verdict import Probe, Verdict

HEAD = "import torch\n\n"
SOUND = """\
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
"""
BARE = SOUND.replace(" + eps)", ")").replace(", eps=1e-6", "")  # NRM301, on its third line
SHARED = """\
def scaled(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))


def pre_norm(x, weight):
    return scaled(x.float()).type_as(x) * weight


def post_norm(x, weight):
    return scaled(x.double()).type_as(x) * weight
"""
TWINS = """\
class RMSNorm(torch.nn.Module):
    def forward(self, q, k):
        q = (q.float() * torch.rsqrt(q.float().pow(2).mean(-1, keepdim=True))).type_as(q)
        k = (k.float() * torch.rsqrt(k.float().pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(k)
        return q, k
"""


def name_of(source: Source, unit: Unit, norm: Norm) -> str:
    return norm.qualname


def checked(text: str, demand: Demand | None = None, path: str = "a.py", **more: Any) -> Report:
    return check_bytes(path, (HEAD + text).encode(), demand or Demand(prepare=name_of, **more))


def only(report: Report) -> ListedNorm:
    (norm,) = report.norms
    return norm


def test_without_a_wish_to_run_nothing_is_prepared() -> None:
    assert only(checked(SOUND, Demand())).pending is None


def test_a_norm_is_prepared_with_the_place_of_what_it_may_show() -> None:
    pending = only(checked(SOUND)).pending
    assert pending is not None
    assert (pending.job, pending.wanted, pending.explained) == ("rms_norm", ("NRM901", "NRM902"), False)
    assert (pending.spot.path, pending.spot.start[1:], pending.spot.norm) == ("a.py", (5, 12), "rms_norm")
    assert pending.spot.excerpt[pending.spot.start.line - pending.spot.excerpt_start].startswith("    return (h *")


def test_a_helper_is_run_by_its_callers() -> None:
    norms = checked(SHARED).norms
    assert [(norm.qualname, norm.pending is not None) for norm in norms] == [
        ("scaled", False),
        ("pre_norm", True),
        ("post_norm", True),
    ]


def test_a_finding_knows_all_norms_that_share_it() -> None:
    report = checked(SHARED)
    assert [finding.norms for finding in report.findings] == [(1, 2)]
    assert [norm.pending and norm.pending.explained for norm in report.norms] == [None, True, True]


def test_norms_of_one_name_are_distinguished() -> None:
    report = checked(TWINS)
    assert [(norm.number, norm.pending and norm.pending.explained) for norm in report.norms] == [(0, True), (1, False)]
    assert {finding.norms for finding in report.findings} == {(0,)}


def test_norms_are_counted_through_all_blocks_of_a_page() -> None:
    page = f"```py\n{HEAD}{SOUND}```\n\n```py\n{HEAD}{BARE}```\n"
    report = check_bytes("a.md", page.encode(), Demand(prepare=name_of))
    assert [norm.number for norm in report.norms] == [0, 1]
    assert {finding.norms for finding in report.findings} == {(1,)}


EXPLAINED = {
    "a finding that is reported": (BARE, {}, True),
    "a finding that a comment silences": (f"{BARE[:-1]}  # noqa: NRM301\n", {}, True),
    "a finding that is ignored": (BARE, {"selection": Selection(ignore=("NRM301",))}, True),
    "a finding that is ignored in this file": (BARE, {"ignored": ("NRM3",)}, True),
    "a finding nobody asked for": (BARE, {"selection": Selection(select=("NRM9",))}, False),
    "a remark on style": (SOUND, {"selection": Selection(extend_select=("NRM6",))}, False),
}


@pytest.mark.parametrize(("text", "arguments", "explained"), EXPLAINED.values(), ids=EXPLAINED)
def test_what_explains_a_wrong_verdict_is(text: str, arguments: dict[str, Any], explained: bool) -> None:
    pending = only(checked(text, **arguments)).pending
    assert pending is not None
    assert pending.explained is explained


WANTED = {
    "what is on by default": (SOUND, {}, ("NRM901", "NRM902")),
    "all that is selected": (SOUND, {"selection": Selection(select=("NRM9",))}, ("NRM901", "NRM902", "NRM903")),
    "less what is ignored": (SOUND, {"selection": Selection(ignore=("NRM901",))}, ("NRM902",)),
    "less what this file ignores": (SOUND, {"ignored": ("NRM9",)}, ()),
    "less what a comment on the line silences": (SOUND[:-1] + "  # noqa: NRM902\n", {}, ("NRM901",)),
    "all of it where comments don't count": (SOUND[:-1] + "  # noqa\n", {"noqa": False}, ("NRM901", "NRM902")),
}


@pytest.mark.parametrize(("text", "arguments", "wanted"), WANTED.values(), ids=WANTED)
def test_a_run_may_report(text: str, arguments: dict[str, Any], wanted: tuple[str, ...]) -> None:
    pending = only(checked(text, **arguments)).pending
    assert pending is not None
    assert pending.wanted == wanted


def raising(source: Source, unit: Unit, norm: Norm) -> object:
    raise KeyError(norm.qualname)


def test_a_norm_that_can_not_be_prepared_costs_no_finding() -> None:
    report = checked(BARE, Demand(prepare=raising))
    assert [finding.code for finding in report.findings] == ["NRM301"]
    assert [error.message for error in report.errors] == ["internal error: KeyError: 'rms_norm'"]


def test_a_file_that_can_not_be_linted_is_reported_once() -> None:
    report = check_bytes("a.py", b"def mean(:\n  / sqrt", Demand(prepare=name_of))
    assert len(report.errors) == 1


# --- what a verdict says ---------------------------------------------------------------------------------------------

EPS = Probe("effective eps", "float32", 1.0, 0.01, "another eps")
FAR = Probe("fp16 ×1e4", "float16", 9.0, 4.0, "zeros")
WRONG = Verdict("wrong", "zeros", "cpu", worst=FAR)
OUTCOMES = {
    "a match": (Outcome(Verdict("match", device="cpu")), []),
    "a match with the eps it was given": (Outcome(Verdict("match", "", "cpu", 1.001e-6, 1e-6)), []),
    "a match whose given eps nobody knows": (Outcome(Verdict("match", "", "cpu", 1e-6)), []),
    "no eps where none was given": (Outcome(Verdict("match", "", "cpu", None, None)), []),
    "a loss of precision": (Outcome(Verdict("precision", "bf16 is off", "cpu")), []),
    "a wrong norm that reading has explained": (Outcome(WRONG, explained=True), []),
    "a wrong norm": (Outcome(WRONG), ["NRM901 zeros"]),
    "a match with another eps": (
        Outcome(Verdict("match", "", "cpu", 1e-5, 1e-6)),
        ["NRM902 computes with an eps of 1e-05 where 1e-06 was given"],
    ),
    "another eps that reading has explained": (Outcome(Verdict("match", "", "cpu", 1e-5, 1e-6), explained=True), []),
    "wrong in nothing but eps": (
        Outcome(Verdict("wrong", "another eps", "cpu", 1e-5, 1e-6, worst=EPS)),
        ["NRM902 computes with an eps of 1e-05 where 1e-06 was given"],
    ),
    "wrong in eps and more": (Outcome(Verdict("wrong", "zeros", "cpu", 1e-5, 1e-6, worst=FAR)), ["NRM901 zeros"]),
    "wrong in an eps nobody knows": (
        Outcome(Verdict("wrong", "another eps", "cpu", None, 1e-6, worst=EPS)),
        ["NRM901 another eps"],
    ),
    "a norm that could not be run": (Outcome(Verdict("skipped", "needs apex")), ["NRM903 not verified: needs apex"]),
}


@pytest.mark.parametrize(("outcome", "findings"), OUTCOMES.values(), ids=OUTCOMES)
def test_running_finds(outcome: Outcome, findings: list[str]) -> None:
    told = {code: rule.check_run(outcome) for code, rule in RULES.items() if rule.check_run}
    assert [f"{code} {message}" for code, message in told.items() if message] == findings


def answered(report: Report, *statuses: str) -> Report:
    """The report with these verdicts on its norms, answered from the last to the first."""
    answers = [(at, Verdict(status, status.upper(), "cpu")) for at, status in enumerate(statuses)]
    return verified(report, reversed(answers), "2.13.0")


def test_each_verdict_finds_its_norm_and_its_findings() -> None:
    report = answered(checked(TWINS), "wrong", "match")
    assert [norm.verdict and norm.verdict.status for norm in report.norms] == ["wrong", "match"]
    assert {finding.verdict and finding.verdict.status for finding in report.findings} == {"wrong"}
    assert "NRM901" not in {finding.code for finding in report.findings}


def test_a_shared_finding_has_the_gravest_verdict() -> None:
    for statuses in (("wrong", "match"), ("skipped", "wrong"), ("precision", "wrong")):
        (finding,) = answered(checked(SHARED), *statuses).findings
        assert finding.verdict is not None
        assert finding.verdict.status == "wrong"


def test_new_findings_stand_where_they_belong() -> None:
    files = [checked(text, path=path) for path, text in (("a.py", SOUND), ("b.py", SOUND + BARE), ("c.py", BARE))]
    report = answered(merged(files), "wrong", "wrong", "match", "wrong")
    assert [(one.path, one.start.line, one.code) for one in report.findings] == [
        ("a.py", 5, "NRM901"),
        ("b.py", 5, "NRM901"),
        ("b.py", 8, "NRM301"),
        ("c.py", 5, "NRM301"),
    ]


def test_a_finding_may_stand_in_a_file_without_norms() -> None:
    norms, none = checked(BARE, path="b.py"), checked("", path="a.py")
    elsewhere = replace(none, findings=tuple(replace(one, path="a.py", norms=()) for one in norms.findings))
    report = answered(merged([elsewhere, norms]), "wrong")
    assert [(one.path, one.code) for one in report.findings] == [("a.py", "NRM301"), ("b.py", "NRM301")]


def test_what_an_exception_says_stays_in_one_line_and_in_its_place() -> None:
    verdict = Verdict("wrong", "raises ValueError: one\r\ntwo\x1b[2J", "cpu")
    report = verified(checked(SOUND), [(0, verdict)], "2.13.0")
    assert [one.message for one in report.findings] == ["raises ValueError: one two\x1b[2J"]
    assert render(report, "concise", Display()).splitlines()[0] == "a.py:5:12: NRM901 raises ValueError: one two␛[2J"


def test_a_verdict_changes_nothing_else() -> None:
    before = checked(BARE)
    after = answered(before, "match")
    assert [one.code for one in after.findings] == [one.code for one in before.findings]
    assert after.torch == "2.13.0"


def test_a_demand_can_be_sent_to_another_process() -> None:
    demand = Demand(prepare=name_of)
    assert pickle.loads(pickle.dumps(demand)) == demand
    report = checked(SOUND)
    assert only(pickle.loads(pickle.dumps(report))).pending == only(report).pending
