"""What is known of torch's operations: each spelling is normalised here, once."""

# Each registers its operations; `classes` comes last, it fills what they leave.
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
