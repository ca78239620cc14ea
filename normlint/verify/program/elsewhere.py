"""Resolve a text's imports: other files of its package, which are read and never run, or stand-ins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from normlint.evaluate.concrete import Found, Program, world
from normlint.evaluate.concrete.values import Space, Typing, Unknown
from normlint.text.elsewhere import places
from normlint.text.raw import BadSourceError
from normlint.text.read import read

LARGEST: Final = 2_000_000  # bytes of a file
LARGEST_OF_TORCH: Final = 100_000  # bytes of a file of torch; reading larger ones takes longer than a norm may
MOST: Final = 20  # files of one norm


def finder(path: str) -> Callable[[str], Found | None]:
    """Return a function that finds torch's own files, and those of the package of the file at `path` if it isn't ""."""
    return _Finder(path, [MOST]).find


@dataclass(frozen=True, slots=True)
class _Finder:
    path: str
    left: list[int]  # one number, shared by all finders: how many files may still be read

    def find(self, dotted: str) -> Found | None:
        """Return the file of an imported module, named as in the statement: with leading dots if relative."""
        for file in _places(self.path, dotted):
            text = self._text(file)
            if text is not None:
                return Found(file, text, _Finder(file, self.left).find)
        return None

    def _text(self, file: str) -> str | None:
        try:
            of_torch = file.startswith(os.path.join(_site() or os.sep, "torch", ""))
            largest = LARGEST_OF_TORCH if of_torch else LARGEST
            if not self.left[0] or not os.path.isfile(file) or os.path.getsize(file) > largest:
                return None
            self.left[0] -= 1
            return read(file).text
        except (OSError, ValueError, BadSourceError):
            return None


def _places(path: str, dotted: str) -> Iterator[str]:
    """Yield the files that an import in the file at `path` may mean: torch's own, or those of the file's package."""
    if dotted.partition(".")[0] == "torch":
        site = _site()
        return places(dotted, os.path.join(site, "importing.py")) if site else iter(())
    return places(dotted, os.path.abspath(path)) if path else iter(())


@cache
def _site() -> str:
    """Return the directory that torch is installed in."""
    found = find_spec("torch")
    return os.path.dirname(os.path.dirname(found.origin)) if found is not None and found.origin else ""


def root_of(folder: str) -> str:
    """Return the directory from which a package in `folder`, or a script there, is imported."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


# --- stand-ins for what a norm doesn't depend on ---------------------------------------------------------------------

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
    """Return whether an import of this path needs no other file of the package."""
    owner, _, name = path.rpartition(".")
    first, held = path.partition(".")[0], world.is_module(path) or world.is_module(owner)
    of_tables = first in world.PACKAGES and (held or first != "torch")
    return of_tables or world.is_same(path) or name == "logging" or _stand_in(name) != ""


def _stand_in(name: str) -> str:
    """Return the name in `_TEXT` that replaces an imported name, "" if it is not replaced."""
    if _CHECK.match(name):
        return "yes" if name.strip("_") == "is_torch_available" else "no"
    return "ACTIVATIONS" if name == "ACT2FN" else "Module" if _MODULES.match(name) else ""


class StandInProgram(Program):
    """A program in which checks for other software return False, and well-known bases are plain modules."""

    def value(self, name: str) -> Any:
        """Return the value of a name in the module, also of one imported under `TYPE_CHECKING`, as re-exports are."""
        try:
            return super().value(name)
        except NameError:
            path = self.module.imports.get(name)
            if path is None:
                raise
            return self.settled(self.imported(path))

    def imported(self, path: str) -> Any:
        """Return what an import binds: a stand-in, or the imported object itself."""
        name = path.rpartition(".")[2]
        if path.partition(".")[0] != "torch" and (instead := _stand_in(name)):
            return _stand_in_value(instead)
        if name == "logging":
            return Space("logging")
        found = super().imported(path)
        if not isinstance(found, Unknown):
            return found
        if _LEFT_OUT.match(name):
            return Typing()
        return _stand_in_value("no") if _FLAG.match(name) else found


@cache
def _stand_in_value(name: str) -> Any:
    return Program(_TEXT).value(name)
