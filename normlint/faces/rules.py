"""Rules as people see them: `--list-rules` and `--explain`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from normlint.engine.selection import find_rule, known_rules
from normlint.text.finding import Applicability

if TYPE_CHECKING:
    from normlint.rules.registry import Rule

_FIX: Final = {Applicability.SAFE: "safe", Applicability.UNSAFE: "unsafe", Applicability.DISPLAY: "shown"}
_FENCE: Final = re.compile(r"^```(py|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r" *# error: \[[\w, -]+\]$", re.MULTILINE)
_NO_FIX: Final = "-"


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    return [rule for _, rule in sorted(known_rules().items())]


def summary_of(code: str) -> str:
    """The first line of a rule's page; empty for a code without one."""
    rule = known_rules().get(code)
    return rule.summary if rule else ""


def url_of(code: str) -> str:
    """Where a rule's page is; empty for a code without one."""
    rule = known_rules().get(code)
    return rule.url if rule else ""


def listing() -> str:
    """A line a rule, in columns."""
    rules = all_rules()
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code}  {rule.name:{width}}  {rule.severity:7}  {_default(rule):3}  {fix_of(rule):6}  {rule.summary}\n"
        for rule in rules
    )


def explanation(text: str) -> str:
    """A rule's page; `text` is its code or its name."""
    rule = find_rule(text)
    fix = f"The fix is {fix_of(rule)}." if rule.fix else "There is no fix."
    return f"# {rule.name} ({rule.code})\n\nSeverity: {rule.severity}. {_default_text(rule)} {fix}\n\n{page_of(rule)}\n"


def page_of(rule: Rule) -> str:
    """The rule's page as every renderer of Markdown shows it: what is wrong, fixed and right, each under its label."""
    return _FENCE.sub(_example, rule.doc).strip()


def _example(fence: re.Match[str]) -> str:
    if fence[1] == "diff":
        return f"\nFix:\n\n{fence[0]}"
    label = "Wrong:" if _MARK.search(fence[2]) else "Right:"
    return f"{label}\n\n```python\n{_MARK.sub('  # <- here', fence[2])}```"


def fix_of(rule: Rule) -> str:
    """How far the rule's fix may be trusted, in one word."""
    return _FIX[rule.fix] if rule.fix else _NO_FIX


def _default(rule: Rule) -> str:
    return "off" if rule.asked_by else "on"


def _default_text(rule: Rule) -> str:
    on = f"Off by default: `{rule.asked_by}` asks for it." if rule.asked_by else "On by default."
    return f"{on} Only `--verify` finds it." if rule.check_run else on
