"""A page for each rule, from its docstring: the examples are linted and fixed here, so what a page shows is so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.report import Diagnostic
from normlint.engine.selection import Demand, Selection, known_rules
from normlint.faces.rules import fix_of
from normlint.rules.registry import Rule
from normlint.text.finding import REVIEW

EXAMPLE = re.compile(r"^```py\n(.*?)^```$(?:\n^```diff\n.*?^```$)?", re.MULTILINE | re.DOTALL)
SAFE = re.compile(r"^Fix safety: (\w)", re.MULTILINE)
MARKER = re.compile(r"  # error: \[[\w, -]+\]")
FAMILIES = {
    "NRM1": "What is reduced",
    "NRM2": "In which precision",
    "NRM3": "Eps",
    "NRM4": "The formula",
    "NRM5": "The module around it",
    "NRM6": "A shorter way",
    "NRM7": "Where norms are made and called",
    "NRM9": "What running a norm shows",
}
SAFETY = {
    "safe": "safe: made by `--fix`",
    "unsafe": "unsafe: made by `--fix --unsafe-fixes`",
    "-": "none",
}


def page(rule: Rule) -> str:
    """The whole page of a rule."""
    summary, _, rest = rule.doc.partition("\n")
    body = EXAMPLE.sub(lambda match: _example(rule, match[1]), rest.strip())
    body = SAFE.sub(lambda match: f"## Is the fix safe?\n\n{match[1].upper()}", body)
    parts = (
        f"---\ntitle: {rule.name} ({rule.code})\ndescription: {summary!r}\n---",
        f"# {rule.name} <small>{rule.code}</small>",
        f"**{summary}**",
        f"{rule.severity.capitalize()} · {_default(rule)} · Fix: [{SAFETY[fix_of(rule)]}](../fixing.md).",
        body,
        _silence(rule),
    )
    return "\n\n".join(parts) + "\n"


def _default(rule: Rule) -> str:
    on = f"Off by default: `{rule.asked_by}` asks for it" if rule.asked_by else "On by default"
    return f"{on} · Only [`--verify`](../verifying.md) finds it" if rule.check_run else on


def _silence(rule: Rule) -> str:
    lines = [
        "## Not here?",
        "",
        f"`# noqa: {rule.code}` at the end of the line silences it there, `ignore = [{rule.code!r}]` in the",
        "[configuration](../configuration.md) everywhere. First see whether",
        "[the finding is right](../is-this-finding-right.md).",
    ]
    if rule.unless:
        known = known_rules()
        first = ", ".join(f"[{known[code].name}]({known[code].name}.md)" for code in rule.unless)
        lines += ["", f"One cause, one finding: where {first} speaks of the same norm, this rule is silent."]
    return "\n".join(lines).replace("'", '"')


def _example(rule: Rule, marked: str) -> str:
    """An example with what is found in it, and what the fix makes of it."""
    text = MARKER.sub("", marked)
    if rule.check_run:
        return _code(text, [n for n, line in enumerate(marked.splitlines(), 1) if MARKER.search(line)])
    fixed = fix_all(rule, text)
    found = [one for one in fixed.unfixed.findings if one.code == rule.code]
    before = _code(text, [one.start.line for one in found], "before" if fixed.changed else "")
    messages = "".join(f"\n\n{_message(one)}" for one in found)
    after = fixed.after.text
    return before + messages + (f"\n\n{_code(after, _changed(text, after), 'after')}" if fixed.changed else "")


def fix_all(rule: Rule, text: str) -> Fixed:
    """The text as `--fix --unsafe-fixes --select CODE` leaves it."""
    demand = Demand(Selection((rule.code,), least=REVIEW), unsafe=True)
    fixed = fix_file("example.py", FixRequest(demand), text.encode())
    if not isinstance(fixed, Fixed):
        raise TypeError(f"{rule.code}: {fixed.message}")
    return fixed


def _message(one: Diagnostic) -> str:
    return f"> line {one.start.line}: **{one.code}** {one.message}"


def _code(text: str, lines: Iterable[int], title: str = "") -> str:
    named = f' .{title} title="{title}"' if title else ""
    marked = " ".join(map(str, sorted(set(lines))))
    shown = f' hl_lines="{marked}"' if marked else ""
    return f"```{{.py{named}{shown}}}\n{text}```"


def _changed(before: str, after: str) -> list[int]:
    steps = SequenceMatcher(a=before.splitlines(), b=after.splitlines(), autojunk=False).get_opcodes()
    return [line + 1 for kind, _, _, start, end in steps if kind != "equal" for line in range(start, end)]


def overview(rules: Iterable[Rule]) -> str:
    """The page of all rules: a table for each family."""
    return "\n".join(("# Rules", "", *_introduction(), *_tables(rules))) + "\n"


def _introduction() -> Iterator[str]:
    rules = known_rules().values()
    on, mends = sum(not rule.asked_by for rule in rules), sum(rule.fix is not None for rule in rules)
    yield f"{len(rules)} rules, of which {on} are on by default and {mends} come with a [fix](../fixing.md)."
    yield "`normlint --explain CODE` prints a rule's page, `normlint --list-rules` this list."


def _tables(rules: Iterable[Rule]) -> Iterator[str]:
    family = ""
    for rule in rules:
        if rule.code[:4] != family:
            family = rule.code[:4]
            yield from ("", f"## {FAMILIES[family]}", "")
            yield from ("| code | rule | what it says | default | fix |", "|---|---|---|---|---|")
        summary = rule.summary.replace("|", "\\|")
        on = "off" if rule.asked_by else "on"
        yield f"| {rule.code} | [{rule.name}]({rule.name}.md) | {summary} | {on} | {fix_of(rule)} |"


def nav() -> list[dict[str, str | list[dict[str, str]]]]:
    """The navigation's part: the rules of each family."""
    groups: dict[str, list[dict[str, str]]] = {title: [] for title in FAMILIES.values()}
    for code, rule in sorted(known_rules().items()):
        groups[FAMILIES[code[:4]]].append({f"{code} {rule.name}": f"rules/{rule.name}.md"})
    return [{title: pages} for title, pages in groups.items()]
