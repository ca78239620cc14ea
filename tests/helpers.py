"""What several tests share: an analysis whose findings are known beforehand, and the command in this process."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from normlint import rules
from normlint.faces.cli import main
from normlint.norm.norm import Norm, Owner
from normlint.rules.blocks import LightAnalysis, LightNorm
from normlint.rules.registry import RULES, Problem, Rule
from normlint.text.finding import Applicability, Edit, Finding, Fix, Span


def _check(norm: Norm) -> list[Problem]:
    """Reduces over everything.

    One row changes another. The page of every rule here.
    """
    return []


FAKE_RULES = {
    code: Rule(code, name, default, fix, (), _check)
    for code, name, default, fix in (
        ("NRM101", "global-reduction", True, Applicability.SAFE),
        ("NRM302", "eps-outside-sqrt", True, Applicability.UNSAFE),
        ("NRM503", "debug-print", True, None),
        ("NRM601", "sqrt-then-divide", False, None),
    )
}
MARKS = {
    "NRM101": re.compile(r"x\.mean\(\)|torch\.sum\([^\n]*?\)\)"),
    "NRM302": re.compile(r"sqrt\(\) \+ \S+"),
    "NRM503": re.compile(r"print\(.*\)"),
    "NRM601": re.compile(r"1 / torch\.sqrt\(.*\)"),
}
MESSAGES = {
    "NRM101": "all tokens of the batch share one scale",
    "NRM302": "eps joins after the root",
    "NRM503": "prints at each call",
    "NRM601": "rsqrt is one op",
}
BAD = "y = x / x.mean()\n"
BROKEN = "def f(:\n    x / x.mean()\n"  # what would be found stands in a statement that doesn't parse
NORM = "y = x / x.pow(2).mean().sqrt()\n"  # what the real sieve lets through


def fake_norm(qualname: str, span: Span, spine: str) -> Norm:
    """As much of a norm as the floors above may count on."""
    return Norm("rms", qualname, span, spine, Owner("RMSNorm", "rms", True, True, span), ())


def fake_analyse(text: str, *, snippet: bool = False, offer: object = None) -> rules.Analysis:
    """Findings wherever a mark stands in the text, and one norm if there is any."""
    del snippet
    where = [(code, found) for code, mark in MARKS.items() for found in mark.finditer(text)]
    findings = tuple(
        Finding(
            code,
            FAKE_RULES[code].name,
            MESSAGES[code],
            Span(*found.span()),
            "RMSNorm.forward",
            _fix(code, found) if offer else None,
        )
        for code, found in where
    )
    norms = (fake_norm("RMSNorm.forward", findings[0].span, "mean[*] | eps → sqrt"),) if findings else ()
    return rules.Analysis(findings, norms)


def light(analysis: rules.Analysis, *, whole: bool = False) -> LightAnalysis:
    """What `analyse_blocks` says of it: everything but the fixes, and what only the verifier asks of a norm."""
    listed = (LightNorm(one.kind, one.qualname, one.span, one.spine, one.helper) for one in analysis.norms)
    norms = analysis.norms if whole else listed
    return LightAnalysis(tuple(replace(one, fix=None) for one in analysis.findings), tuple(norms))


def fake_analyse_blocks(
    text: str, *, snippet: bool = False, whole: bool = False, own: int | None = None
) -> LightAnalysis:
    """The same without fixes."""
    del own
    return light(fake_analyse(text, snippet=snippet), whole=whole)


def _fix(code: str, found: re.Match[str]) -> Fix | None:
    if code != "NRM302":
        return None
    return Fix("Put eps under the root", (Edit(Span(*found.span()), "sqrt()"),), Applicability.UNSAFE)


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The analysis and the rules of this page instead of the real ones."""
    for code, rule in FAKE_RULES.items():
        monkeypatch.setitem(RULES, code, rule)
    for code in set(RULES) - set(FAKE_RULES):
        monkeypatch.delitem(RULES, code)
    monkeypatch.setattr(rules, "analyse", fake_analyse)
    monkeypatch.setattr("normlint.rules.blocks.analyse_blocks", fake_analyse_blocks)
    monkeypatch.setattr("normlint.text.marks.may_hold_norm", lambda text: True)


@dataclass(frozen=True)
class Ran:
    """What a run of the command gave."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path, tmp_path_factory, monkeypatch: pytest.MonkeyPatch):
    """Run the command in an empty directory, without colour."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NORMLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))

    def run(*arguments: str) -> Ran:
        status = main(arguments)
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run
