"""What the command shows besides findings: norms, settings, statistics."""

from __future__ import annotations

from collections import Counter

from normlint.engine.report import Report
from normlint.engine.settings import Settings
from normlint.faces.render import View, verdicts
from normlint.faces.render.concise import mended
from normlint.faces.render.style import Style, harmless
from normlint.faces.rules import all_rules, fix_of


def norms_text(report: Report, view: View) -> str:
    """Each norm's place, kind and name, and below it the computation in the order of the code."""
    style = Style(view.colour)
    lines = []
    for norm in report.norms:
        where = verdicts.place(norm, style)
        lines += [f"{where} {norm.kind} {norm.qualname}", f"    {harmless(norm.spine)}"]
        if norm.verdict is not None:
            told = (verdicts.told(norm.verdict), verdicts.eps_told(norm.verdict))
            lines += [f"    {harmless(each)}" for each in told if each]
    lines += [f"{verdicts.place(one, style)} too large to be read: {one.qualname}" for one in report.unread]
    count = len(report.norms)
    closing = f"Found {count} norm{'' if count == 1 else 's'}."
    return "".join(f"{line}\n" for line in (*lines, closing, *verdicts.closing(report)))


def settings_text(settings: Settings) -> str:
    """The settings as they would stand in a file, and the rules they choose."""
    demand = settings.demand("")
    lines = [f"# from {settings.source or 'no configuration file'}"]
    lines += [f"{name.replace('_', '-')} = {_shown(value)}" for name, value in settings.shown().items()]
    chosen = ", ".join(rule.code for rule in all_rules() if demand.selection.chooses(rule.code))
    return "".join(f"{line}\n" for line in (*lines, f"# rules: {chosen}"))


def statistics_text(report: Report) -> str:
    """How many findings of each rule, the most frequent first."""
    names = {finding.code: finding.name for finding in report.findings}
    fixes = {rule.code: fix_of(rule) for rule in all_rules()}
    counts = sorted(Counter(finding.code for finding in report.findings).items(), key=lambda one: (-one[1], one[0]))
    width = len(str(counts[0][1])) if counts else 1
    lines = [f"{count:{width}}  {code}  {names[code]}  ({fixes.get(code, '-')} fix)" for code, count in counts]
    total = len(report.findings)
    found = f"Found {total} error{'' if total == 1 else 's'}."
    last = found if report.fixed is None else mended(report.fixed, report)
    return "".join(f"{line}\n" for line in (*lines, last, *verdicts.closing(report)))


def _shown(value: object) -> str:
    """TOML, as far as settings go."""
    if value is None:
        return '["the rules that are on by default"]'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return _shown_tuple(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shown_tuple(value: tuple[object, ...]) -> str:
    if value and isinstance(value[0], tuple):
        pairs = (" = ".join(map(_shown, pair)) for pair in value if isinstance(pair, tuple))
        return "{ " + ", ".join(pairs) + " }"
    return "[" + ", ".join(map(_shown, value)) + "]"
