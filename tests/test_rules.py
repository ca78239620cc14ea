"""Every rule's docstring is run: each `# error:` is reported, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from normlint.rules import analyse
from normlint.rules.registry import RULES, Rule

FENCE = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"# error: \[([\w, -]+)\]")


@dataclass(frozen=True)
class Example:
    rule: Rule
    number: int
    text: str

    @property
    def expected(self) -> list[tuple[int, str]]:
        """(line, rule name) for each marker."""
        lines = enumerate(self.text.splitlines(), 1)
        return [(n, name) for n, line in lines for m in ERROR.finditer(line) for name in m[1].split(", ")]


def examples() -> Iterator[Example]:
    for rule in RULES.values():
        for number, match in enumerate(FENCE.finditer(rule.doc), 1):
            yield Example(rule, number, match[1])


def reported(example: Example) -> list[tuple[int, str]]:
    """(line, rule name) for each finding of the rules that are on, and of the example's own."""
    text = example.text
    return [
        (text.count("\n", 0, f.span.start) + 1, f.name)
        for f in analyse(text).findings
        if RULES[f.code].default or f.code == example.rule.code
    ]


@pytest.mark.parametrize("example", list(examples()), ids=lambda e: f"{e.rule.name} example {e.number}")
def test_an_example_gets_the_findings_it_announces(example: Example) -> None:
    assert reported(example) == example.expected


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_shows_what_it_finds_and_what_is_fine(rule: Rule) -> None:
    own = [e for e in examples() if e.rule is rule]
    assert any(name == rule.name for e in own for _, name in e.expected)
    assert any(not e.expected for e in own)


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_has_a_code_of_its_own_and_a_name_that_completes_allow(rule: Rule) -> None:
    assert re.fullmatch(r"NRM[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert not rule.name.startswith(("no-", "avoid-", "use-"))
    assert set(rule.unless) <= set(RULES)
