"""Subjects made of live objects: a module or function of the caller's, which stays as it is."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Final

import torch
from torch import Tensor, nn

from normlint.verify.job import Meaning
from normlint.verify.subject import CannotBuildError, Made

EPS: Final = ("eps", "epsilon", "variance_epsilon", "norm_eps", "layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps")
SHAPES: Final = ("normalized_shape", "shape")
HOOKS: Final = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
)


@dataclass(frozen=True, slots=True)
class Call:
    """How a live norm is called with an input whose features lie last.

    `axis`: where the norm has its features. `inner`: the lengths of the axes that they are spread over, () for one.
    `inputs`: makes all arguments of the tensor to normalise: a tuple, a dict of keywords, or one argument. `output`:
    which of several results is meant, the norm's first.
    """

    axis: int = -1
    inner: tuple[int, ...] = ()
    inputs: Callable[[Tensor], Any] | None = None
    output: int = 0

    def __call__(self, target: Callable[..., Any], x: Tensor) -> Any:
        """The output, features last again where it has as many elements."""
        there = x if self.axis == -1 else x.movedim(-1, self.axis)
        there = there.reshape(*x.shape[:-1], *self.inner) if len(self.inner) > 1 else there
        y = _applied(target, there if self.inputs is None else self.inputs(there))
        outputs = y if isinstance(y, (tuple, list)) else (y,)
        y = outputs[self.output] if len(outputs) > self.output else None
        if not isinstance(y, Tensor) or y.numel() != x.numel():
            return y
        return y.reshape(x.shape) if len(self.inner) > 1 else y.movedim(self.axis, -1)


def _applied(target: Callable[..., Any], arguments: Any) -> Any:
    if isinstance(arguments, dict):
        return target(**arguments)
    return target(*arguments) if isinstance(arguments, (tuple, list)) else target(arguments)


@dataclass(slots=True)
class Live:
    """What the caller made and says how to call: what it raises is its own doing."""

    def doubt(self, *, values: bool) -> str:  # noqa: ARG002
        """No doubt: the caller passed what is compared."""
        return ""


@dataclass(slots=True)
class LiveModule(Live):
    """A module: every `make` is a copy of it, without its hooks."""

    module: nn.Module
    meaning: Meaning
    sizes: tuple[int, ...] | None = None
    ranks: tuple[int, ...] = (1, 2, 3, 4)
    takes_eps: bool = False
    call: Call = Call()
    compiled: Callable[[nn.Module], Any] | None = None
    _kept: dict[torch.dtype, nn.Module] = field(default_factory=dict)

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """A copy in that dtype and place; of a compiled module one a dtype, since each costs a compilation."""
        if eps is not None or (self.sizes and d not in self.sizes):
            raise CannotBuildError(f"a live module of {d} features and eps {eps}")
        module = self._kept.get(dtype) or duplicate(self.module).to(device=device, dtype=dtype).train()
        called = module
        if self.compiled is not None:
            self._kept[dtype] = module
            called = self.compiled(module)
        meant = self.meaning
        return Made(
            partial(self.call, called),
            attribute(module, meant.gain),
            attribute(module, meant.shift),
            meant.eps,
            module if self.compiled is None else None,
            meant.offset,
        )


@dataclass(slots=True)
class LiveFunction(Live):
    """A function of the input, and of a gain, a shift, a shape and an eps where it has parameters of that name."""

    function: Callable[..., Any]
    meaning: Meaning
    sizes: tuple[int, ...] | None = None
    ranks: tuple[int, ...] = (1, 2, 3, 4)
    takes_eps: bool = False
    call: Call = Call()

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """The function with tensors of its own."""
        names = parameters(self.function)
        meant = self.meaning
        gain = torch.full((d,), 1 - meant.offset, dtype=dtype, device=device) if meant.gain else None
        shift = torch.zeros(d, dtype=dtype, device=device) if meant.shift else None
        given: dict[str, Any] = {n: (d,) for n in SHAPES if n in names}
        given |= {n: t for n, t in ((meant.gain, gain), (meant.shift, shift)) if t is not None}
        given |= {n: eps for n in EPS if n in names and eps is not None}
        return Made(
            partial(self.call, partial(self.function, **given)),
            gain,
            shift,
            meant.eps if eps is None else eps,
            None,
            meant.offset,
        )


def duplicate(module: nn.Module) -> nn.Module:
    """A copy that shares nothing with the original and calls none of its hooks."""
    memo: dict[int, Any] = {}
    for part in module.modules():
        for value in vars(part).values():
            if isinstance(value, Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()  # autograd's results refuse to be copied
    made = copy.deepcopy(module, memo)
    for part in made.modules():
        for name in HOOKS:
            getattr(part, name, {}).clear()
    for p in made.parameters():
        p.grad = None
    return made


def compiled_like(like: Any, module: nn.Module) -> Any:
    """The module compiled as another one was."""
    context = getattr(like, "dynamo_ctx", None)
    return torch.compile(module) if context is None else type(like)(module, context)


def attribute(module: nn.Module, path: str) -> Tensor | None:
    """The tensor under a dotted path, None for no path."""
    found: Tensor | None = attrgetter(path)(module) if path else None
    return found


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Names of parameters and their defaults."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
