"""How much memory the largest process of a run takes, and whether a larger tree takes more.

    python benchmarks/memory.py FOLDER [--copies N] [--out results.json]

A cold run over the tree, and one over several copies of it; the peak resident set is the kernel's own count, of the
largest one among the command and the processes it starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import LEVELS, about, arguments, beside, normlint, save
from trees import copy_renamed, files_of, measure


def main() -> int:
    """Print the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--copies", type=int, default=4, help="how many copies of the tree; default: 4")
    args = parser.parse_args()
    paths = files_of(args.folder)
    rows: list[dict[str, Any]] = []
    for copies in (1, args.copies):
        with tempfile.TemporaryDirectory() as held:
            copy_renamed(paths, args.folder, Path(held), copies)
            peak = peak_of(normlint("--isolated", "--no-cache", held))
        rows.append({"copies": copies, "files": copies * len(paths), "peak": peak})
        print(f"× {copies}: {copies * len(paths)} files, {peak / 2**20:.0f} MiB in the largest process")
    growth = rows[-1]["peak"] / rows[0]["peak"]
    print(f"{args.copies} times the tree takes {growth:.2f} times the memory")
    results = {"about": about(normlint=beside("normlint")), "tree": measure(paths), "rows": rows, "growth": growth}
    save(args.out, "memory", results)
    return 0


def peak_of(argv: Sequence[str]) -> int:
    """The bytes of the largest peak among a program and the processes that it has started and waited for."""
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in LEVELS:
        sys.exit(f"normlint exits with {child.returncode}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    sys.exit(main())
