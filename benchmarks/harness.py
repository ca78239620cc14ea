"""What the benchmarks share: hyperfine's runs, what is known of the machine, and the file that takes the results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

LEVELS: Final = (0, 1, 2)  # nothing found; something found; a file of the tree that can't be parsed


@dataclass(frozen=True, slots=True)
class Command:
    """A program that is timed. `shown`: the same as a reader would type it. `prepare` is run before and not timed."""

    name: str
    argv: tuple[str, ...]
    shown: str
    prepare: tuple[str, ...] = ()


@dataclass(slots=True)
class Timing:
    """The wall times of one command, in seconds."""

    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        """From the fastest to the slowest, as a share of the median."""
        return (max(self.times) - min(self.times)) / self.median


def hyperfine() -> str:
    """Where it is; ends the script if it is nowhere."""
    found = shutil.which("hyperfine")
    if found is None:
        sys.exit("hyperfine is missing; it times the commands: `apt install hyperfine`, or `brew install hyperfine`")
    return found


def in_turn(commands: Sequence[Command], rounds: int, warmup: int = 1) -> dict[str, Timing]:
    """Each command once a round, so that a machine that slows down slows all of them; the first round warms up.

    The order is turned round after each round.
    """
    timings = {command.name: Timing() for command in commands}
    for number in range(rounds):
        order = commands if number % 2 == 0 else tuple(reversed(commands))
        for command in order:
            timings[command.name].times.extend(_once(command, warmup if number == 0 else 0))
    return timings


def _once(command: Command, warmup: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        call = [hyperfine(), "-N", "-i", "--style", "none", "--runs", "1", "--warmup", str(warmup)]
        call += ["--export-json", str(out)]
        if command.prepare:
            call += ["--prepare", joined(command.prepare)]
        done = subprocess.run([*call, joined(command.argv)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"hyperfine failed on `{command.shown}`:\n{done.stderr}")
        return times_in(out.read_text(encoding="utf-8"), command.shown)


def times_in(text: str, shown: str) -> list[float]:
    """The wall times in hyperfine's JSON. A command that broke down was fast for nothing: it ends the script."""
    (result,) = json.loads(text)["results"]
    wrong = [code for code in result["exit_codes"] if code not in LEVELS]
    if wrong:
        sys.exit(f"`{shown}` exits with {wrong[0]}")
    return [float(time) for time in result["times"]]


def joined(argv: Sequence[str]) -> str:
    """One line that is split into the same words again."""
    import shlex

    return shlex.join(argv)


def seconds(command: Command, limit: float | None = None) -> float | None:
    """One run's wall time without hyperfine; None if it took longer than the limit."""
    import time

    start = time.perf_counter()
    try:
        nowhere = subprocess.DEVNULL
        done = subprocess.run(command.argv, stdout=nowhere, stderr=nowhere, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    took = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(f"`{command.shown}` exits with {done.returncode}")
    return took


def beside(name: str) -> str:
    """The program of that name of the environment that runs the benchmarks."""
    own = Path(sys.executable).with_name(name)
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        sys.exit(f"{name} is missing; it is wanted beside {sys.executable}")
    return found


def normlint(*words: str) -> tuple[str, ...]:
    """The command with these arguments; one that this version doesn't have is left out, and that is said."""
    program = beside("normlint")
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    missing = [word for word in words if word.startswith("--") and word.partition("=")[0] not in told]
    if missing:
        print(f"normlint has no {' '.join(missing)}: left out", file=sys.stderr)
    return (program, *(word for word in words if word not in missing))


def about(**programs: str) -> dict[str, Any]:
    """When and where: the date, the machine, and what each program says of its version."""
    versions = {name: _version(path) for name, path in {"hyperfine": hyperfine(), **programs}.items()}
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _version(program: str) -> str:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return next((word for word in told if word[0].isdigit()), "unknown")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def arguments(doc: str | None, *, folder: bool = True, runs: int | None = None) -> argparse.ArgumentParser:
    """What all benchmarks take."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    if folder:
        parser.add_argument("folder", type=lambda given: Path(given).resolve(), help="the tree that is linted")
    if runs is not None:
        parser.add_argument("--runs", type=int, default=runs, help=f"timed runs of each command; default: {runs}")
    parser.add_argument("--out", type=Path, help="a JSON file that takes the results, besides those it holds")
    return parser


def save(out: Path | None, section: str, results: dict[str, Any]) -> None:
    """Put one benchmark's results among those of the others."""
    if out is None:
        return
    held = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    held[section] = results
    out.write_text(json.dumps(held, indent=2, sort_keys=True) + "\n", encoding="utf-8")
