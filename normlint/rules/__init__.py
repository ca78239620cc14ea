"""The rules: a recognised norm in, findings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from normlint.norm.norm import Norm
from normlint.rules import count, epsilon, formula, modernize, module, precision, reduction
from normlint.rules.registry import RULES, Problem
from normlint.text.finding import Finding

FAMILIES = (reduction, count, precision, epsilon, formula, module, modernize)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one unit of Python holds: every finding of every rule, and every norm, each in the order of the text."""

    findings: tuple[Finding, ...]
    norms: tuple[Norm, ...]


def analyse(text: str, *, snippet: bool = False) -> Analysis:
    """Read one unit of Python: all rules, also those off by default (the engine selects).

    `snippet`: names may be bound elsewhere (a notebook, a Markdown block). The text parses.
    """
    from normlint.evaluate.module import Module  # libcst comes in here, and only here
    from normlint.norm.collect import norms

    found = norms(Module(text, snippet))
    findings = {(f.span, f.code): f for norm in _judged(found) for f in _judge(norm)}
    listed = {(n.qualname, n.span, n.main.statistic.span): n for n in found}
    return Analysis(tuple(findings[k] for k in sorted(findings)), tuple(listed.values()))


def _judged(found: tuple[Norm, ...]) -> Iterator[Norm]:
    """All but the helpers whose callers were followed: these know what comes in and what is done with the result."""
    places = {c.statistic.span for norm in found if not norm.helper for c in norm.computations}
    for norm in found:
        if not norm.helper or not any(c.statistic.span in places for c in norm.computations):
            yield norm


def _judge(norm: Norm) -> Iterator[Finding]:
    """Every rule on one norm; an echo of another rule's finding is left out."""
    problems: dict[str, list[Problem]] = {code: list(rule.check(norm)) for code, rule in RULES.items()}
    for code, found in problems.items():
        rule = RULES[code]
        if any(problems.get(other) for other in rule.unless):
            continue
        for p in found:
            yield Finding(code, rule.name, p.message, p.span, norm.qualname, p.fix)
