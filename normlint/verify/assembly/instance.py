"""Build a norm from its class or function, and find what to call and its gain, shift and eps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from normlint.evaluate.concrete import Unsupported
from normlint.verify.assembly.construct import USUAL_EPS, Construction, Size, number
from normlint.verify.job import Job, Meaning
from normlint.verify.names import EPS_ATTRIBUTES, is_eps
from normlint.verify.subject import CannotBuildError


@dataclass(frozen=True, slots=True)
class Live:
    """A norm that can be called, with its own tensors.

    `eps`: the one it was given or has, None if unknown. `takes_eps`: its constructor or function takes an eps.
    """

    target: Callable[..., Any]
    gain: Tensor | None = None
    shift: Tensor | None = None
    eps: float | None = None
    takes_eps: bool = False
    module: nn.Module | None = None
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    initial_dtype: torch.dtype | None = None  # the gain's, before it is cast
    guessed: str = ""  # a constructor parameter that nothing says the meaning of


def of_class(job: Job, construction: Construction, size: Size, dtype: torch.dtype, device: str) -> Live:
    """Return an instance of the class with its parameters in this dtype and on this device."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # `torch.manual_seed` goes through every kind of device
        instance, eps, takes_eps = construction.build(size)
    module = instance if isinstance(instance, nn.Module) else None
    gain = _tensor(instance, job.meaning.gain)
    initial_dtype = None if gain is None else gain.dtype
    if module is not None:
        module.to(device=device, dtype=dtype)
        _disable_dropout(module)
    target = _target(instance, job.method)
    named, passed = _eps_of(target)
    return Live(
        target=target,
        gain=_tensor(instance, job.meaning.gain),
        shift=_tensor(instance, job.meaning.shift),
        eps=_given(passed if eps is None else eps, instance, job.meaning, named=named or bool(construction.eps_name)),
        takes_eps=takes_eps,
        module=module,
        dtype=dtype,
        device=device,
        initial_dtype=initial_dtype,
        guessed=construction.guessed,
    )


def _disable_dropout(module: nn.Module) -> None:
    """Set dropout rates to 0: dropout beside a norm is no part of it, and random outputs can't be compared."""
    for one in module.modules():
        if isinstance(one, _DropoutNd):
            one.p = 0.0


def of_function(job: Job, function: Callable[..., Any]) -> Live:
    """Return the function as a norm, with the eps of its parameter's default or of the text."""
    named, eps = _eps_of(function)
    return Live(function, eps=_given(eps, None, job.meaning, named=named), takes_eps=named)


def as_function(cls: type, method: str) -> Callable[..., Any] | None:
    """Return what can be called without an instance: an autograd.Function, or a static or class method."""
    if issubclass(cls, torch.autograd.Function):
        return _autograd(cls)
    kept = inspect.getattr_static(cls, method, None)
    return getattr(cls, method) if isinstance(kept, (staticmethod, classmethod)) else None


def _autograd(cls: Any) -> Callable[..., Any]:
    """Return an autograd.Function as a function; without a backward in the class, autograd differentiates forward."""
    signature = inspect.signature(cls.forward)
    has_context = "setup_context" not in cls.__dict__
    outer = signature.replace(parameters=list(signature.parameters.values())[1 if has_context else 0 :])

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = outer.bind(*args, **kwargs)
        bound.apply_defaults()
        if "backward" in cls.__dict__:
            return cls.apply(*bound.args)
        return cls.forward(_context(), *bound.args) if has_context else cls.forward(*bound.args)

    call.__signature__ = outer  # type: ignore[attr-defined]
    return call


def _context() -> Any:
    def nothing(*_args: object, **_kwargs: object) -> None:
        return

    names = "save_for_backward mark_dirty mark_non_differentiable set_materialize_grads save_for_forward"
    return SimpleNamespace(**dict.fromkeys(names.split(), nothing), needs_input_grad=(True,) * 9)


def _target(instance: Any, method: str) -> Callable[..., Any]:
    """Return the method or, for a module's forward, a call of the module, which runs its hooks."""
    bound: Callable[..., Any] = getattr(instance, method)
    if not isinstance(instance, nn.Module) or method != "forward":
        return bound

    def call(*args: Any, **kwargs: Any) -> Any:
        return instance(*args, **kwargs)

    call.__signature__ = inspect.signature(bound)  # type: ignore[attr-defined]
    return call


def _eps_of(function: Callable[..., Any]) -> tuple[bool, float | None]:
    """Return whether there is a parameter for eps, and its value unless passed."""
    found = [p for p in inspect.signature(function).parameters.values() if is_eps(p.name)]
    default = next((p.default for p in found), None)
    return bool(found), USUAL_EPS if default is inspect.Parameter.empty else _number(default)


def _tensor(instance: Any, path: str) -> Tensor | None:
    """Return the tensor at a dotted path, None where there is none."""
    found = instance if path else None
    for step in path.split("."):
        found = getattr(found, step, None)
    return found if isinstance(found, Tensor) else None


def _given(eps: float | None, instance: Any, meaning: Meaning, *, named: bool) -> float | None:
    """Return the eps, by the surest source: passed or default, a module's attribute, the text, the dtype's own."""
    if eps is not None:
        return eps
    modules = instance.modules() if isinstance(instance, nn.Module) else [instance]
    kept = (_number(getattr(one, name, None)) for one in modules for name in EPS_ATTRIBUTES)
    found = next((value for value in kept if value is not None), meaning.eps)
    return torch.finfo(torch.float32).eps if found is None and named and meaning.kind == "rms" else found


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 and not value.is_meta else None
    return number(value)


def missing(error: BaseException) -> str:
    """Return the name or feature that the error says is missing, "" for any other error."""
    if isinstance(error, Unsupported):
        return str(error)
    if isinstance(error, ImportError | NameError) and not isinstance(error, UnboundLocalError):
        return error.name or str(error)
    if isinstance(error, AttributeError) and isinstance(error.obj, nn.Module):
        return f"the attribute {error.name}"
    return ""


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its message."""
    text = str(error).strip().split("\n", 1)[0]
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


def resolved(namespace: dict[str, Any], entry: str) -> Any:
    """Return the class or function of a dotted name; CannotBuildError where there is none."""
    head, *rest = entry.split(".")
    if head not in namespace:
        raise CannotBuildError(head)
    found = namespace[head]
    for name in rest:
        found = getattr(found, name, None)
    if not callable(found):
        raise CannotBuildError(entry)
    return found
