"""Dtypes as far as a text tells them: INPUT and PARAM may be a half, WEAK is a Python number."""

from __future__ import annotations

from enum import Enum


class DType(Enum):
    INPUT = "input"  # whatever the caller passes: fp16, bf16 or fp32
    PARAM = "param"  # the dtype of the module's parameters
    FP16 = "fp16"
    BF16 = "bf16"
    FP32 = "fp32"
    FP64 = "fp64"
    INT = "int"
    WEAK = "weak"
    UNKNOWN = "unknown"

    @property
    def wide(self) -> bool:
        """Certainly fp32 or wider."""
        return self in (DType.FP32, DType.FP64)


HALVES = frozenset({"fp16", "bf16"})
FLOATS = HALVES | {"fp32"}

NAMED: dict[str, DType] = {
    "float": DType.FP32,
    "float32": DType.FP32,
    "double": DType.FP64,
    "float64": DType.FP64,
    "half": DType.FP16,
    "float16": DType.FP16,
    "bfloat16": DType.BF16,
    "int": DType.INT,
    "int32": DType.INT,
    "long": DType.INT,
    "int64": DType.INT,
    "int8": DType.INT,
    "uint8": DType.INT,
    "bool": DType.INT,
    "FloatTensor": DType.FP32,
    "HalfTensor": DType.FP16,
}

_WEIGHT = [DType.WEAK, DType.INT, DType.UNKNOWN, DType.FP16, DType.BF16, DType.PARAM, DType.INPUT]


def promote(left: DType, right: DType) -> DType:
    """The dtype of an operation on two tensors, as torch promotes (numbers are weak, fp32 wins over halves)."""
    if left is right:
        return left
    for wide in (DType.FP64, DType.FP32):
        if wide in (left, right):
            return wide
    if {left, right} == {DType.FP16, DType.BF16}:
        return DType.FP32
    return max(left, right, key=_WEIGHT.index)
