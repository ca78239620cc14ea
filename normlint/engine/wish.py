"""What is to be fixed, and what became of it: plain data, cheap to send between processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from normlint.engine.linter import Demand
from normlint.engine.report import Diagnostic, Report
from normlint.text.frozen import dataclass
from normlint.text.source import Source, Unit

if TYPE_CHECKING:
    from normlint.engine.baseline import Acceptance
    from normlint.norm.norm import Norm

Key = tuple[int, str]  # the unit, and the name of a norm in it


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be fixed: all that the demand chooses, less what a baseline accepts and the norms to be spared.

    `again`: makes of a norm that a fix has made another thing, in its new and old units, what is needed to run it.
    """

    demand: Demand
    accepted: Acceptance | None = None
    spared: frozenset[Key] = frozenset()
    again: Callable[[Source, Unit, Norm, Unit], Any] | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file before and after. `report` is of the file after, `unfixed` of the file before, both less the accepted.

    `fixed`: the findings that were mended, as they were when they were; `touched`: the norms they were found in,
    each with their codes.
    """

    before: Source
    after: Source
    unfixed: Report
    report: Report
    fixed: tuple[Diagnostic, ...] = ()
    touched: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    rewritten: tuple[tuple[Key, Any], ...] = ()  # touched norms that reading finds no more, ready to be run

    @property
    def changed(self) -> bool:
        """Is there something to write?"""
        return self.before.text != self.after.text
