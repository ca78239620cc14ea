"""An analysis that finds words and fixes them, for tests of what makes fixes and writes files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from normlint import rules
from normlint.rules.blocks import LightAnalysis
from normlint.rules.registry import RULES
from normlint.text.finding import Applicability, Edit, Finding, Fix, Span
from tests.helpers import FAKE_RULES, fake_norm, light

SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


@dataclass(frozen=True)
class FakeFix:
    """What stands in the way of `pattern` (its first group, or all of it) is replaced by `text`."""

    pattern: str
    text: str
    applicability: Applicability = SAFE

    def fix(self, found: re.Match[str]) -> Fix:
        span = Span(*found.span(1 if found.re.groups else 0))
        return Fix(f"Write {self.text!r}", (Edit(span, self.text),), self.applicability)


FIXES: dict[str, FakeFix] = {
    "NRM101": FakeFix(r"wide", "wide(-1)"),
    "NRM302": FakeFix(r"outside", "inside", UNSAFE),
    "NRM503": FakeFix(r"[ \t]*print\(.*\)(?:\r\n|\r|\n)?", ""),
    "NRM601": FakeFix(r"shown", "never", DISPLAY),
}


def use(monkeypatch: pytest.MonkeyPatch, fixes: Mapping[str, FakeFix]) -> None:
    """These rules, each finding its pattern, instead of the real ones; what they find can't be run."""
    monkeypatch.setattr("normlint.faces.fixing.find_spec", lambda _: None)
    for code, rule in FAKE_RULES.items():
        monkeypatch.setitem(RULES, code, replace(rule, fix=fixes[code].applicability) if code in fixes else rule)
    for code in set(RULES) - set(FAKE_RULES):
        monkeypatch.delitem(RULES, code)

    def analyse(text: str, *, snippet: bool = False, offer: object = None) -> rules.Analysis:
        findings = [
            Finding(
                code,
                FAKE_RULES[code].name,
                "said",
                Span(*found.span()),
                "N.forward",
                fake.fix(found) if offer else None,
                (0,),
            )
            for code, fake in fixes.items()
            for found in re.finditer(fake.pattern + ("" if fake.text != "wide(-1)" else r"(?!\()"), text)
        ]
        norm = fake_norm("N.forward", Span(0, min(len(text), 1)), "mean")
        return rules.Analysis(tuple(findings), (norm,))

    def analyse_blocks(
        text: str, *, snippet: bool = False, whole: bool = False, own: int | None = None
    ) -> LightAnalysis:
        del own
        return light(analyse(text, snippet=snippet), whole=whole)

    monkeypatch.setattr(rules, "analyse", analyse)
    monkeypatch.setattr("normlint.rules.blocks.analyse_blocks", analyse_blocks)
    monkeypatch.setattr("normlint.text.marks.may_hold_norm", lambda text: True)
