"""Write docs/verification*.md: the held set, run with twenty seeds: `python -m tests.held.table`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from normlint.rules.registry import RULES
from normlint.text.verdict import MATCH, Probe, Verdict
from normlint.verify.guard.run import Verifier
from tests.held import BROKEN, EVERY, SOUND, Held
from tests.verify.verified import jobs_of, verdicts_of

BAR: Final = r"\|"  # one that is no border of a cell
DOCS: Final = Path(__file__).parents[2] / "docs"
PACKAGES: Final = Path(__file__).parents[2] / "fixtures" / "ecosystem" / "verdicts.jsonl"
SEEDS: Final = 20
STYLE: Final = tuple(code for code in RULES if code.startswith("NRM6"))  # the values are right
RAISING: Final = ("NRM107", "NRM506", "NRM508", "NRM509")  # there are no values, or nobody knows which are right
NONE: Final = Probe("", "", 0.0, 0.0)  # of what is skipped
STATUSES: Final = (MATCH, "precision", "wrong", "skipped")

HEAD: Final = """\
# The verifier on a set of its own

{sound} sound norms and {broken} broken ones (`tests/held`), written for this page and for nothing else, each verified
with {seeds} seeds: [the sound ones](verification-sound.md), [the broken ones](verification-broken.md). Written by
`python -m tests.held.table`; `tests/rules/test_held.py` runs the set with one seed.

- *Sound norms called wrong or imprecise:* {false}. *Broken norms called a match:* {missed}.
  *Without a verdict:* {skipped}, which stand among other code.
- *Margin.* Of a sound norm: the share of a limit that its worst probe uses, the most over all seeds. Of a broken one:
  how many times its worst probe passes the limit, the fewest over all seeds; ∞ where an output isn't finite or a
  property (the input is untouched, the gain is saved, ...) doesn't hold.
"""
CUDA: Final = """\
## On CUDA

1,037 norms of this set, of the tests and of the four packages were verified on an NVIDIA H100 with torch 2.11 (CUDA
13.0) and on the CPU beside it, on 2026-11-27: each has the same verdict on both (421 match, 390 wrong, 61 precision,
165 skipped). In the first run 859 differed: a gradient before the fork left torch without its threads and its driver,
so that nearly every norm was "wrong" or skipped; then 16, whose gain isn't on the device, or whose parameters must
stay fp32 where CUDA doesn't mix dtypes. Tests hold the last two without a GPU, too; the first only shows where torch
has a device. The CPU took 12 s for all, and CUDA 68 s.
"""
UNSEEN: Final = """\
## Code that nobody here chose

On 100 repositories that nobody had read, and then, with what had been fixed, on 108 others (`unseen.md` has the
whole story):

| | first 100 | other 108 |
|---|---|---|
| norms that claim to be one, with a verdict | 305 of 366 (83 %) | 147 of 215 (68 %) |
| verdicts "wrong", copies counted once | 80 | 25 |
| of these with a false reason | 9 | 2 |
| NRM901 and NRM902 | 8 | 3 |
| of these false | 4 | 3 |

