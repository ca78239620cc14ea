"""Trees to lint: which files a folder holds, a tenth of them, and several copies of them with different texts."""

from __future__ import annotations

import keyword
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from harness import beside

_CLASS: Final = re.compile(rb"^[ \t]*class[ \t]+([A-Za-z_]\w\w+)[ \t]*[(:]", re.MULTILINE)


def files_of(folder: Path) -> list[Path]:
    """The Python files that normlint lints there, sorted; what it leaves out, ruff leaves out as well."""
    call = [beside("normlint"), "--isolated", "--show-files", str(folder)]
    shown = subprocess.run(call, capture_output=True, text=True, check=False).stdout.splitlines()
    found = sorted(path for path in map(Path, shown) if path.suffix == ".py")
    if not found:
        sys.exit(f"{folder}: no Python files there")
    return found


def select_tenth(paths: Sequence[Path]) -> list[Path]:
    """Every tenth file in the order of the paths."""
    return select_every(paths, 10)


def select_every(paths: Sequence[Path], step: int) -> list[Path]:
    """Every so many-th."""
    return sorted(paths)[::step]


def copy_files(paths: Iterable[Path], folder: Path, target: Path) -> int:
    """Copy files of `folder` to the same places below `target`; how many bytes they have."""
    return sum(_write(target / path.relative_to(folder), path.read_bytes()) for path in paths)


def copy_renamed(paths: Iterable[Path], folder: Path, target: Path, copies: int) -> int:
    """So many copies, in a folder each, of which no two hold the same text; how many bytes they have."""
    held = [(path.relative_to(folder), path.read_bytes()) for path in paths]
    return sum(
        _write(target / f"copy{number}" / where, renamed(data, number))
        for number in range(copies)
        for where, data in held
    )


def renamed(data: bytes, number: int) -> bytes:
    """A module with other names for its classes, which are as long in each of ten thousand copies, and a comment."""
    names = {name for name in _CLASS.findall(data) if not keyword.iskeyword(name.decode())}
    if names:
        word = re.compile(rb"(?<!\w)(?:" + b"|".join(map(re.escape, sorted(names))) + rb")(?!\w)")
        data = word.sub(rb"K%04d_\g<0>" % number, data)
    return data + b"\n# copy %04d\n" % number


def size(paths: Iterable[Path]) -> int:
    """The bytes of all."""
    return sum(os.path.getsize(path) for path in paths)


def measure(paths: Sequence[Path]) -> dict[str, Any]:
    """What is said of a tree."""
    return {
        "files": len(paths),
        "bytes": size(paths),
        "lines": sum(path.read_bytes().count(b"\n") for path in paths),
    }


def _write(path: Path, data: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return len(data)
