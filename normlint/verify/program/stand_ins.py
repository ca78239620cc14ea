"""A text with stand-ins for what it takes from elsewhere and a norm doesn't depend on."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from normlint.evaluate.concrete import Program, world
from normlint.evaluate.concrete.values import Space, Typing, Unknown

_CHECK: Final = re.compile(
    r"_?(?:is_\w*(?:available|enabled|compiling|tracing|exporting|scripting|proxy)|is_torch\w*)$"
)
_FLAG: Final = re.compile(r"_?(?:HAS|HAVE|has|have)_\w+$|\w+_(?:AVAILABLE|available)$")
_MODULES: Final = re.compile(r"(?:GradientCheckpointingLayer|\w*PreTrainedModel|\w*PretrainedModel|ModelMixin)$")
_LEFT_OUT: Final = re.compile(r"(?:\w*Mixin|Generic|Protocol|ABC)$")
_TEXT: Final = """
from torch import nn
class Module(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
def no(*args, **kwargs):
    return False
def yes(*args, **kwargs):
    return True
ACTIVATIONS = {
    "silu": nn.functional.silu, "swish": nn.functional.silu, "gelu": nn.functional.gelu,
    "relu": nn.functional.relu, "sigmoid": nn.functional.sigmoid, "tanh": nn.functional.tanh,
}
"""


def known(path: str) -> bool:
    """Whether an import of this path needs no other file of the package."""
    name = path.rpartition(".")[2]
    return path.partition(".")[0] in world.PACKAGES or world.is_same(path) or name == "logging" or _instead(name) != ""


def _instead(name: str) -> str:
    """What stands in for what is imported under this name, "" for the thing itself."""
    if _CHECK.match(name):
        return "yes" if name.strip("_") == "is_torch_available" else "no"
    return "ACTIVATIONS" if name == "ACT2FN" else "Module" if _MODULES.match(name) else ""


class Stood(Program):
    """A program in which checks for other software say no, and well-known bases are plain modules."""

    def value(self, name: str) -> Any:
        """A name of the module, also one that only type checkers import: good enough to follow a re-export."""
        try:
            return super().value(name)
        except NameError:
            path = self.module.imports.get(name)
            if path is None:
                raise
            return self.settled(self.imported(path))

    def imported(self, path: str) -> Any:
        """What an import binds: a stand-in, or the thing itself."""
        name = path.rpartition(".")[2]
        if path.partition(".")[0] != "torch" and (instead := _instead(name)):
            return _made(instead)
        if name == "logging":
            return Space("logging")
        found = super().imported(path)
        if not isinstance(found, Unknown):
            return found
        if _LEFT_OUT.match(name):
            return Typing()
        return _made("no") if _FLAG.match(name) else found


@cache
def _made(name: str) -> Any:
    return Program(_TEXT).value(name)
