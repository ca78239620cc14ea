"""What the builders of hostile texts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

MOST: Final = 100_000  # bytes
Builder: TypeAlias = "Callable[[int], str | bytes]"
Texts: TypeAlias = "dict[str, tuple[Builder, *tuple[int, ...]]]"

HEAD: Final = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
NORM: Final = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)"
WRONG: Final = "x * torch.rsqrt(x.pow(2).mean() + 1e-6)"


def function(lines: list[str], *, params: str = "x", name: str = "rms_norm") -> str:
    """A function of these lines, in a module that knows torch."""
    return HEAD + f"def {name}({params}):\n" + "".join(f"    {line}\n" for line in lines)


def normed(lines: list[str], *, params: str = "x", name: str = "rms_norm") -> str:
    """The same, which gives back a norm after them."""
    return function([*lines, f"return {NORM}"], params=params, name=name)


def module(init: list[str], forward: list[str], *, given: str = "dim") -> str:
    """A class of torch's, with these lines in its two methods."""
    lines = ["super().__init__()", *init]
    made = "".join(f"        {line}\n" for line in lines)
    ran = "".join(f"        {line}\n" for line in forward)
    return (
        f"{HEAD}class RMSNorm(nn.Module):\n    def __init__(self, {given}):\n{made}\n    def forward(self, x):\n{ran}"
    )
