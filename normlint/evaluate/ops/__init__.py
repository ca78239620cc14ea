"""The table of torch operations: each spelling is normalised here, once."""

from normlint.evaluate.ops import casts, fused, patterns, powers, reductions, shapes, tensors
from normlint.evaluate.ops.table import OPS, Bound, Given, Op, bind, op_name

__all__ = [
    "OPS",
    "Bound",
    "Given",
    "Op",
    "bind",
    "casts",
    "fused",
    "op_name",
    "patterns",
    "powers",
    "reductions",
    "shapes",
    "tensors",
]
