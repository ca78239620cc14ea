"""The held set: norms as people write them, one a file, with what verification must say of each.

A file starts with what is expected of it and why:

    # expect: wrong  codes: NRM201
    # why: squares in the input's dtype

`codes` are those that reading the text reports (of the rules that are on by default, and those of numbers that must be
asked for), "none" where only running it shows the defect. What is skipped stands among other code, and can't be run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HELD: Final = Path(__file__).parent
_HEADER: Final = re.compile(
    r"# expect: (match|precision|wrong|skipped)(?:  codes: (none|NRM\d+(?: NRM\d+)*))?\n# why: (.+)\n"
)


@dataclass(frozen=True, slots=True)
class Held:
    """A norm whose verdict is known."""

    name: str
    path: Path
    expect: str
    codes: frozenset[str]
    why: str
    text: str


def _read(path: Path) -> Held:
    text = path.read_text(encoding="utf-8")
    found = _HEADER.match(text)
    if found is None:
        raise ValueError(f"{path.name}: no header")
    codes = frozenset((found[2] or "none").split()) - {"none"}
    return Held(path.stem, path, found[1], codes, found[3], text)


SOUND: Final = tuple(_read(path) for path in sorted((HELD / "sound").glob("*.py")))
BROKEN: Final = tuple(_read(path) for path in sorted((HELD / "broken").glob("*.py")))
EVERY: Final = SOUND + BROKEN
