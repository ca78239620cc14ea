"""Write the figures of benchmarks/README.md: `python benchmarks/report.py [results.json] [--check]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
README: Final = HERE / "README.md"
RESULTS: Final = HERE / "results.json"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
NAMES: Final = {"torchfix": "TorchFix", "flake8": "flake8"}
Section = dict[str, Any]


def main() -> int:
    """Write it, or say whether it is as the results have it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if it isn't current")
    args = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    new = renewed(old, json.loads(args.results.read_text(encoding="utf-8")))
    if args.check:
        return int(old != new)
    README.write_text(new, encoding="utf-8")
    return 0


def renewed(text: str, results: dict[str, Section]) -> str:
    """The page with these figures."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{figures(results)}\n{END}{after}"


def figures(results: dict[str, Section]) -> str:
    """All chapters of which there are results."""
    chapters = [_chapter(title, results[name], body) for name, (title, body) in CHAPTERS.items() if name in results]
    return "\n".join(chapters) if chapters else "Nothing has been measured yet.\n"


def _chapter(title: str, section: Section, body: Callable[[Section], Iterator[str]]) -> str:
    return "".join(f"{line}\n" for line in (f"## {title}", "", *body(section), "", _measured(section)))


def _measured(section: Section) -> str:
    about, tree = section["about"], section.get("tree")
    versions = ", ".join(f"{NAMES.get(name, name)} {version}" for name, version in sorted(about["versions"].items()))
    part = " (a tenth of the tree)" if tree and tree.get("tenth") else ""
    read = f"{tree['files']:,} Python files with {tree['lines']:,} lines{part}; " if tree else ""
    machine = f"{about['cpu']}, {about['cores']} cores, {about['system']}, Python {about['python']}"
    return f"Measured on {about['date']}: {read}{machine}; {versions}."


def _compare(section: Section) -> Iterator[str]:
    medians = {row["name"]: row["median"] for row in section["rows"]}
    yield "| linter | command | median | spread | × ruff |"
    yield "|---|---|---|---|---|"
    for row in sorted(section["rows"], key=lambda one: float(one["median"])):
        ruff = medians["ruff, warm" if "warm" in row["name"] else "ruff, cold"]
        star = "" if row["part"] == 1 else " *"
        spread = "one run" if row["spread"] is None else f"{row['spread']:.0%}"
        name = NAMES.get(row["name"], row["name"])
        cells = (name + star, f"`{row['command']}`", in_seconds(row["median"]), spread, f"{row['median'] / ruff:.1f}")
        yield f"| {' | '.join(cells)} |"
    scaled = [row for row in section["rows"] if row["part"] < 1]
    if scaled:
        parts = "; ".join(
            f"{NAMES.get(row['name'], row['name'])} {in_seconds(row['times'][0])} for {row['part']:.1%} of the bytes"
            for row in scaled
        )
        yield ""
        yield f"\\* measured over a part of the files, and scaled: {parts}."


def _one_file(section: Section) -> Iterator[str]:
    yield "| what | command | median | × Python's start |"
    yield "|---|---|---|---|"
    for row in section["rows"]:
        yield f"| {row['name']} | `{row['command']}` | {in_seconds(row['median'])} | {row['ratio']:.1f} |"


def _flake8(section: Section) -> Iterator[str]:
    yield "| plugin | command | median | adds |"
    yield "|---|---|---|---|"
    for row in section["rows"]:
        cost = f"{row['cost']:.1%}" if row["cost"] else ""
        yield f"| {row['name']} | `{row['command']}` | {in_seconds(row['median'])} | {cost} |"
    yield ""
    yield f"The plugin is meant to add {section['target']:.0%} at most."


def _memory(section: Section) -> Iterator[str]:
    yield "| copies of the tree | files | peak of the largest process |"
    yield "|---|---|---|"
    for row in section["rows"]:
        yield f"| {row['copies']} | {row['files']:,} | {row['peak'] / 2**20:.0f} MiB |"


def _growth(section: Section) -> Iterator[str]:
    yield "| copies of the tree | files | median | a file |"
    yield "|---|---|---|---|"
    for row in section["rows"]:
        each = row["median"] / row["files"] * 1000
        yield f"| {row['copies']} | {row['files']:,} | {in_seconds(row['median'])} | {each:.2f} ms |"
    yield ""
    yield f"The slope in both logarithms is {section['slope']:.2f}."


def _phases(section: Section) -> Iterator[str]:
    spent = section["seconds"]
    whole = sum(spent.values())
    yield "| phase | time | share |"
    yield "|---|---|---|"
    for name, took in sorted(spent.items(), key=lambda one: -one[1]):
        yield f"| {name} | {in_seconds(took)} | {took / whole:.0%} |"


def in_seconds(time: float) -> str:
    """Three digits, or whole milliseconds."""
    if time < 0.1:
        return f"{time * 1000:.0f} ms"
    return f"{time:.0f} s" if time >= 100 else f"{time:.1f} s" if time >= 10 else f"{time:.2f} s"


CHAPTERS: Final[dict[str, tuple[str, Callable[[Section], Iterator[str]]]]] = {
    "compare": ("A whole tree", _compare),
    "one_file": ("One file", _one_file),
    "flake8_cost": ("As a plugin of flake8", _flake8),
    "memory": ("Memory", _memory),
    "growth": ("Growth", _growth),
    "phases": ("Where the time goes", _phases),
}

if __name__ == "__main__":
    sys.exit(main())
