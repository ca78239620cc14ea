"""Format rules for `--list-rules`, `--explain` and the reports."""

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
    """Return all rules, sorted by code."""
    return [rule for _, rule in sorted(known_rules().items())]


def summary_of(code: str) -> str:
    """Return the first line of a rule's page; "" for an unknown code."""
    rule = known_rules().get(code)
    return rule.summary if rule else ""


def url_of(code: str) -> str:
    """Return the URL of a rule's page; "" for an unknown code."""
    rule = known_rules().get(code)
    return rule.url if rule else ""


def listing() -> str:
    """Return the table of all rules, one line each."""
    rules = all_rules()
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code}  {rule.name:{width}}  {rule.severity:7}  {_default(rule):3}  {fix_of(rule):6}  {rule.summary}\n"
        for rule in rules
    )


def explanation(text: str) -> str:
    """Return a rule's page with its severity and fix; `text` is its code or name."""
    rule = find_rule(text)
    fix = f"The fix is {fix_of(rule)}." if rule.fix else "There is no fix."
    return f"# {rule.name} ({rule.code})\n\nSeverity: {rule.severity}. {_default_text(rule)} {fix}\n\n{page_of(rule)}\n"


def page_of(rule: Rule) -> str:
    """Return the rule's page as plain Markdown, with its examples labelled as wrong, fix and right."""
    return _FENCE.sub(_example, rule.doc).strip()


def _example(fence: re.Match[str]) -> str:
    if fence[1] == "diff":
        return f"\nFix:\n\n{fence[0]}"
    label = "Wrong:" if _MARK.search(fence[2]) else "Right:"
    return f"{label}\n\n```python\n{_MARK.sub('  # <- here', fence[2])}```"


def fix_of(rule: Rule) -> str:
    """Return the applicability of the rule's fix in one word."""
    return _FIX[rule.fix] if rule.fix else _NO_FIX


def _default(rule: Rule) -> str:
    return "off" if rule.asked_by else "on"


def _default_text(rule: Rule) -> str:
    on = f"Off by default: `{rule.asked_by}` asks for it." if rule.asked_by else "On by default."
    return f"{on} Only `--verify` finds it." if rule.check_run else on
