"""Whether a norm has changed what its verdict relies on: torch, Python's own functions, the verifier."""

from __future__ import annotations

import builtins
import importlib
import math
import sys
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Final

import torch

_MODULES: Final = (
    *("torch", "torch.functional", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.modules.module"),
    *("torch.nn.modules.normalization", "torch.nn.parameter", "torch.linalg", "torch.autograd", "torch.random"),
)
_CLASSES: Final = (
    *(torch.Tensor, torch.nn.Module, torch.nn.Parameter, torch.nn.RMSNorm, torch.nn.LayerNorm, torch.Generator),
    *(torch.no_grad, torch.enable_grad, torch.Size),
)
_MINE: Final = "normlint.verify."
_HOOKS: Final = (
    *("_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_pre_hooks", "_global_forward_hooks"),
    *("_global_buffer_registration_hooks", "_global_parameter_registration_hooks"),
    "_global_module_registration_hooks",
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The watched names by owner, with what they stood for, and torch's global settings."""

    owners: tuple[tuple[str, Any, dict[str, Any]], ...]
    code: tuple[tuple[str, FunctionType, tuple[Any, ...]], ...]
    settings: dict[str, Any]

    def changed(self) -> str:
        """What is no longer as it was, in words; "" for nothing."""
        now = _settings()
        setting = next((name for name, value in self.settings.items() if now[name] != value), "")
        if setting:
            return f"it changes {setting}"
        for owner, held, before in self.owners:
            name = _replaced(held, before)
            if name:
                return f"it replaces {owner}.{name}"
        for name, function, before_code in self.code:
            if _code(function) != before_code:
                return f"it replaces {name}"
        return ""


def snapshot() -> Snapshot:
    """Everything as it is now."""
    modules = [(name, importlib.import_module(name)) for name in _MODULES]
    modules += [("builtins", builtins), ("math", math)]
    modules += [(name, module) for name, module in sorted(sys.modules.items()) if name.startswith(_MINE)]
    held: list[tuple[str, Any]] = [*modules, *((f"torch.{one.__name__}", one) for one in _CLASSES)]
    owners = tuple((name, one, dict(vars(one))) for name, one in held)
    functions = {
        f"{owner}.{name}": value
        for owner, _, names in owners
        for name, value in names.items()
        if isinstance(value, FunctionType)
    }
    code = tuple((name, function, _code(function)) for name, function in functions.items())
    return Snapshot(owners, code, _settings())


def _replaced(held: Any, before: dict[str, Any]) -> str:
    """The first name that stands for something else than before; a module that was imported meanwhile is no harm."""
    now = vars(held)
    for name, value in before.items():
        if now.get(name, before) is not value:
            return name
    if len(now) == len(before):
        return ""
    return next((name for name in now if name not in before and not isinstance(now[name], ModuleType)), "")


def _code(function: FunctionType) -> tuple[Any, ...]:
    return (function.__code__, function.__defaults__, function.__kwdefaults__)


def _settings() -> dict[str, Any]:
    module = sys.modules["torch.nn.modules.module"]
    return {
        "the default dtype": torch.get_default_dtype(),
        "the default device": torch.get_default_device(),
        "the number of threads": torch.get_num_threads(),
        "the gradient mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "the autocast mode": (torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the modes of torch functions": torch._C._len_torch_function_stack(),  # noqa: SLF001
        "the modes of torch operations": torch._C._len_torch_dispatch_stack(),  # noqa: SLF001
        "the hooks of all modules": tuple(len(getattr(module, name, ())) for name in _HOOKS),
        "the tracing of calls": (sys.gettrace(), sys.getprofile()),
    }
