"""The picture of what compare.py has measured: `python benchmarks/plot.py results.json [--to benchmarks/speed.svg]`.

It needs matplotlib (`python -m pip install -e '.[bench]'`). It has no background and grey letters, which can be read
on white as on black.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from report import NAMES, in_seconds

GREY: Final = "#808891"
OWN: Final = "#2f81f7"
STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "normlint",
    "font.family": "sans-serif",
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def main() -> int:
    """Draw it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("speed.svg"))
    args = parser.parse_args()
    section = json.loads(args.results.read_text(encoding="utf-8")).get("compare")
    if section is None:
        sys.exit("no results of compare.py there")
    draw(section, args.to)
    return 0


def draw(section: dict[str, Any], to: Path) -> None:
    """A bar a command, the fastest on top."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    rows = sorted(section["rows"], key=lambda row: -row["median"])
    medians = [row["median"] for row in rows]
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.5, 0.45 * len(rows) + 1.1))
        bars = axes.barh(
            [label(row) for row in rows],
            medians,
            color=[OWN if row["name"].startswith("normlint") else GREY for row in rows],
            height=0.62,
        )
        axes.set_xscale("log")
        axes.set_xlim(min(medians) / 3, max(medians) * 4)
        axes.bar_label(bars, [in_seconds(median) for median in medians], padding=5, color=GREY)
        scaled = "; * scaled from a part" if any(row["part"] < 1 for row in rows) else ""
        axes.set_xlabel(f"seconds for {section['tree']['files']:,} files, logarithmic{scaled}")
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(GREY)
        axes.tick_params(axis="y", length=0)
        figure.savefig(to, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


def label(row: dict[str, Any]) -> str:
    """The name; with a star where a part was measured and scaled."""
    return NAMES.get(row["name"], str(row["name"])) + (" *" if row["part"] < 1 else "")


if __name__ == "__main__":
    sys.exit(main())
