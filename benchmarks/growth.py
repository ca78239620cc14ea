"""How the time of a cold run grows with the tree.

    python benchmarks/growth.py FOLDER [--runs N] [--out results.json]

1, 4 and 16 copies of the tree, of which no two hold the same text. The slope is that of the line through the
logarithms of files and seconds: 1 where twice the files take twice the time.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from harness import Command, about, arguments, beside, in_turn, normlint, save
from trees import copy_renamed, files_of, measure

COPIES: Final = (1, 4, 16)


def main() -> int:
    """Print the figures."""
    args = arguments(__doc__, runs=3).parse_args()
    paths = files_of(args.folder)
    rows: list[dict[str, Any]] = []
    for copies in COPIES:
        with tempfile.TemporaryDirectory() as held:
            copy_renamed(paths, args.folder, Path(held), copies)
            call = normlint("--isolated", "--no-cache", held)
            timing = in_turn([Command("normlint", call, "normlint --isolated --no-cache TREE")], args.runs)["normlint"]
        files = copies * len(paths)
        rows.append({"copies": copies, "files": files, "times": timing.times, "median": timing.median})
        each = timing.median / files * 1000
        print(
            f"× {copies:2}: {files:7} files, {timing.median:8.2f} s, {each:.3f} ms a file, spread {timing.spread:.1%}"
        )
    exponent = slope([row["files"] for row in rows], [row["median"] for row in rows])
    print(f"slope {exponent:.3f}")
    results = {"about": about(normlint=beside("normlint")), "tree": measure(paths), "rows": rows, "slope": exponent}
    save(args.out, "growth", results)
    return 0


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent that fits best: the least squares in both logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(time) for time in times]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - middle_x) ** 2 for x in xs
    )


if __name__ == "__main__":
    sys.exit(main())
