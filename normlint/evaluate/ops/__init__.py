"""What is known of torch's operations: each spelling is normalised here, once."""

from normlint.evaluate.ops import casts, contractions, fused, patterns, pieces, powers, reductions, shapes, tensors

from normlint.evaluate.ops import classes  # isort: skip  (after all others: it fills what they leave)
from normlint.evaluate.ops.table import OPS, Arguments, Bound, Given, bind, key_of, method_key, op_name, row

__all__ = [
    "OPS",
    "Arguments",
    "Bound",
    "Given",
    "bind",
    "casts",
    "classes",
    "contractions",
    "fused",
    "key_of",
    "method_key",
    "op_name",
    "patterns",
    "pieces",
    "powers",
    "reductions",
    "row",
    "shapes",
    "tensors",
]
