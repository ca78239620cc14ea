"""CPU seconds and memory for texts under 100 KB that are made to cost more than they look like.

    python benchmarks/hostile.py [--diff] [--only WORDS] [--worst N] [--out results.json]

Each text of `tests/hostile` is linted as `normlint --isolated --no-cache FILE` does, in a process forked from one that
has normlint imported; the worst are then measured once more as commands of their own. `--diff`: also with the fixes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness import about, arguments, beside, save

sys.path.insert(0, str(Path(__file__).parent.parent))

SECONDS: Final = 2.0
MEMORY: Final = 200 * 2**20
CUT: Final = 12  # CPU seconds after which a text is given up
UNIT: Final = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What one text took. `status` is what the command exits with, or the negative number of a signal."""

    name: str
    seconds: float
    memory: int
    status: int


def main() -> int:
    """Print the worst; 1 if one takes more than it may, or ends otherwise than in order."""
    parser = arguments(__doc__, folder=False)
    parser.add_argument("--diff", action="store_true", help="with the fixes, shown and not made")
    parser.add_argument("--only", default="", help="the texts whose names hold these words")
    parser.add_argument("--worst", type=int, default=10, help="how many to print; default: 10")
    args = parser.parse_args()
    options = ["--isolated", "--no-cache", *(["--diff", "--unsafe-fixes"] if args.diff else [])]
    with tempfile.TemporaryDirectory() as held:
        paths = _written(Path(held), args.only)
        costs = [_forked([*options, str(path)], path.name) for path in paths]
        slow = sorted(costs, key=lambda one: -one.seconds)[: args.worst]
        large = sorted(costs, key=lambda one: -one.memory)[: args.worst]
        again = {one.name: _command([*options, str(Path(held, one.name))], one.name) for one in (*slow, *large)}
    wrong = [one for one in (*costs, *again.values()) if _exceeds(one)]
    print(f"{len(costs)} texts, {sum(one.seconds for one in costs):.0f} s of CPU")
    _print("the slowest", [again[one.name] for one in slow])
    _print("the largest", [again[one.name] for one in large])
    _print("beyond the bounds", wrong)
    if args.out:
        results = {"about": about(normlint=beside("normlint")), "texts": len(costs), "beyond": len(wrong)}
        save(args.out, "hostile --diff" if args.diff else "hostile", results)
    return bool(wrong)


def _written(folder: Path, words: str) -> list[Path]:
    from tests.hostile import hostile

    paths = []
    for one in hostile():
        if words in one.name:
            paths.append(folder / one.name.replace("/", "\u2215"))
            paths[-1].write_bytes(one.data)
    return paths


def _exceeds(one: Cost) -> bool:
    return one.seconds > SECONDS or one.memory > MEMORY or one.status not in (0, 1, 2)


def _print(what: str, costs: Sequence[Cost]) -> None:
    print(f"\n{what}:")
    for one in costs:
        print(f"{one.seconds:7.2f} s {one.memory / 2**20:6.0f} MiB  exits with {one.status}  {one.name}")


def _forked(given: Sequence[str], name: str) -> Cost:
    """The run in a process of its own that has imported everything."""
    from normlint.faces import cli, entry, fixing  # noqa: F401
    from normlint.rules import blocks  # noqa: F401

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (CUT, CUT + 1))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        return entry.main(list(given))

    return _waited(_fork(run), name)


def _fork(run: Callable[[], int]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = run()
    finally:
        os._exit(status)


def _command(given: Sequence[str], name: str) -> Cost:
    """The command itself, from its start on."""
    child = subprocess.Popen(
        [sys.executable, "-m", "normlint", *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CUT, CUT + 1)),  # noqa: PLW1509  (one thread)
    )  # fmt: skip
    cost = _waited(child.pid, name)
    child.returncode = cost.status
    return cost


def _waited(child: int, name: str) -> Cost:
    _, status, usage = os.wait4(child, 0)
    return Cost(name, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT, os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    sys.exit(main())
