"""The rules: a recognised norm in, findings out."""

from __future__ import annotations

from dataclasses import dataclass

from normlint.norm.norm import Norm
from normlint.text.finding import Finding


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one unit of Python holds: every finding of every rule, and every norm, each in the order of the text."""

    findings: tuple[Finding, ...]
    norms: tuple[Norm, ...]


def analyse(text: str, *, snippet: bool = False) -> Analysis:
    """Read one unit of Python: all rules, also those off by default (the engine selects).

    `snippet`: names may be bound elsewhere (a notebook, a Markdown block). Raises SyntaxError.
    """
    del snippet
    compile(text, "<unit>", "exec", 0x400)
    return Analysis((), ())
