"""Bugs of norms that people reported, written anew: as a project would have, broken and repaired; and what was no bug.

A file of `broken` and of `sound` starts with what is known of it:

    # report: mosaicml/llm-foundry#371
    # codes: NRM401           what the report is about, or NRM301|NRM304 where either says it; "none": no rule does
    # also: NRM201            what else is wrong with it
    # why: ...
    # run: RMSNorm(24)        gives what is called with x
    # reference: rms(x, 1e-5) what comes out, in fp64; None where no formula is short enough
    # shows: values           the probes that the broken one fails and the repaired one passes
    # input: 2 5 24           the shape of x, if it is another one

The file of the same name in `repaired` is the repaired one. `out_of_scope.jsonl` says why a report is not here, and
`missed.json` which ones are not found, and why.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPORTED: Final = Path(__file__).parent
_FIELD: Final = re.compile(r"# (report|codes|also|why|run|reference|shows|input): (.+)\n")
SHAPE: Final = "2 5 24"


@dataclass(frozen=True, slots=True)
class Report:
    """A file, and what is known of it."""

    name: str
    text: str
    repaired: str
    fields: dict[str, str]

    @property
    def sentence(self) -> str:
        return f"{self.fields['report']}: {self.fields['why']}"

    @property
    def asked(self) -> tuple[frozenset[str], ...]:
        """One of each must be found."""
        words = self.fields["codes"].split()
        return tuple(frozenset(word.split("|")) for word in words if word != "none")

    @property
    def codes(self) -> frozenset[str]:
        return frozenset().union(*self.asked)

    @property
    def also(self) -> frozenset[str]:
        return frozenset(self.fields.get("also", "").split())

    def is_found(self, codes: frozenset[str]) -> bool:
        return bool(self.asked) and all(either & codes for either in self.asked)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(int, self.fields.get("input", SHAPE).split()))

    @property
    def probes(self) -> tuple[str, ...]:
        return tuple(self.fields.get("shows", "").split())


def _fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines(keepends=True):
        field = _FIELD.fullmatch(line)
        if field is None:
            return found
        found[field[1]] = field[2]
    return found


def _read(path: Path) -> Report:
    text = path.read_text(encoding="utf-8")
    repaired = REPORTED / "repaired" / path.name
    return Report(path.stem, text, repaired.read_text(encoding="utf-8") if repaired.exists() else "", _fields(text))


def _all(folder: str) -> tuple[Report, ...]:
    return tuple(_read(path) for path in sorted((REPORTED / folder).glob("*.py")))


BROKEN: Final = _all("broken")
SOUND: Final = _all("sound")
MISSED: Final[dict[str, str]] = json.loads((REPORTED / "missed.json").read_text(encoding="utf-8"))
OUT_OF_SCOPE: Final = tuple(map(json.loads, (REPORTED / "out_of_scope.jsonl").read_text(encoding="utf-8").splitlines()))
