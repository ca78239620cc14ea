"""What a text takes from elsewhere: the other files of its package, which are read and never run, and stand-ins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from normlint.evaluate.concrete import Found, Program, world
from normlint.evaluate.concrete.values import Space, Typing, Unknown
from normlint.text.raw import BadSourceError
from normlint.text.read import read

LARGEST: Final = 2_000_000  # bytes of a file
MOST: Final = 20  # files of one norm


def finder(path: str) -> Callable[[str], Found | None] | None:
    """What finds the files of the package that the file at `path` belongs to; None for a text without a file."""
    return _Finder(path, [MOST]).find if path else None


@dataclass(frozen=True, slots=True)
class _Finder:
    path: str
    left: list[int]  # how many files may still be read: one number for all

    def find(self, dotted: str) -> Found | None:
        """The file of an imported module, named as in the statement, with leading dots if it is relative."""
        for file in _places(self.path, dotted):
            text = self._text(file)
            if text is not None:
                return Found(file, text, _Finder(file, self.left).find)
        return None

    def _text(self, file: str) -> str | None:
        try:
            if not self.left[0] or not os.path.isfile(file) or os.path.getsize(file) > LARGEST:
                return None
            self.left[0] -= 1
            return read(file).text
        except (OSError, ValueError, BadSourceError):
            return None


def _places(path: str, dotted: str) -> Iterator[str]:
    """Files that an import in the file at `path` may mean."""
    name = dotted.lstrip(".")
    level, parts = len(dotted) - len(name), [part for part in name.split(".") if part]
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(level - 1):
        folder = os.path.dirname(folder)
    if not level:
        folder = root_of(folder)
        if not parts or not _beside(folder, path, parts[0]):
            return
    base = os.path.join(folder, *parts)
    if parts:
        yield f"{base}.py"
    yield os.path.join(base, "__init__.py")


def root_of(folder: str) -> str:
    """The directory from which the file's package, or a script beside others, is imported."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _beside(root: str, path: str, first: str) -> bool:
    """Whether an absolute import stays in the file's own package, or among the scripts of its directory."""
    inside = os.path.relpath(os.path.abspath(path), root).split(os.sep)
    return len(inside) == 1 or inside[0] == first


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
    """Whether an import of this path needs no other file of the package."""
    name = path.rpartition(".")[2]
    return path.partition(".")[0] in world.PACKAGES or world.is_same(path) or name == "logging" or _instead(name) != ""


def _instead(name: str) -> str:
    """What stands in for what is imported under this name, "" for the thing itself."""
    if _CHECK.match(name):
        return "yes" if name.strip("_") == "is_torch_available" else "no"
    return "ACTIVATIONS" if name == "ACT2FN" else "Module" if _MODULES.match(name) else ""


class StandInProgram(Program):
    """A program in which checks for other software say no, and well-known bases are plain modules."""

    def value(self, name: str) -> Any:
        """The value of a name in the module; imports under `TYPE_CHECKING` count, since re-exports are followed."""
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
