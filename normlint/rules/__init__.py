"""Apply the rules to the norms of a text, and return the findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from normlint.evaluate.monomial import ALL
from normlint.norm.norm import Norm
from normlint.rules import (
    callers,
    count,
    epsilon,
    fit,
    formula,
    given,
    modernize,
    modulation,
    module,
    passing,
    precision,
    reduction,
    runtime,
    sharing,
    siblings,
    wiring,
)
from normlint.rules.registry import RULES, Problem, Repair
from normlint.text.finding import WARNING, Finding, Span
from normlint.text.frozen import dataclass
from normlint.text.pieces import with_line_feeds

if TYPE_CHECKING:
    from normlint.evaluate.module import Module

FindingKey = tuple[Span, str]  # of a finding, and its code
_DEFAULT: Final = re.compile(r"^[^#\n]*\bset_default_(?:dtype|tensor_type)\(([^()\n]*)\)", re.MULTILINE)
FAMILIES = (
    reduction,
    count,
    precision,
    epsilon,
    formula,
    module,
    callers,
    modulation,
    wiring,
    siblings,
    sharing,
    passing,
    given,
    fit,
    modernize,
    runtime,
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The findings and norms of one unit of Python, each in the order of the text.

    A finding refers to a norm by its index in `norms`; a norm that is a `helper` there has been judged in its callers.
    `unread`: the names and places of what is too large to be read.
    """

    findings: tuple[Finding, ...]
    norms: tuple[Norm, ...]
    unread: tuple[tuple[str, Span], ...] = ()
    blamed: frozenset[int] = frozenset()  # norms with findings in other files


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of one unit and the repairs that rules offer, by place and code; all norms, and the judged ones."""

    findings: dict[FindingKey, Finding]
    repairs: dict[FindingKey, list[Repair | None]]
    norms: tuple[Norm, ...]
    judged: tuple[Norm, ...]


Offer = Callable[["Module", Judged], dict[FindingKey, Finding]]  # findings with their fixes


def analyse(text: str, *, snippet: bool = False, offer: Offer | None = None) -> Analysis:
    """Apply all rules to one unit of Python that parses, also those off by default (the engine selects).

    `snippet`: names may be bound elsewhere (a notebook, a Markdown block). `offer`: makes fixes of the repairs that
    rules offer; `normlint.fixes.analyse` passes it.
    """
    from normlint.evaluate.module import Module

    text = with_line_feeds(text)
    module = Module(text, snippet)
    found = analysed(module, offer, whole=True)
    if module.broken is None or snippet:
        return found
    return analysed(Module(text, exact=True), offer, whole=True)  # the lines misled: the text parses


def in_use(findings: tuple[Finding, ...], text: str) -> tuple[Finding, ...]:
    """Drop the findings that need halves if the text sets torch's default dtype to doubles."""
    chosen = _DEFAULT.findall(text) if "set_default_" in text else []
    doubles = bool(chosen) and all("double" in one.lower() or "float64" in one for one in chosen)
    return tuple(one for one in findings if not one.dtypes) if doubles else findings


def analysed(module: Module, offer: Offer | None = None, *, whole: bool = False) -> Analysis:
    """Apply all rules to a parsed unit, or to a part of one."""
    from normlint.norm.kept import norms
    from normlint.norm.uses import with_uses

    found = with_uses(module, norms(module)) if whole else norms(module)
    judged = tuple(_judged(found))
    heads = {_key(norm) for norm in judged}
    within: dict[tuple[str, Span, Span], dict[Span, None]] = {}
    for norm in found:
        within.setdefault(_key(norm), {})[norm.owner.span] = None
    factors = {norm.qualname for norm in found if norm.factor}
    own: dict[tuple[str, Span, Span], Norm] = {}
    for norm in found:
        key, before = _key(norm), own.get(_key(norm))
        told = before is not None and before.main.returned and before.main.statistic.axes != ALL
        own[key] = before if before and told and not norm.main.returned else norm  # what a helper returns itself
    listed = {
        key: replace(norm, helper=key not in heads, within=tuple(within[key]), factor=key[0] in factors)
        for key, norm in own.items()
    }
    numbers = {key: number for number, key in enumerate(listed)}
    findings: dict[FindingKey, Finding] = {}
    repairs: dict[FindingKey, list[Repair | None]] = {}
    for norm in judged:
        for f, repair in _judge(norm):
            old = findings.get((f.span, f.code), f)
            findings[f.span, f.code] = replace(f, norms=tuple(dict.fromkeys((*old.norms, numbers[_key(norm)]))))
            repairs.setdefault((f.span, f.code), []).append(repair)
    norms_ = tuple(listed.values())
    if offer is not None and any(any(several) for several in repairs.values()):
        findings |= offer(module, Judged(findings, repairs, norms_, judged))
    seen = in_use(tuple(findings[k] for k in sorted(findings)), module.text)
    return Analysis(seen, norms_, tuple(module.unread.items()))


def _key(norm: Norm) -> tuple[str, Span, Span]:
    return norm.qualname, norm.span, norm.main.statistic.span


def _judged(found: tuple[Norm, ...]) -> Iterator[Norm]:
    """Yield all norms but helpers whose callers were read, which show the input and what becomes of the result."""
    places = {c.statistic.span for norm in found if not norm.helper for c in norm.computations}
    for norm in found:
        if not norm.helper or not any(c.statistic.span in places for c in norm.computations):
            yield norm


def _judge(norm: Norm) -> Iterator[tuple[Finding, Repair | None]]:
    """Yield the findings of every rule on one norm; a rule that another one's finding explains is left out."""
    problems: dict[str, list[Problem]] = {}
    for code, r in RULES.items():
        seen = norm.as_read(r.about) if r.check else None
        problems[code] = list(r.check(seen)) if r.check and seen is not None else []
    for code, several in problems.items():
        rule = RULES[code]
        echo = any(problems.get(other) for other in rule.unless)
        for p in several:
            if p.apart or not echo:
                dtypes = p.dtypes or rule.dtypes
                severity = p.severity or (WARNING if p.dtypes else rule.severity)
                found = Finding(code, rule.name, p.message, p.span, norm.qualname, None, (), dtypes, severity)
                yield replace(found, evidence=p.evidence, rests_on=p.rests_on), p.repair
