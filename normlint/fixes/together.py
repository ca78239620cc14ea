"""A fix that several norms share: each has a part in it, and all parts are made together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from normlint.text.edit import overlap
from normlint.text.finding import Fix


def together(fixes: Sequence[Fix | None]) -> Fix | None:
    """One fix of all parts; None where one is missing, they differ in what they promise, or they overlap."""
    parts = [fix for fix in fixes if fix is not None]
    if len(parts) != len(fixes) or len({fix.applicability for fix in parts}) != 1:
        return None
    edits = tuple(dict.fromkeys(edit for fix in parts for edit in fix.edits))
    if any(overlap([one], [two]) for one, two in combinations(edits, 2)):
        return None
    return Fix(parts[0].message, edits, parts[0].applicability)
