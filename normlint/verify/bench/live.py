"""Make subjects of a caller's live modules and functions, which stay unchanged."""

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
    *("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_backward_hooks"),
    *("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_backward_pre_hooks"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """How to call a live norm with an input whose features lie last.

    `axis`: the axis on which the norm has its features. `inner`: the lengths of the axes that they are spread over, ()
    for one axis. `inputs`: returns all arguments, given the tensor to normalise: a tuple, a dict of keywords, or a
    single argument. `output`: the index of the normalised tensor among several results.
    """

    axis: int = -1
    inner: tuple[int, ...] = ()
    inputs: Callable[[Tensor], Any] | None = None
    output: int = 0

    def __call__(self, target: Callable[..., Any], x: Tensor) -> Any:
        """Return the output, with the features last again where it has as many elements as `x`."""
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


@dataclass(slots=True, kw_only=True)
class _Live:
    """A live norm, for whose exceptions and values the verifier is never to blame."""

    meaning: Meaning
    sizes: tuple[int, ...] | None = None
    ranks: tuple[int, ...] = (1, 2, 3, 4)
    takes_eps: bool = False
    call: Call = Call()

    def doubt(self, *, values: bool) -> str:  # noqa: ARG002
        """Return "": nothing was guessed from a text, so every failure counts."""
        return ""


@dataclass(slots=True)
class LiveModule(_Live):
    """A live module; `make` copies it without its hooks."""

    module: nn.Module
    compiled: Callable[[nn.Module], Any] | None = None
    _kept: dict[torch.dtype, nn.Module] = field(default_factory=dict)

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """Return a copy in that dtype and place; a compiled module is copied once a dtype to save compilations."""
        if eps is not None or (self.sizes and d not in self.sizes):
            raise CannotBuildError(f"a live module of {d} features and eps {eps}")
        module = self._kept.get(dtype) or duplicate(self.module).to(device=device, dtype=dtype).train()
        called = module
        if self.compiled is not None:
            self._kept[dtype] = module
            called = self.compiled(module)
        meant = self.meaning
        gain, shift = attribute(module, meant.gain), attribute(module, meant.shift)
        kept = module if self.compiled is None else None
        return Made(partial(self.call, called), gain, shift, meant.eps, kept, meant.offset)


@dataclass(slots=True)
class LiveFunction(_Live):
    """A live function, which is passed a gain, a shift, a shape and an eps where it has parameters for them."""

    function: Callable[..., Any]

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """Return the function bound to a new gain and shift of `d` features."""
        names = parameters(self.function)
        meant = self.meaning
        gain = torch.full((d,), 1 - meant.offset, dtype=dtype, device=device) if meant.gain else None
        shift = torch.zeros(d, dtype=dtype, device=device) if meant.shift else None
        given: dict[str, Any] = {n: (d,) for n in SHAPES if n in names}
        given |= {n: t for n, t in ((meant.gain, gain), (meant.shift, shift)) if t is not None}
        given |= {n: eps for n in EPS if n in names and eps is not None}
        run = partial(self.call, partial(self.function, **given))
        return Made(run, gain, shift, meant.eps if eps is None else eps, None, meant.offset)


Live = LiveModule | LiveFunction


def duplicate(module: nn.Module) -> nn.Module:
    """Return a deep copy of the module without hooks and gradients."""
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
    """Return the module compiled with the settings of `like`."""
    context = getattr(like, "dynamo_ctx", None)
    return torch.compile(module) if context is None else type(like)(module, context)


def attribute(module: nn.Module, path: str) -> Tensor | None:
    """Return the tensor at a dotted path, None for an empty path."""
    found: Tensor | None = attrgetter(path)(module) if path else None
    return found


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names and defaults of a function's parameters, {} where it has no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
