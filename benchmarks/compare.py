"""How long linting a tree takes with normlint, ruff, flake8 and TorchFix.

    python benchmarks/compare.py FOLDER [--tenth] [--runs N] [--out results.json]

normlint and ruff are timed in turn, cold (without a cache) and warm (with a cache of their own that the run before
has filled). flake8 and TorchFix run once, over a tenth of the files; their time is scaled by the bytes they read,
less their start, which is taken once.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import others
from harness import Command, Timing, about, arguments, beside, in_turn, normlint, save, seconds
from trees import copy_files, files_of, measure, select_every, select_tenth, size

LONGEST: Final = 600.0  # seconds for a linter that is timed over a part
PILOT: Final = 200  # one file of so many tells how much can be done in that time


def main() -> int:
    """Print the figures."""
    parser = arguments(__doc__, runs=10)
    parser.add_argument("--tenth", action="store_true", help="a tenth of the tree for all")
    parser.add_argument("--without", default="", help="leave these out, by commas: flake8, torchfix")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as held:
        here = Path(held)
        folder, paths = args.folder, files_of(args.folder)
        if args.tenth:
            copy_files(select_tenth(paths), folder, here / "tenth")
            folder, paths = here / "tenth", files_of(here / "tenth")
        rows = _timed(_ours(folder, here), args.runs)
        rows += [_part(name, folder, paths, here) for name in ("flake8", "torchfix") if name not in args.without]
        machine = about(normlint=beside("normlint"), ruff=beside("ruff"), **_programs(rows))
        tree = {**measure(paths), "tenth": args.tenth}
    _print(rows)
    save(args.out, "compare", {"about": machine, "tree": tree, "rows": rows})
    return 0


def _ours(folder: Path, here: Path) -> list[Command]:
    tree, own, theirs = str(folder), str(here / "cache-normlint"), str(here / "cache-ruff")
    ruff = (beside("ruff"), "check", "--isolated")
    select = ("--select", "F", "-q", tree)
    return [
        Command("normlint, cold", normlint("--isolated", "--no-cache", tree), "normlint --isolated --no-cache TREE"),
        Command("ruff, cold", (*ruff, "--no-cache", *select), "ruff check --isolated --no-cache --select F -q TREE"),
        Command(
            "normlint, warm",
            normlint("--isolated", f"--cache-dir={own}", tree),
            "normlint --isolated --cache-dir=CACHE TREE",
        ),
        Command(
            "ruff, warm",
            (*ruff, "--cache-dir", theirs, *select),
            "ruff check --isolated --cache-dir CACHE --select F -q TREE",
        ),
    ]


def _timed(commands: Sequence[Command], runs: int) -> list[dict[str, Any]]:
    timings = in_turn(commands, runs)
    return [_row(command, timings[command.name]) for command in commands]


def _row(command: Command, timing: Timing) -> dict[str, Any]:
    return {
        "name": command.name,
        "command": command.shown,
        "times": timing.times,
        "median": timing.median,
        "spread": timing.spread,
        "part": 1.0,
    }


def _part(name: str, folder: Path, paths: Sequence[Path], here: Path) -> dict[str, Any]:
    """One run over a tenth, or over as much less as ends in ten minutes, scaled to the whole."""
    whole = size(paths)
    start, pilot, step = here / f"{name}-start", here / f"{name}-pilot", 10
    start.mkdir()
    (start / "empty.py").write_text("", encoding="utf-8")
    first = _seconds(name, start)
    if len(paths) >= PILOT:
        tried = copy_files(select_every(paths, PILOT), folder, pilot)
        step = step_for(whole, tried, _seconds(name, pilot) - first, LONGEST)
    read = copy_files(select_every(paths, step), folder, here / f"{name}-part")
    took = _seconds(name, here / f"{name}-part")
    scaled = scale(took, first, whole / read)
    shown = _command(name, here)[0].shown
    return {"name": name, "command": shown, "times": [took], "median": scaled, "spread": None, "part": read / whole}


def step_for(whole: int, tried: int, took: float, limit: float) -> int:
    """Every how many-th file can be linted within the limit, told from a pilot run: every tenth, or fewer."""
    expected = max(took, 0.0) * whole / max(tried, 1)
    return max(10, math.ceil(expected / limit))


def scale(took: float, start: float, factor: float) -> float:
    """What a run over a part would have taken over the whole: its start is needed once."""
    return start + max(took - start, 0.0) * factor


def _seconds(name: str, folder: Path) -> float:
    command, limit = _command(name, folder)
    took = seconds(command, limit)
    if took is None:
        sys.exit(f"{name} was stopped after {limit:.0f} s")
    return took


def _command(name: str, folder: Path) -> tuple[Command, float]:
    program = others.program(name, name)
    words = [*(("--isolated", "--select", "F") if name == "flake8" else ()), "-j", "2"]
    shown = " ".join((name, *words, "TREE"))
    return Command(name, (program, *words, str(folder)), shown), 2 * LONGEST


def _programs(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {row["name"]: others.program(row["name"], row["name"]) for row in rows if row["name"] in others.WANTED}


def _print(rows: Sequence[dict[str, Any]]) -> None:
    ruff = {row["name"]: row["median"] for row in rows}
    for row in rows:
        other = ruff["ruff, warm" if "warm" in row["name"] else "ruff, cold"]
        spread = "" if row["spread"] is None else f", spread {row['spread']:.0%}"
        part = "" if row["part"] == 1 else f", from {row['part']:.1%} of the bytes in {row['times'][0]:.1f} s"
        print(f"{row['name']:16} {row['median']:9.3f} s  {row['median'] / other:7.1f} × ruff{spread}{part}")


if __name__ == "__main__":
    sys.exit(main())
