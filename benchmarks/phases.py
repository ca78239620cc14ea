"""Where the time of a cold run goes, in one process.

    python benchmarks/phases.py FOLDER [--out results.json]

A timer interrupts the run each millisecond, and the time since the last interrupt is put down to the phase that the
stack shows. That slows the run by a few percent and no phase more than the others, where a profiler would favour what
is written in C. (It isn't called profile.py: the standard library has a module of that name, which others import.)
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Final

from harness import about, arguments, beside, normlint, save
from trees import files_of, measure

INTERVAL: Final = 0.001
OTHER: Final = "other"
START: Final = "start"  # Python's own, and imports, whenever they happen
# The first that fits any frame of the stack, as `module:function`: what is above is a part of what is below.
PHASES: Final = {
    START: r"importlib\._bootstrap",
    "walk": r"normlint\.engine\.(discovery|config|settings)|normlint\.faces\.targets",
    "output": r"normlint\.faces\.render|normlint\.faces\.cli:_(shown|write|tell)\b",
    "cache": r"normlint\.engine\.(cache|stored)\b",
    "read": r"normlint\.text\.(read|raw|cells|notebooks|markdown|units)\b",
    "sieve": r"normlint\.text\.marks",
    "check": r"normlint\.text\.(syntax|depth)",
    "parse": r"normlint\.evaluate\.lower|libcst|ast:parse",
    "cut": r"normlint\.text\.pieces|normlint\.evaluate\.module:(_?pieces?|_starts|_in_comment|_holds_definition)\b",
    "fix": r"normlint\.rules\.repair",
    "rules": r"normlint\.rules(\.\w+)?:(?!analyse\b)",
    "evaluate": r"normlint\.(evaluate|norm)\.",
}
_PATTERNS: Final = {name: re.compile(pattern) for name, pattern in PHASES.items()}


def main() -> int:
    """Print the figures."""
    args = arguments(__doc__).parse_args()
    python = _python_start()
    words = normlint("--isolated", "--no-cache", "--jobs", "1", str(args.folder))[1:]
    sampler = Sampler()
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        sampler.run(words)
    spent = sampler.spent()
    spent[START] = spent.get(START, 0.0) + python
    whole = sum(spent.values())
    for name in [*PHASES, OTHER]:
        if spent.get(name):
            print(f"{name:9} {spent[name]:8.3f} s  {spent[name] / whole:6.1%}")
    print(f"{'all':9} {whole:8.3f} s")
    results = {"about": about(normlint=beside("normlint")), "tree": measure(files_of(args.folder)), "seconds": spent}
    save(args.out, "phases", results)
    return 0


class Sampler:
    """What the stack was, and for how long."""

    def __init__(self) -> None:
        self.stacks: Counter[tuple[tuple[str, str], ...]] = Counter()
        self.last = 0.0

    def run(self, words: Sequence[str]) -> None:
        """One run of the command in this process, its import included."""
        signal.signal(signal.SIGPROF, self.take)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
        self.last = time.perf_counter()
        try:
            from normlint.faces.cli import main as run

            run(words)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.take(0, sys._getframe())  # noqa: SLF001 - what came after the last interrupt

    def take(self, number: int, frame: FrameType | None) -> None:
        """Put the time since the last call down to this stack. What a call into C takes is its caller's."""
        del number
        now = time.perf_counter()
        names = []
        while frame is not None:
            names.append((frame.f_globals.get("__name__", ""), frame.f_code.co_name))
            frame = frame.f_back
        self.stacks[tuple(dict.fromkeys(names))] += now - self.last  # type: ignore[assignment]
        self.last = now

    def spent(self) -> dict[str, float]:
        """The seconds of each phase."""
        found: dict[str, float] = {}
        for stack, took in self.stacks.items():
            phase = phase_of([f"{module}:{function}" for module, function in stack])
            found[phase] = found.get(phase, 0.0) + took
        return found


def phase_of(stack: Sequence[str]) -> str:
    """The first phase that fits any frame."""
    for name, pattern in _PATTERNS.items():
        if any(pattern.search(frame) for frame in stack):
            return name
    return OTHER


def _python_start() -> float:
    """The fastest of several starts of Python, which comes before any code of normlint's."""
    return min(_timed_start() for _ in range(10))


def _timed_start() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
