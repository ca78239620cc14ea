"""The floor of the fixes: from a finding and the syntax around it to the smallest edits that put the norm right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from normlint import rules
from normlint.fixes.mender import Mender
from normlint.rules import Analysis, FindingKey, Judged
from normlint.text.finding import Finding

if TYPE_CHECKING:
    from normlint.evaluate.module import Module

Mends = Callable[[Finding], bool]


def analyse(text: str, *, snippet: bool = False, mends: Mends | None = None) -> Analysis:
    """What the rules find in one unit of Python, with fixes for the findings that `mends` says, or for all."""
    return rules.analyse(text, snippet=snippet, offer=partial(_offered, mends))


def _offered(mends: Mends | None, module: Module, said: Judged) -> dict[FindingKey, Finding]:
    from normlint.norm.kept import kept

    wanted = {place: one for place, one in said.findings.items() if mends is None or mends(one)}
    with kept():
        mender = Mender(module.text, said.norms, said.judged, snippet=module.snippet, uses=module.uses)
        return {place: replace(one, fix=mender.fix(one, said.repairs[place])) for place, one in wanted.items()}
