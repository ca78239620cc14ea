"""Norms that only a rule speaks of that is off by default: among the sound ones of the grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from normlint.rules import analyse
from normlint.rules.registry import RULES
from tests.grid.cases import PER_DEFECT, Case, sound_cases

OPTIONAL = tuple(sorted(code for code, rule in RULES.items() if rule.check and not rule.default))


def optional_cases(most: int = PER_DEFECT, only: str = "") -> Iterator[Case]:
    """So many for each of these rules (whose name holds `only`), from all over the grid."""
    wanted = [code for code in OPTIONAL if only in f"{code} {RULES[code].name}"]
    seen: Counter[str] = Counter()
    cases = sound_cases() if wanted else ()
    for number in range(len(cases)):
        case = cases[number * 389 % len(cases)]  # far from one another: 389 is a prime
        for code in dict.fromkeys(one.code for one in analyse(case.text).findings):
            if code in wanted and seen[code] < most:
                seen[code] += 1
                name = f"{code} {RULES[code].name}"
                yield replace(case, id=case.id.replace("sound", name, 1), codes=(code,), defect=name, extras=())
        if all(seen[code] >= most for code in wanted):
            return
