"""docs/fixes.md, from what `tests.fixes.grid` measured."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from normlint.rules.registry import RULES
from tests.fixes.grid import FIGURES, Row, total

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "fixes.md"
RESTORED: Final = ROOT / "fixtures" / "ecosystem" / "restored.json"

HEAD: Final = """\
# The fixes, measured

Written by `python -m tests.fixes.grid --write`; `tests/fixes/test_grid.py` does a few of each. The cases are those of
`tests/grid`: norms with one mistake, in every spelling we know. Each is fixed as `--fix --unsafe-fixes` does.

- *offered:* a fix was made. *fixed:* no finding is left, of this rule or another, and a second run changes nothing.
- *right:* the fixed norm agrees with an fp64 reference on every probe, and with its gradients; it leaves its input
  alone, saves its parameters and uses the eps that it is passed.
- *match:* `normlint --verify` calls it a match, and did not before.
"""
OPTIONAL: Final = """
## Rules that are off by default

Sound norms of the grid, fixed with the rule switched on.
"""
PAIRS: Final = """
## Two mistakes at once

{cases} norms with two mistakes, one for each pair that can stand in one norm; a pair counts for both rules.
"""
BACK: Final = """
## Norms of four packages

`fixtures/ecosystem/restore.py` takes the hand-written norms of transformers, timm, diffusers and x-transformers, breaks
each in one way wherever that is possible, and repairs it: does the author's own text come back? *same program:* it
differs in its looks alone. *another, match:* another spelling, which `--verify` calls a match.
"""


def write(found: Mapping[str, Mapping[str, Row]]) -> None:
    """Put the page where it belongs."""
    parts = [HEAD, "\n".join(table(by_code(found["defects"])))]
    parts += [OPTIONAL, "\n".join(table(by_code(found["optional"])))]
    pairs = by_code(found["pairs"])
    parts += [PAIRS.format(cases=total(found["pairs"].values())["cases"]), "\n".join(table(pairs))]
    if RESTORED.exists():
        parts += [BACK, "\n".join(restored(json.loads(RESTORED.read_text("utf-8"))))]
    PAGE.write_text("\n".join(parts) + "\n", "utf-8")


def by_code(rows: Mapping[str, Row]) -> dict[str, list[Row]]:
    """The rows that speak of each rule."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows.values():
        for code in row.codes:
            found[code].append(row)
    return dict(sorted(found.items()))


def table(rows: Mapping[str, list[Row]]) -> Iterator[str]:
    """A line for each rule."""
    yield f"| rule | fix | {' | '.join(FIGURES)} |"
    yield f"|---|---|{'---:|' * len(FIGURES)}"
    for code, several in rows.items():
        figures = total(several)
        fix = RULES[code].fix
        cells = (f"{code} {RULES[code].name}", fix.value if fix else "none", *(figures[name] for name in FIGURES))
        yield f"| {' | '.join(map(str, cells))} |"
    if len(rows) > 1:
        figures = total({id(row): row for several in rows.values() for row in several}.values())
        yield f"| all | | {' | '.join(str(figures[name]) for name in FIGURES)} |"


def restored(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A line for each rule."""
    columns = ("broken", "the author's text", "same program", "another, match", "another, not run", "worse", "left")
    yield f"| rule | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for code, row in sorted(counts.items()):
        yield f"| {code} {RULES[code].name} | {' | '.join(str(row.get(name, 0)) for name in columns)} |"
