"""Mend every defect of the grid, and pairs of them, run what came of it, and write docs/fixes.md.

python -m tests.fixes.grid [--only NRM101] [--every 10] [--pairs 2] [--no-verify] [--shown 3] [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from normlint.verify.guard.run import Verifier
from tests.fixes.judge import Tried, one_thread, probed, ran, tried, unread, verdicts
from tests.fixes.pairs import all_pairs
from tests.grid.cases import Case, defect_cases

PAGE: Final = Path(__file__).parents[2] / "docs" / "fixes.md"
FIGURES: Final = ("cases", "offered", "fixed", "probed", "matched")


@dataclass(slots=True)
class Row:
    """What became of the cases of one defect."""

    cases: int = 0
    offered: int = 0
    fixed: int = 0
    probed: int = 0
    matched: int = 0
    wrong: list[str] = field(default_factory=list)


def say(text: str) -> None:
    """At once, whatever reads it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def measured(cases: Iterable[Case], verifier: Verifier | None) -> dict[str, Row]:
    """A row for each defect."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.defect].append(case)
    rows = {}
    for name, group in groups.items():
        rows[name] = row = _row([tried(case) for case in group], verifier)
        say("  ".join([*(f"{getattr(row, figure):4} {figure}" for figure in FIGURES), name]))
    return rows


def _row(several: Sequence[Tried], verifier: Verifier | None) -> Row:
    row = Row(cases=len(several))
    answers = verdicts(verifier, several) if verifier else [None] * len(several)
    for one, answer in zip(several, answers, strict=True):
        reasons = list(unread(one))
        row.offered += one.offered
        row.fixed += one.fixed
        failed = probed(one) if one.offered else []
        row.probed += one.fixed and not failed
        told = ran(one.case, *answer) if answer and one.offered else ""
        row.matched += bool(answer) and one.fixed and not told
        reasons += [f"probes: {', '.join(failed)}"] if failed else []
        reasons += [told] if told else []
        if reasons:
            row.wrong.append(shown(one, reasons))
    return row


def shown(one: Tried, reasons: Sequence[str]) -> str:
    """A case that goes wrong, for people."""
    import difflib

    before, after = one.case.text.splitlines(), one.mended.text.splitlines()
    diff = "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=30))[3:]) or one.case.text
    return "\n".join([one.case.id, *(f"  ! {reason}" for reason in reasons), diff])


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="defects whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="only each so-many-th case")
    parser.add_argument("--pairs", type=int, default=0, help="so many cases for each pair of defects")
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--shown", type=int, default=2, help="wrong cases to show a defect")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = list(all_pairs(args.pairs)) if args.pairs else list(defect_cases())
    cases = [case for case in cases if args.only in case.defect][:: args.every]
    started = time.monotonic()
    with one_thread():
        if args.no_verify:
            rows = measured(cases, None)
        else:
            with Verifier("cpu", workers=args.workers) as verifier:
                rows = measured(cases, verifier)
    for row in rows.values():
        for one in row.wrong[: args.shown]:
            say(f"\n{one}")
    total: Counter[str] = Counter()
    for row in rows.values():
        total += Counter({figure: getattr(row, figure) for figure in FIGURES})
    say(f"\n{dict(total)}, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
