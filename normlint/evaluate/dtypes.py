"""Symbolic dtypes and their promotion; INPUT and PARAM may be fp16 or bf16, WEAK is that of a Python number."""

from __future__ import annotations

from enum import Enum


class DType(Enum):
    INPUT = "input"  # the dtype of the caller's tensors: fp16, bf16 or fp32
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
        """Whether the dtype is certainly fp32 or wider."""
        return self in (DType.FP32, DType.FP64)


HALVES = frozenset({"fp16", "bf16"})
FLOATS = HALVES | {"fp32"}

_SPELLED = {
    DType.FP64: "double float64",
    DType.FP32: "float float32 FloatTensor",
    DType.FP16: "half float16 HalfTensor",
    DType.BF16: "bfloat16",
    DType.INT: "int int32 long int64 int8 uint8 bool short int16",
}
INTEGRAL_TENSORS = tuple(f"{kind}Tensor" for kind in ("Bool", "Byte", "Char", "Short", "Int", "Long"))
NAMED = {word: dtype for dtype, words in _SPELLED.items() for word in words.split()} | dict.fromkeys(
    INTEGRAL_TENSORS, DType.INT
)

_WEIGHT = [DType.WEAK, DType.INT, DType.UNKNOWN, DType.FP16, DType.BF16, DType.PARAM, DType.INPUT]


def promote(left: DType, right: DType) -> DType:
    """Return the dtype of an operation on two tensors, as torch promotes (WEAK gives way, fp32 wins over fp16)."""
    if left is right:
        return left
    for wide in (DType.FP64, DType.FP32):
        if wide in (left, right):
            return wide
    if {left, right} == {DType.FP16, DType.BF16}:
        return DType.FP32
    return max(left, right, key=_WEIGHT.index)
