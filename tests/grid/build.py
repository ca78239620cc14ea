"""A case's norm, brought to life: the module or function its text defines, behind one face."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tests.grid.cases import Case
from tests.grid.endings import GAINS
from tests.grid.modules import accepts_eps, bias_name, class_name, function_name, weight_name


@dataclass(slots=True)
class Built:
    """A norm that can be called, with the gain and shift it is meant to have (None: none)."""

    case: Case
    target: Any
    weight: Tensor | None
    bias: Tensor | None
    eps: float | None

    def __call__(self, x: Tensor) -> Tensor:
        """Run it."""
        if isinstance(self.target, nn.Module):
            found: Tensor = self.target(x)
            return found
        given = [one for one in (self.weight, self.bias) if one is not None]
        named = {} if self.eps is None else {"eps": self.eps}
        result: Tensor = self.target(x, *given, **named)
        return result

    @property
    def gain(self) -> Tensor | None:
        """The gain in effect: the parameter, or one more than it."""
        if self.weight is None:
            return None
        return self.weight + 1 if GAINS[self.case.recipe.gain].form == "offset" else self.weight


def namespace(case: Case) -> dict[str, Any]:
    """The case's text, executed."""
    space: dict[str, Any] = {"__name__": "case"}
    exec(compile(case.text, case.id, "exec"), space)
    return space


def build(case: Case, space: dict[str, Any], d: int, eps: float | None = None) -> Built:
    """The norm of `d` features; `eps` is passed where the norm takes one."""
    r = case.recipe
    has_gain = GAINS[r.gain].form != "none"
    if not r.module:
        weight = torch.ones(d) - (1.0 if GAINS[r.gain].form == "offset" else 0.0) if has_gain else None
        bias = torch.zeros(d) if r.bias != "no bias" else None
        return Built(case, space[function_name(r)], weight, bias, eps)
    made = _construct(case, space[class_name(r)], d, eps)
    weight = getattr(made, weight_name(r)) if has_gain else None
    bias = getattr(made, bias_name(r)) if r.bias != "no bias" else None
    return Built(case, made, weight, bias, eps)


def _construct(case: Case, cls: Any, d: int, eps: float | None) -> Any:
    if case.recipe.ctor == "a config":
        value = float(case.recipe.eps_value) if eps is None else eps
        return cls(SimpleNamespace(hidden_size=d, rms_norm_eps=value, layer_norm_eps=value))
    return cls(d) if eps is None else cls(d, eps=eps)


def takes_eps(case: Case) -> bool:
    """Whether an eps can be passed."""
    return accepts_eps(case.recipe)


def randomise(built: Built, generator: torch.Generator) -> None:
    """Give the gain and shift values that show whether they are used."""
    offset = 1.0 if GAINS[built.case.recipe.gain].form == "offset" else 0.0
    with torch.no_grad():
        for one, less in ((built.weight, offset), (built.bias, 0.0)):
            if one is not None:
                size = torch.rand(one.shape, generator=generator) * 1.5 + 0.5
                sign = torch.randint(0, 2, one.shape, generator=generator) * 2 - 1
                one.copy_(size * sign - less)


def cast(built: Built, dtype: torch.dtype) -> Built:
    """The norm with its parameters in another dtype."""
    if isinstance(built.target, nn.Module):
        made = built.target.to(dtype)
        r = built.case.recipe
        weight = None if built.weight is None else getattr(made, weight_name(r))
        bias = None if built.bias is None else getattr(made, bias_name(r))
        return Built(built.case, made, weight, bias, built.eps)
    weight = None if built.weight is None else built.weight.to(dtype)
    bias = None if built.bias is None else built.bias.to(dtype)
    return Built(built.case, built.target, weight, bias, built.eps)


def saved(built: Built) -> bool:
    """Whether gain and shift, where the norm keeps them, are in its state."""
    if not isinstance(built.target, nn.Module):
        return True
    state = built.target.state_dict()
    r = built.case.recipe
    gain = GAINS[r.gain].form == "none" or weight_name(r) in state
    return gain and (r.bias == "no bias" or bias_name(r) in state)