What running alone called wrong was false in seven of eleven cases: a clip, a map of hyperbolic geometry, a caller
that casts, a length that comes later. These are skipped or match now. Lines out of the middle of something were cut
out and run then; now a norm needs a class or a `def` of its own. Of those that claim to be one, 482 of 515 (94 %) have
a verdict on the four packages. On 63 other packages 113 of 136 (83 %) had one when lines ceased to be cut out, half of
the rest factors of a similarity; these claim nothing any more, as their function doesn't give them back. That wasn't
measured again.
"""


def runs() -> list[dict[str, Verdict]]:
    """The verdicts by name, for each seed."""
    jobs = [job for held in EVERY for _, job in jobs_of(held.path)]
    names = [held.name for held in EVERY]
    found = []
    for seed in range(SEEDS):
        with Verifier(device="cpu", seed=seed) as verifier:
            found.append(dict(zip(names, verdicts_of(verifier, jobs), strict=True)))
    return found


def share(probe: Probe) -> float:
    """The error in units of its limit."""
    if math.isnan(probe.error):
        return math.inf
    if probe.error == 0:
        return 0.0
    return probe.error / probe.limit if probe.limit else math.inf


def worst(verdict: Verdict) -> Probe:
    """What decided, or came nearest to it."""
    return verdict.worst or max(verdict.probes, key=share, default=NONE)


def row(held: Held, verdicts: Sequence[Verdict]) -> str:
    """One norm in the table of its kind."""
    said = " / ".join(sorted({verdict.status for verdict in verdicts}))
    pick = max if held.expect == MATCH else min
    probe = pick((worst(verdict) for verdict in verdicts), key=share)
    margin = share(probe)
    figure = "∞" if math.isinf(margin) else f"{margin:.2g}" if margin < 1000 else f"{margin:.0e}"
    cells = (f"`{held.name}`", held.expect, said, f"{probe.dtype} {probe.probe}".strip(), figure, held.why)
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def by_rule(found: Sequence[dict[str, Verdict]]) -> Iterator[str]:
    """For each rule that reads the text: what running shows of its norms."""
    for code, rule in sorted(RULES.items()):
        if not rule.check:
            continue
        norms = [held for held in BROKEN if code in held.codes]
        if code in STYLE:
            yield f"| {code} | {rule.name} | no: a matter of style, the values are right | |"
            continue
        said = sorted({verdicts[held.name].status for held in norms for verdicts in found})
        if not norms:
            yield f"| {code} | {rule.name} | none stands in this set | |"
            continue
        first = found[0]
        shown = sorted({f"{worst(first[h.name]).dtype} {worst(first[h.name]).probe}".strip() for h in norms} - {""})
        yield f"| {code} | {rule.name} | {', '.join(said)} ({len(norms)} norms) | {', '.join(shown)} |"


def by_package() -> Iterator[str]:
    """The norms of four packages, as the last run over them left them; reading against running."""
    records = [json.loads(line) for line in PACKAGES.read_text(encoding="utf-8").splitlines()]
    yield "| package | match | precision | wrong | skipped |"
    yield "|---|---|---|---|---|"
    counts = Counter((record["path"].split("/", 1)[0], record["status"]) for record in records)
    for package in dict.fromkeys(record["path"].split("/", 1)[0] for record in records):
        yield f"| {package} | {' | '.join(str(counts[package, status]) for status in STATUSES)} |"
    read = Counter((bool(record["codes"]), record["status"]) for record in records)
    for blamed, said in ((True, "a rule reports it"), (False, "no rule reports it")):
        yield f"| *{said}* | {' | '.join(str(read[blamed, status]) for status in STATUSES)} |"


def pages(found: Sequence[dict[str, Verdict]]) -> Iterator[tuple[str, str]]:
    """The name and the text of each."""
    lines = [_head(found), "## What running shows of each rule", ""]
    lines += ["| rule | | verdict | shown by |", "|---|---|---|---|", *by_rule(found)]
    lines += ["", "## Four packages", ""]
    lines += [
        "Every norm that is recognised in transformers, timm, diffusers and x_transformers; where reading and running"
    ]
    lines += ["disagree, `fixtures/ecosystem/disagreements.jsonl` says why.", "", *by_package(), "", CUDA, UNSEEN]
    yield "verification", "\n".join(lines) + "\n"
    for name, norms in (("sound", SOUND), ("broken", BROKEN)):
        lines = [
            f"# Each {name} norm",
            "",
            f"The {name} norms of the [held set](verification.md), which says what the margin is.",
        ]
        lines += ["", "| norm | expected | verdict | worst probe | margin | why |", "|---|---|---|---|---|---|"]
        lines += [row(held, [verdicts[held.name] for verdicts in found]) for held in norms]
        yield f"verification-{name}", "\n".join(lines) + "\n"


def _head(found: Sequence[dict[str, Verdict]]) -> str:
    every = [(held, verdicts[held.name].status) for verdicts in found for held in EVERY]
    return HEAD.format(
        sound=len(SOUND),
        broken=len(BROKEN),
        seeds=len(found),
        false=sum(held.expect == MATCH and status in ("wrong", "precision") for held, status in every),
        missed=sum(held.expect != MATCH and status == MATCH for held, status in every),
        skipped=_skipped([held.name for held, status in every if status == "skipped"], len(found)),
    )


def _skipped(names: Sequence[str], seeds: int) -> str:
    """Norms rather than runs: which are skipped with every seed."""
    always = [f"`{name}`" for name in dict.fromkeys(names) if names.count(name) == seeds]
    return f"{len(set(names))} norms, with every seed ({' and '.join(always)})"


if __name__ == "__main__":
    for name, text in pages(runs()):
        (DOCS / f"{name}.md").write_text(text, encoding="utf-8")
