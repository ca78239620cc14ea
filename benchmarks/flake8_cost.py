"""What normlint's plugin adds to a run of flake8.

    python benchmarks/flake8_cost.py FOLDER [--whole] [--runs N] [--out results.json]

It is timed over a tenth of the files. flake8 loads every plugin that is installed, so that the run without it has an
environment in which it isn't.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

import others
from harness import Command, about, arguments, beside, in_turn, save
from trees import copy_files, files_of, measure, select_tenth

TARGET: Final = 0.03


def main() -> int:
    """Print the figures."""
    parser = arguments(__doc__, runs=5)
    parser.add_argument("--whole", action="store_true", help="the whole tree, not a tenth of it")
    args = parser.parse_args()
    common = ("--isolated", "-j", "1")
    plain, plugged = others.program("flake8", "flake8"), others.program("plugin", "flake8")
    with tempfile.TemporaryDirectory() as held:
        paths = files_of(args.folder)
        chosen = paths if args.whole else select_tenth(paths)
        copy_files(chosen, args.folder, Path(held))
        commands = [
            Command("without", (plain, *common, "--select", "F", held), "flake8 --isolated -j 1 --select F TREE"),
            Command(
                "with", (plugged, *common, "--select", "F,NRM", held), "flake8 --isolated -j 1 --select F,NRM TREE"
            ),
        ]
        timings = in_turn(commands, args.runs)
    without, with_it = timings["without"], timings["with"]
    cost = paired_cost(without.times, with_it.times)
    kept = "kept" if cost <= TARGET else "missed"
    print(f"without the plugin {without.median:.2f} s (spread {without.spread:.1%})")
    print(f"with the plugin    {with_it.median:.2f} s (spread {with_it.spread:.1%})")
    print(f"cost {cost:+.1%}; the target of {TARGET:.0%} is {kept}")
    rows = [
        {"name": c.name, "command": c.shown, "times": timings[c.name].times, "median": timings[c.name].median}
        for c in commands
    ]
    results = {
        "about": about(normlint=beside("normlint"), flake8=plain),
        "tree": measure(chosen),
        "rows": rows,
        "cost": cost,
        "target": TARGET,
    }
    save(args.out, "flake8_cost", results)
    return 0


def paired_cost(without: list[float], with_it: list[float]) -> float:
    """The median of what each round says, whose two runs stand next to each other."""
    return statistics.median(b / a - 1 for a, b in zip(without, with_it, strict=True))


if __name__ == "__main__":
    sys.exit(main())
