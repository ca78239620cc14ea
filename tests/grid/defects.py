"""All defects, each with the one code it must be reported by; and those on whose code opinions may differ."""

from __future__ import annotations

from typing import Final

from tests.grid.defect import Defect, reductions
from tests.grid.defects_early import PRECISION, REDUCTION
from tests.grid.defects_late import EPSILON, FORMULA, MODULE

DEFECTS: Final = (*REDUCTION, *PRECISION, *EPSILON, *FORMULA, *MODULE)

# eps outside the root by its place, yet with torch's own norm and std no gradient is NaN: not part of the grid.
DOUBTFUL: Final = (
    Defect(
        "NRM302",
        "eps added to the norm or deviation",
        {"join": ("deviation + eps",)},
        {"reduction": reductions("norm", "std"), "root": ("over the norm", "1 / norm")},
    ),
)
