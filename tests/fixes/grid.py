"""Mend every defect of the grid, and pairs of them, run what came of it, and write docs/fixes.md.

`python -m tests.fixes.grid [--only NRM101] [--every 10] [--pairs 2] [--no-verify] [--shown 3] [--write]`
"""

from __future__ import annotations

import argparse
import difflib
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final

from normlint.verify.guard.run import Verifier
from tests.fixes.judge import Tried, one_thread, probed, ran, tried, unread, verdicts
from tests.fixes.optional import optional_cases
from tests.fixes.pairs import all_pairs
from tests.grid.cases import Case, defect_cases

FIGURES: Final = ("cases", "offered", "fixed", "right", "match")
BATCH: Final = 200


@dataclass(slots=True)
class Row:
    """What became of the cases of one defect.

    offered: a fix was made; fixed: and no finding is left; right: and no probe fails; match: the verifier says so, and
    said otherwise before.
    """

    codes: tuple[str, ...]
    cases: int = 0
    offered: int = 0
    fixed: int = 0
    right: int = 0
    match: int = 0
    wrong: list[str] = field(default_factory=list)


def say(text: str) -> None:
    """At once, whatever reads it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def measured(cases: Iterable[Case], verifier: Verifier | None) -> dict[str, Row]:
    """A row for each defect."""
    rows: dict[str, Row] = {}
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.defect].append(case)
    waiting: list[Tried] = []
    for number, group in enumerate(groups.values(), 1):
        waiting += [tried(case) for case in group]
        if len(waiting) >= BATCH or number == len(groups):
            _add(rows, waiting, verifier)
            waiting = []
    return rows


def _add(rows: dict[str, Row], several: Sequence[Tried], verifier: Verifier | None) -> None:
    answers = verdicts(verifier, several) if verifier else [None] * len(several)
    names = dict.fromkeys(one.case.defect for one in several)
    for one, answer in zip(several, answers, strict=True):
        row = rows.setdefault(one.case.defect, Row(one.case.codes))
        told = ran(one.case, *answer) if answer and one.offered else ""
        failed = probed(one) if one.offered else []
        row.cases += 1
        row.offered += one.offered
        row.fixed += one.fixed
        row.right += one.fixed and not failed
        row.match += bool(answer) and one.fixed and not told
        reasons = [*unread(one), *([f"probes: {', '.join(failed)}"] if failed else []), *([told] if told else [])]
        if reasons:
            row.wrong.append(shown(one, reasons))
    for name in names:
        say("  ".join([*(f"{getattr(rows[name], figure):4} {figure}" for figure in FIGURES), name]))


def shown(one: Tried, reasons: Sequence[str]) -> str:
    """A case that goes wrong, for people."""
    before, after = one.case.text.splitlines(), one.result.text.splitlines()
    diff = "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=30))[3:]) or one.case.text
    return "\n".join([one.case.id, *(f"  ! {reason}" for reason in reasons), diff])


def total(rows: Iterable[Row]) -> Counter[str]:
    """The figures of several rows."""
    return sum((Counter({name: getattr(row, name) for name in FIGURES}) for row in rows), Counter())


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="defects whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="only each so-many-th case")
    parser.add_argument("--pairs", type=int, default=0, help="so many cases for each pair of defects")
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--shown", type=int, default=2, help="wrong cases to show a defect")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="all of it, into docs/fixes.md")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    several: dict[str, Iterable[Case]] = {"pairs": all_pairs(args.pairs or 1)} if args.pairs or args.write else {}
    if not args.pairs or args.write:
        several = {"defects": defect_cases(), "optional": optional_cases(only=args.only), **several}
    started = time.monotonic()
    found = {}
    with one_thread(), nullcontext() if args.no_verify else Verifier("cpu", workers=args.workers) as verifier:
        for name, cases in several.items():
            wanted = [case for case in cases if args.only in case.defect][:: args.every]
            found[name] = measured(wanted, verifier)
    for rows in found.values():
        for row in rows.values():
            for one in row.wrong[: args.shown]:
                say(f"\n{one}")
        say(f"\n{dict(total(rows.values()))}, {time.monotonic() - started:.0f} s")
    if args.write:
        from tests.fixes.page import write

        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
