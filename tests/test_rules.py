"""Every rule's docstring is run: each `# error:` is reported, and nothing else is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


READ = [rule for rule in RULES.values() if rule.check]
RUN = [rule for rule in RULES.values() if rule.told]


def examples(rules: list[Rule]) -> Iterator[Example]:
    for rule in rules:
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


@pytest.mark.parametrize("example", list(examples(READ)), ids=lambda e: f"{e.rule.name} example {e.number}")
def test_an_example_gets_the_findings_it_announces(example: Example) -> None:
    assert reported(example) == example.expected


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_shows_what_it_finds_and_what_is_fine(rule: Rule) -> None:
    own = list(examples([rule]))
    assert any(name == rule.name for e in own for _, name in e.expected)
    assert any(not e.expected for e in own)


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_has_a_code_of_its_own_and_a_name_that_completes_allow(rule: Rule) -> None:
    assert re.fullmatch(r"NRM[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert not rule.name.startswith(("no-", "avoid-", "use-"))
    assert set(rule.unless) <= set(RULES)


@pytest.mark.parametrize("example", list(examples(RUN)), ids=lambda e: f"{e.rule.name} example {e.number}")
def test_reading_finds_nothing_where_only_running_does(example: Example) -> None:
    assert [f.code for f in analyse(example.text).findings if RULES[f.code].default] == []


def test_what_running_shows_is_found_by_running(tmp_path: Path) -> None:
    """The examples are files that are linted together: one verifier runs them all."""
    pytest.importorskip("torch")
    files = {f"{example.rule.code}-{example.number}.py": example for example in examples(RUN)}
    for name, example in files.items():
        (tmp_path / name).write_text(example.text, encoding="utf-8")
    command = [sys.executable, "-m", "normlint", "--verify", "--extend-select", "NRM9", "--output-format", "json", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = [(one["path"], one["line"], one["name"]) for one in json.loads(ran.stdout)["findings"]]
    assert found == [(name, *expected) for name, example in files.items() for expected in example.expected]
