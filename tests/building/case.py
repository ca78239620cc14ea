"""One text that defines a norm, and the parts such texts are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from normlint.verify.job import Meaning

HEAD = """from __future__ import annotations
import math
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

class Core(nn.Module):
    def __init__(self, *shape, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))
        self.eps = eps

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
"""
FORWARD = "    def forward(self, x):\n        return self._norm(x) * self.weight\n"


def rms(gain: str = "weight", **more: Any) -> Meaning:
    return Meaning("rms", gain=gain, **more)


def layer(gain: str = "weight", shift: str = "bias", **more: Any) -> Meaning:
    return Meaning("layer", gain=gain, shift=shift, **more)


@dataclass(frozen=True)
class Case:
    text: str
    meaning: Meaning
    eps: float | None = 1e-6
    gain: bool = True
    takes_eps: bool = False
    ranks: tuple[int, ...] = (3, 2, 4, 1)


def cls(parameters: str, shape: str, more: str = "", forward: str = FORWARD) -> str:
    """A class Norm with a constructor."""
    return (
        f"class Norm(Core):\n    def __init__(self{parameters}):\n        super().__init__({shape})\n"
        + "".join(f"        {line}\n" for line in more.split("\n") if line)
        + forward
    )


CORE = "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(dim)\n"
SQUARES = "x.pow(2).mean(1, keepdim=True)"
