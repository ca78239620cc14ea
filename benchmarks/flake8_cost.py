"""What normlint's plugin adds to a run of flake8.

    python benchmarks/flake8_cost.py FOLDER [--whole] [--runs N] [--out results.json]

It is timed over a tenth of the files, remembering nothing, and with what the run before it remembered. flake8 loads
every plugin that is installed, so that the run without it has an environment in which it isn't.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import others
from harness import Command, about, arguments, beside, in_turn, save
from trees import copy_files, files_of, measure, select_tenth

from normlint.engine.cache import VARIABLE

TARGET: Final = 0.03


def main() -> int:
    """Print the figures."""
    parser = arguments(__doc__, runs=5)
    parser.add_argument("--whole", action="store_true", help="the whole tree, not a tenth of it")
    args = parser.parse_args()
    paths = files_of(args.folder)
    chosen = paths if args.whole else select_tenth(paths)
    with tempfile.TemporaryDirectory() as held, tempfile.TemporaryDirectory() as cache:
        copy_files(chosen, args.folder, Path(held))
        os.environ[VARIABLE] = cache
        plain, commands = compared(held)
        works(commands[1].argv[:-1], chosen[0])
        timings = in_turn(commands, args.runs)
    without = timings["without"]
    print(f"without the plugin {without.median:.2f} s (spread {without.spread:.1%})")
    rows = []
    for command in commands:
        timing = timings[command.name]
        cost = paired_cost(without.times, timing.times)
        rows.append(
            {
                "name": command.name,
                "command": command.shown,
                "times": timing.times,
                "median": timing.median,
                "cost": cost,
            }
        )
        if timing is not without:
            kept = "kept" if cost <= TARGET else "missed"
            print(f"{command.name}: {timing.median:.2f} s (spread {timing.spread:.1%})")
            print(f"cost {cost:+.1%}; the target of {TARGET:.0%} is {kept}")
    results = {
        "about": about(normlint=beside("normlint"), flake8=plain),
        "tree": measure(chosen),
        "rows": rows,
        "target": TARGET,
    }
    save(args.out, "flake8_cost", results)
    return 0


def compared(tree: str) -> tuple[str, list[Command]]:
    """Where flake8 without the plugin is, and the three commands."""
    shown = "flake8 --isolated -j 1 --select"
    common = ("--isolated", "-j", "1", "--select")
    plain, plugged = others.program("flake8", "flake8"), others.program("plugin", "flake8")
    off = "--normlint-no-cache"
    return plain, [
        Command("without", (plain, *common, "F", tree), f"{shown} F TREE"),
        Command("with, remembering nothing", (plugged, *common, "F,NRM", off, tree), f"{shown} F,NRM {off} TREE"),
        Command("with, a second time", (plugged, *common, "F,NRM", tree), f"{shown} F,NRM TREE"),
    ]


def works(argv: tuple[str, ...], file: Path) -> None:
    """A plugin that breaks flake8 ends it with the status of findings, and soon."""
    done = subprocess.run([*argv, str(file)], capture_output=True, text=True, check=False)
    if done.stderr:
        sys.exit(f"the plugin breaks flake8:\n{done.stderr}")


def paired_cost(without: list[float], with_it: list[float]) -> float:
    """The median of what each round says, whose two runs stand next to each other."""
    return statistics.median(b / a - 1 for a, b in zip(without, with_it, strict=True))


if __name__ == "__main__":
    sys.exit(main())
