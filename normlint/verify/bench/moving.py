"""Check with the meta device that a norm can be moved to another device as a whole."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from normlint.verify.bench.bench import Bench, Outcome, RaisedError
from normlint.verify.bench.properties import D, holds, plain
from normlint.verify.subject import Made

FACTORIES: Final = tuple("tensor as_tensor zeros ones full empty arange eye linspace rand randn".split())


def movable(bench: Bench) -> Iterator[Outcome]:
    """Check that the forward has all tensors on one device after `.to("meta")`; the norm can't be used afterwards."""
    made = bench.made(bench.size(D))
    if made.module is None:
        return
    message = _device_error(bench, made, made.module) if _uses_other_tensors(bench, made, made.module) else ""
    yield holds("moves to another device", not message, message, 76)


def _uses_other_tensors(bench: Bench, made: Made, module: nn.Module) -> bool:
    """Return whether the norm uses tensors besides parameters and buffers; if not, the costly check is needless."""
    own = (made.gain, made.shift)
    held = (v for part in module.modules() for v in vars(part).values() if isinstance(v, Tensor) and v.ndim)
    if any(all(v is not one for one in own) for v in held):
        return True
    x = plain(bench, 9)
    with torch.no_grad(), _Factories() as seen:
        bench.run(made, x)
    return bool(seen.made)


class _Factories(TorchFunctionMode):
    """Record calls that make a tensor with axes without naming its device; scalar tensors combine with any device."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function and record it if it makes such a tensor."""
        y = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in FACTORIES and isinstance(y, Tensor) and y.ndim and not (kwargs or {}).get("device"):
            self.made.append(name)
        return y


def _device_error(bench: Bench, made: Made, module: nn.Module) -> str:
    x = plain(bench, 9).to("meta")
    module.to("meta")
    try:
        with torch.no_grad(), _no_compiler():
            bench.run(made, x)
    except RaisedError as error:
        # other errors come from reading values, which a meta tensor doesn't have
        return f'after .to("meta") it {error}' if "device" in str(error) else ""
    return ""


@contextlib.contextmanager
def _no_compiler() -> Iterator[None]:
    """Keep operations on the meta device from importing torch's compiler, only to exclude themselves from it.

    The import takes seconds, replaces functions of torch, and writes files, which a norm's process may not.
    """
    if "torch._dynamo" in sys.modules:
        yield
        return
    asked: list[Any] = []
    stand_in = ModuleType("torch._dynamo")

    def disable(function: Callable[..., Any], *_args: Any, **_kwargs: Any) -> Callable[..., Any]:
        asked.append(function)
        return function

    vars(stand_in)["disable"] = disable
    sys.modules["torch._dynamo"] = vars(torch)["_dynamo"] = stand_in
    try:
        yield
    finally:
        del sys.modules["torch._dynamo"], vars(torch)["_dynamo"]
        for function in asked:
            vars(function).pop("__dynamo_disable", None)  # undo what torch stored on the function
