"""The table of torch operations: each spelling is normalised here, once."""

from normlint.evaluate.ops import casts, fused, patterns, powers, reductions, shapes, tensors
from normlint.evaluate.ops.table import OPS, Arguments, Bound, Given, bind, key_of, method_key, op_name, row

__all__ = [
    "OPS",
    "Arguments",
    "Bound",
    "Given",
    "bind",
    "casts",
    "fused",
    "key_of",
    "method_key",
    "op_name",
    "patterns",
    "powers",
    "reductions",
    "row",
    "shapes",
    "tensors",
]
