"""Bugs that people reported: what was none stays silent, what was repaired is silent, and what was one is found."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from normlint.rules.callers import called
from normlint.rules.registry import RULES
from tests.reported import BROKEN, MISSED, OUT_OF_SCOPE, SOUND, Report
from tests.reported.probes import PROBES, Case, case

CATALOGUE = 196


def ids(reports: tuple[Report, ...]) -> list[str]:
    return [report.sentence for report in reports]


def found_in(text: str) -> frozenset[str]:
    made = (finding for finding, _ in called(text).found)
    return frozenset(finding.code for finding in (*analyse(text).findings, *made))


def on_by_default(codes: frozenset[str]) -> frozenset[str]:
    return frozenset(code for code in codes if RULES[code].default)


def case_of(report: Report, text: str) -> Case:
    return case(text, report.fields["run"], report.fields["reference"], report.shape)


@pytest.mark.parametrize("report", SOUND, ids=ids(SOUND))
def test_what_was_no_bug_stays_silent(report: Report) -> None:
    assert not on_by_default(found_in(report.text))


@pytest.mark.parametrize("report", BROKEN, ids=ids(BROKEN))
def test_nothing_is_found_in_the_repaired_norm(report: Report) -> None:
    found = found_in(report.repaired)
    assert not on_by_default(found) | (found & report.codes)


@pytest.mark.parametrize("report", BROKEN, ids=ids(BROKEN))
def test_the_reported_bug_is_found_unless_it_is_listed_as_missed(report: Report) -> None:
    found = found_in(report.text)
    assert report.is_found(found) == (report.name not in MISSED), sorted(found)


@pytest.mark.parametrize("report", BROKEN, ids=ids(BROKEN))
def test_nothing_is_found_beside_what_is_wrong(report: Report) -> None:
    assert on_by_default(found_in(report.text)) <= report.codes | report.also


@pytest.mark.parametrize("report", BROKEN, ids=ids(BROKEN))
def test_torch_shows_the_bug_in_the_broken_norm_and_not_in_the_repaired_one(report: Report) -> None:
    broken, repaired = case_of(report, report.text), case_of(report, report.repaired)
    assert report.probes
    assert {probe: PROBES[probe](broken) for probe in report.probes} == dict.fromkeys(report.probes, False)
    assert {probe: PROBES[probe](repaired) for probe in report.probes} == dict.fromkeys(report.probes, True)
    if report.fields["reference"] != "None" and "16" not in report.fields["run"]:  # it is made in half there
        assert PROBES["values"](repaired)


@pytest.mark.parametrize("report", SOUND, ids=ids(SOUND))
def test_torch_agrees_that_it_was_no_bug(report: Report) -> None:
    assert PROBES["values"](case_of(report, report.text))


def test_every_report_is_here_or_out_of_scope_for_a_reason() -> None:
    here = {int(report.name[1:4]) for report in BROKEN if report.name.startswith("r")}
    out = [entry["n"] for entry in OUT_OF_SCOPE]
    assert sorted([*here, *out]) == list(range(1, CATALOGUE + 1))
    assert all(entry["why"] for entry in OUT_OF_SCOPE)


def test_a_missed_bug_is_one_of_those_here_and_has_a_reason() -> None:
    assert set(MISSED) <= {report.name for report in BROKEN}
    assert all(MISSED.values())
