"""Define the interface through which probes build and run a norm: a class of a file, a function or a live module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from normlint.verify.job import Meaning


class CannotBuildError(Exception):
    """The norm can't be built or called; the message follows "needs"."""


@dataclass(slots=True)
class Made:
    """A norm built for a number of features, a device and a dtype.

    `run`: the norm as a function of a tensor with the features last; it handles other axes and layouts itself. `gain`,
    `shift`: the module's own tensors (leaves that may be filled and differentiated), None for none; the effective gain
    is `offset + gain`. `eps`: the one it was given, None where none is known. `trained`: the gain must get a gradient;
    in a function it need not, as with `weight.data` where nothing is trained.
    """

    run: Callable[[Tensor], Tensor]
    gain: Tensor | None
    shift: Tensor | None
    eps: float | None
    module: nn.Module | None
    offset: float = 0.0
    initial_dtype: torch.dtype | None = None  # the gain's, as the constructor makes it
    trained: bool = True


class Subject(Protocol):
    """A norm that can be built in any size, dtype and place."""

    meaning: Meaning
    sizes: tuple[int, ...] | None  # the only numbers of features there are; None: any
    ranks: tuple[int, ...]  # numbers of axes the (features-last) input may have
    takes_eps: bool  # an eps can be passed

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """Return a new norm as its constructor leaves it, then cast and moved; CannotBuildError if that fails."""

    def doubt(self, *, values: bool) -> str:
        """Return what must be known before its exception, shape or `values` count against it, "" for nothing."""
