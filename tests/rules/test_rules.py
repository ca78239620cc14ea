"""Every rule's docstring is run: each `# error:` is reported, and nothing else is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from normlint.engine.linter import check_bytes
from normlint.engine.selection import Demand
from normlint.fixes import analyse
from normlint.fixes.makings import fixed
from normlint.rules.callers import called
from normlint.rules.registry import RULES, Rule
from normlint.text.edit import apply, overlap
from normlint.text.finding import Applicability, Edit, Finding
from tests.fences import diff

FENCE = re.compile(r"^```py\n(.*?)^```$(?:\n^```diff\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
DIFF_FENCE = re.compile(r"^```diff$", re.MULTILINE)
MORE = dict(
    re.findall(
        r"^## (NRM\d+)\n(.*?)(?=^## |\Z)",
        (Path(__file__).parent / "examples.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
)
ERROR = re.compile(r"  # error: \[([\w, -]+)\]")


@dataclass(frozen=True)
class Example:
    rule: Rule
    number: int
    text: str
    fix: str | None = None

    @property
    def expected(self) -> list[tuple[int, str]]:
        """(line, rule name) for each marker."""
        lines = enumerate(self.text.splitlines(), 1)
        return [(n, name) for n, line in lines for m in ERROR.finditer(line) for name in m[1].split(", ")]


READ = [rule for rule in RULES.values() if rule.check or rule.check_calls]
RUN = [rule for rule in RULES.values() if rule.check_run]


def whole(rule: Rule) -> str:
    """The rule's page, and the examples of examples.md."""
    return f"{rule.doc}\n{MORE.get(rule.code, '')}"


def examples(rules: list[Rule]) -> Iterator[Example]:
    for rule in rules:
        for number, match in enumerate(FENCE.finditer(whole(rule)), 1):
            yield Example(rule, number, match[1], match[2])


def reported(example: Example) -> list[tuple[int, str]]:
    """(line, rule name) for each finding of the rules that are on, and of the example's own."""
    text = example.text
    return [
        (text.count("\n", 0, f.span.start) + 1, f.name)
        for f in findings(text)
        if RULES[f.code].default or f.code == example.rule.code
    ]


def findings(text: str) -> tuple[Finding, ...]:
    """What is found in norms, and where they are made and called, with its fix."""
    return (*analyse(text).findings, *fixed(text, called(text)))


def named(example: Example) -> str:
    return f"{example.rule.name} example {example.number}"


def of_rule(text: str, rule: Rule) -> list[Finding]:
    return [f for f in findings(text) if f.code == rule.code]


def fixed_once(text: str, rule: Rule) -> str:
    """The text after a round of the rule's fixes; what overlaps waits for another round."""
    edits: list[Edit] = []
    for finding in of_rule(text, rule):
        if finding.fix is not None and not overlap(edits, finding.fix.edits):
            edits += finding.fix.edits
    return apply(text, edits)


WITH_FIX = [example for example in examples(READ) if example.fix is not None]
BEST_FIRST = [Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY]


@pytest.mark.parametrize("example", list(examples(READ)), ids=named)
def test_an_example_gets_the_findings_it_announces(example: Example) -> None:
    assert reported(example) == example.expected


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_shows_what_it_finds_and_what_is_fine(rule: Rule) -> None:
    own = list(examples([rule]))
    assert any(name == rule.name for e in own for _, name in e.expected)
    fixed = [replace(e, text=fixed_once(e.text, rule)) for e in own if e.fix]
    assert any(not e.expected for e in own) or any(reported(e) == [] for e in fixed)


@pytest.mark.parametrize("example", WITH_FIX, ids=named)
def test_the_fix_of_an_example_is_the_block_below_it_and_a_second_run_changes_nothing(example: Example) -> None:
    plain = ERROR.sub("", example.text)
    fixed = fixed_once(plain, example.rule)
    assert diff(plain, fixed) == example.fix
    assert of_rule(fixed, example.rule) == []


@pytest.mark.parametrize("example", list(examples(READ)), ids=named)
def test_no_fix_claims_to_be_safer_than_its_rule_says(example: Example) -> None:
    for finding in findings(example.text):
        if finding.fix is not None:
            best = RULES[finding.code].fix
            assert best is not None, f"{finding.code} has a fix"
            assert BEST_FIRST.index(finding.fix.applicability) >= BEST_FIRST.index(best)


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_with_a_fix_shows_it_and_says_how_far_it_may_be_trusted(rule: Rule) -> None:
    shown = [example for example in examples([rule]) if example.fix is not None]
    assert len(shown) == len(DIFF_FENCE.findall(whole(rule))), "the diff of a fix stands directly below what it changes"
    assert bool(shown) == (rule.fix is not None) == ("Fix safety: " in rule.doc)


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_rule_has_a_code_of_its_own_and_a_name_that_completes_allow(rule: Rule) -> None:
    assert re.fullmatch(r"NRM[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert not rule.name.startswith(("no-", "avoid-", "use-"))
    assert set(rule.unless) <= set(RULES)


def content(line: str) -> set[str]:
    """The words of more than three letters, without markup."""
    return {word for word in re.findall(r"\w+", line.lower()) if len(word) > 3}


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda r: r.name)
def test_a_page_goes_on_with_the_consequence_in_one_sentence(rule: Rule) -> None:
    assert rule.consequence != rule.summary
    assert rule.consequence.endswith((".", '."'))
    assert len(rule.consequence) <= 170


@pytest.mark.parametrize("example", list(examples(READ)), ids=named)
def test_the_consequence_repeats_neither_the_headline_nor_the_help(example: Example) -> None:
    consequence = content(example.rule.consequence)
    for finding in of_rule(example.text, example.rule):
        for line in map(content, (finding.message, finding.fix.message if finding.fix else example.rule.instead)):
            assert len(consequence & line) <= max(1, 0.5 * len(line))


RESTS_ON = {
    "a reduction over another axis than the gain's, on the gain": (
        "NRM103",
        "self.weight = nn.Parameter(torch.ones(dim))",
    ),
    "an eps that is left out, on the norm that is given it": (
        "NRM701",
        "self.norm = RMSNorm(config.dim, eps=config.norm_eps)",
    ),
    "a gain that starts at 2, on the weight of ones": ("NRM406", "self.weight = nn.Parameter(torch.ones(dim))"),
    "a sum that is never divided, on no other line": ("NRM104", ""),
}


@pytest.mark.parametrize(("code", "line"), RESTS_ON.values(), ids=RESTS_ON)
def test_a_finding_names_the_line_that_it_rests_on(code: str, line: str) -> None:
    text = next(examples([RULES[code]])).text
    (found,) = check_bytes("a.py", text.encode(), Demand()).findings
    lines = text.splitlines()
    assert found.evidence in {f"see line {n}: {one.strip()}" if line else "" for n, one in enumerate(lines, 1)}
    assert found.evidence.endswith(line)


@pytest.mark.parametrize("example", list(examples(RUN)), ids=named)
def test_reading_finds_nothing_where_only_running_does(example: Example) -> None:
    assert [f.code for f in findings(example.text) if RULES[f.code].default] == []


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
