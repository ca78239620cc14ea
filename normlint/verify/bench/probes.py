"""Define the inputs that a norm is tested with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import torch
from torch import Tensor

from normlint.text import verdict

MOST_ELEMENTS: Final = 1 << 18
ROW_SPREAD: Final = 2.0  # rows are scaled by 2^U(−2, 2)
PREFERRED_RANKS: Final = (3, 2, 4, 5, 1)
SHORT: Final = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}


@dataclass(frozen=True, slots=True)
class Case:
    """A test input.

    `cube`: every axis is as long as the features. `exact`: useless with another number of axes. `extreme`: at an end of
    the dtype's range, where failures of a library's norm, std or normalize aren't counted as mistakes.
    """

    name: str
    words: str
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    scale: float = 1.0
    offset: float = 0.0
    twist: str = ""  # transposed, strided, expanded, zero row, zeros
    cube: bool = False
    exact: bool = False
    extreme: bool = False

    @property
    def label(self) -> str:
        """Return a phrase for messages, such as "fp16 input ×1e4"."""
        return f"{SHORT[self.dtype]} {self.words}"


PLAIN: Final = Case(verdict.PLAIN, "input", (3, 5, 16))
FP32: Final = (
    Case("small", "input ×1e-2", (3, 5, 16), scale=1e-2),
    Case("one row", "input of one axis", (16,), exact=True),
    Case("one token", "input of one token a sample", (3, 1, 16), exact=True),
    Case("one sample", "input of one sample", (1, 5, 16), exact=True),
    Case("square", "input of shape (D, D)", (8, 8), cube=True, exact=True),
    Case("cube", "input of shape (D, D, D)", (8, 8, 8), cube=True),
    Case("four axes", "input of four axes", (2, 3, 4, 16), exact=True),
    Case("transposed", "transposed view", (3, 5, 16), twist="transposed"),
    Case("zero row", "row of zeros", (3, 5, 16), twist="zero row"),
    Case("offset", "input with a mean of 1e3", (3, 5, 64), offset=1e3),
    Case("large", "input ×1e4", (3, 5, 16), scale=1e4),
    Case("empty", "empty input", (0, 16)),
)
LAYOUTS: Final = (  # only for live norms, which may be kernels that read memory directly
    Case("strided", "input with a stride of 2", (3, 5, 16), twist="strided"),
    Case("slice", "slice of a wider tensor", (3, 5, 16), twist="slice"),
    Case("expanded", "expanded input", (3, 5, 16), twist="expanded"),
)
CLONES_DIFFER: Final = frozenset(case.twist for case in LAYOUTS)  # cloning makes these inputs contiguous
HALVES: Final = (
    Case("large", "input ×1e4", (3, 5, 64), torch.float16, scale=1e4, extreme=True),
    Case("small", "input ×1e-3", (3, 5, 64), torch.float16, scale=1e-3, extreme=True),
    Case("zeros", "row of zeros", (3, 5, 16), torch.float16, twist="zeros", extreme=True),
    Case("plain", "input", (3, 5, 16), torch.bfloat16),
)


def nearest(d: int, sizes: Sequence[int] | None) -> int:
    """Return the number in `sizes` that is closest to `d`, or `d` itself where any is possible."""
    return d if not sizes else min(sizes, key=lambda size: abs(size - d))


def with_rank(shape: tuple[int, ...], ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the shape with a number of axes in `ranks`, with the same rows; a single row for one axis."""
    if not ranks or len(shape) in ranks:
        return shape
    rank = next((r for r in PREFERRED_RANKS if r in ranks), ranks[0])
    lead, d = shape[:-1], shape[-1]
    if rank > len(shape):
        return (*lead[:1], *(1,) * (rank - len(shape)), *lead[1:], d)
    return (*lead[: rank - 2], math.prod(lead[rank - 2 :]), d) if rank > 1 else (d,)


def adapted(
    case: Case, sizes: Sequence[int] | None, ranks: Sequence[int], only: tuple[int, ...] | None = None
) -> Case | None:
    """Return the case in a shape the norm takes, None where it would test nothing; `only`: the norm's only shape."""
    if only is not None:
        return None if case.exact or case.cube or 0 in case.shape else replace(case, shape=only)
    if case.exact and ranks and len(case.shape) not in ranks:
        return None
    d = nearest(case.shape[-1], sizes)
    shape = with_rank((*case.shape[:-1], d), ranks)
    if case.cube:
        shape = (d,) * len(shape)
    if (case.cube and math.prod(shape) > MOST_ELEMENTS) or (case.twist == "transposed" and len(shape) < 3):
        return None
    return replace(case, shape=shape)


def filled(case: Case, seed: int, device: str) -> Tensor:
    """Return a case's input, which the caller may change."""
    return _laid_out(_rows(case, seed).to(device=device, dtype=case.dtype, copy=True), case.twist)


@lru_cache(maxsize=64)
def _rows(case: Case, seed: int) -> Tensor:
    """Return rows of normal numbers at different scales, with the case's scale, offset and zeros; cached."""
    g, shape = torch.Generator().manual_seed(seed), case.shape
    x = torch.randn(shape, generator=g)
    x = x * 2 ** ((torch.rand(*shape[:-1], 1, generator=g) * 2 - 1) * ROW_SPREAD)
    if case.dtype == torch.float16 and case.scale > 1:
        x = x.clamp(-4, 4)  # it stays below 65504, also less its mean
    x = x * case.scale + case.offset
    if case.twist == "zeros":
        x = torch.zeros(shape)
    elif case.twist == "zero row":
        x.reshape(-1, shape[-1])[0] = 0
    return x


def _laid_out(x: Tensor, twist: str) -> Tensor:
    """Return the values in another memory layout; if expanded, the first entry of the first axis repeated."""
    if twist == "transposed":
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    if twist == "strided":
        return x.repeat_interleave(2, -1)[..., ::2]
    if twist == "slice":
        return torch.cat((x, x), -1)[..., : x.shape[-1]]
    return x[:1].expand(x.shape) if twist == "expanded" else x


def gains(shape: Sequence[int], g: torch.Generator) -> Tensor:
    """Return random values from ±U(0.5, 2), which show whether and how a gain is used."""
    size = torch.rand(tuple(shape), generator=g) * 1.5 + 0.5
    return size * (torch.randint(0, 2, tuple(shape), generator=g) * 2 - 1)
