"""The grid: every defect among all its spellings gets its own code and no other, and sound norms get none."""

from __future__ import annotations

from functools import cache

import pytest

from normlint.rules import Analysis, analyse
from normlint.rules.registry import RULES
from normlint.text.finding import Finding, Span
from tests.grid.cases import Case, all_cases

SHOWN = 3


@cache
def _groups() -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in all_cases():
        groups.setdefault(case.group, []).append(case)
    return groups


def _inside(span: Span, case: Case) -> bool:
    """Whether a finding lies in one of the stretches it belongs in."""
    for stretch in case.where:
        start = case.text.find(stretch)
        while start >= 0:
            if start <= span.start and span.end <= start + len(stretch):
                return True
            start = case.text.find(stretch, start + 1)
    return not case.where


def _described(found: list[Finding], text: str) -> str:
    return ", ".join(f"{one.code} at {text[one.span.start : one.span.end]!r}" for one in found) or "nothing"


def _wrong(case: Case, analysis: Analysis) -> str:
    """What is wrong with an analysis of a case, or nothing."""
    found = [one for one in analysis.findings if RULES[one.code].default]
    codes = [one.code for one in found]
    if set(codes) != set(case.codes) or (len(codes) > len(case.codes) and not case.repeats):
        return f"expected {case.codes or 'nothing'}, found {_described(found, case.text)}"
    if lost := [one for one in found if not _inside(one.span, case)]:
        return f"expected inside {case.where}, found {_described(lost, case.text)}"
    if case.codes:
        return ""
    kinds = {norm.kind for norm in analysis.norms}
    if kinds != {case.kind}:
        return f"expected a norm of kind {case.kind}, found {kinds or 'no norm'}"
    missing = set(case.extras) - {one.code for one in analysis.findings}
    return f"expected also {sorted(missing)}" if missing else ""


@pytest.mark.parametrize("group", _groups())
def test_each_case_gets_its_codes_and_no_others(group: str) -> None:
    """All cases of one defect in one structure; the failures together."""
    wrong = [f"{case.id}\n{why}\n{case.text}" for case in _groups()[group] if (why := _wrong(case, analyse(case.text)))]
    shown = "\n".join(wrong[:SHOWN])
    assert not wrong, f"{len(wrong)} of {len(_groups()[group])} cases go wrong, such as\n{shown}"
