"""Evaluate torch's operations; all spellings of an operation give the same value."""

# Each module registers its operations in `OPS`; `classes` comes last and adds those that no other registered.
from normlint.evaluate.ops import (  # noqa: F401
    casts,
    contractions,
    fused,
    lengths,
    patterns,
    pieces,
    powers,
    reductions,
    shapes,
    tensors,
)

from normlint.evaluate.ops import classes  # noqa: F401  # isort: skip
from normlint.evaluate.ops.table import OPS as OPS
