"""A cheap literal test: may a text hold a norm at all?

It may say yes wrongly, and then costs time; it must never say no wrongly. Every norm has a reduction by name,
and a root, a power, a division or a call that holds one.
"""

from __future__ import annotations

import re
from typing import Final

_REDUCTION: Final = re.compile(r"mean|sum|var|std|norm|reduce|average|matmul|einops|\bdot|\bb?mm\b| @ ")
_ROOT: Final = re.compile(r"sqrt|pow|\*\*|/|norm|std|square|reciprocal|exp|div")


def may_hold_norm(text: str) -> bool:
    """Is there a mark of a reduction, and one of a root or a division?"""
    return _REDUCTION.search(text) is not None and _ROOT.search(text) is not None
