"""A norm that can be run: what the probes need of a class from a file, a function, or a live module."""

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
    """One norm, built for `d` features, on a device and in a dtype.

    `run` takes and gives the tensor with the features last; `axis` and other layouts are its business. `gain` and
    `shift` are the module's own tensors (leaves that may be filled and differentiated), None for none: the effective
    gain is `offset + gain`. `eps` is the one it was given, None where none is known. `trained`: the gain is to get a
    gradient; a function may leave that out, as `weight.data` does where nothing is trained.
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
    """Makes the norm in any size, dtype and place. Each call gives a fresh one."""

    meaning: Meaning
    sizes: tuple[int, ...] | None  # the only numbers of features there are; None: any
    ranks: tuple[int, ...]  # numbers of axes the (features-last) input may have
    takes_eps: bool  # an eps can be passed

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """A new norm as its constructor leaves it, then cast and moved; CannotBuildError where that isn't possible."""
        ...

    def doubt(self, *, values: bool) -> str:
        """What it would need if what it raises, or its shape, or its `values`, are our own doing; "" where not."""
        ...
