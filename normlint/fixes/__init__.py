"""Fixes: from a finding and the syntax around it to the smallest edits that put the norm right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from normlint import rules
from normlint.fixes.fixer import Fixer
from normlint.rules import Analysis, FindingKey, Judged
from normlint.text.finding import Finding

if TYPE_CHECKING:
    from normlint.evaluate.module import Module

Wanted = Callable[[Finding], bool]


def analyse(text: str, *, snippet: bool = False, wanted: Wanted | None = None) -> Analysis:
    """Return the rules' findings in one unit of Python, with fixes for the wanted ones (None: for all)."""
    return rules.analyse(text, snippet=snippet, offer=partial(_offered, wanted))


def _offered(wanted: Wanted | None, module: Module, judged: Judged) -> dict[FindingKey, Finding]:
    from normlint.norm.kept import kept

    chosen = {place: one for place, one in judged.findings.items() if wanted is None or wanted(one)}
    with kept():
        fixer = Fixer(module.text, judged.norms, judged.judged, snippet=module.snippet, uses=module.uses)
        return {place: replace(one, fix=fixer.fix(one, judged.repairs[place])) for place, one in chosen.items()}
