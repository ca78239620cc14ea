"""Cut out of a text the statements that a norm needs, as a program of their own."""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete import Program
from normlint.evaluate.concrete.program import STAR
from normlint.evaluate.module import Module
from normlint.evaluate.walk import walk
from normlint.text.source import Source, Unit
from normlint.verify.job import Job
from normlint.verify.program.elsewhere import known

_RELATIVE: Final = re.compile(r"^\s*from\s+\.", re.MULTILINE)
LARGEST: Final = 80  # statements at the top
CUSTOMS: Final = {  # what a snippet's names stand for when nothing binds them
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "Tensor": "from torch import Tensor",
    "math": "import math",
    "np": "import numpy as np",
}


@lru_cache(maxsize=4)
def _program(text: str) -> Program:
    return Program(text)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A text, and the path of the file that its relative imports start from."""

    text: str
    path: str = ""
    snippet: bool = False

    @property
    def _module(self) -> Module:
        return _program(self.text).module

    def functions(self, name: str) -> list[s.Function]:
        """Return all functions of this name, also nested ones, in the order of the text."""
        blocks = (self._module.block(piece) for piece in self._module.pieces if name in self._module.source(piece.span))
        return [n for block in blocks for n in walk(block) if isinstance(n, s.Function) and n.name == name]

    def defining(self, name: str) -> s.Block:
        """Return the top-level statements that define a name."""
        return tuple(stmt for piece in self._module.index.get(name, ()) for stmt in self._module.block(piece))

    def missing(self, names: Iterable[str]) -> str:
        """Return the first name that nothing binds, "" where all are bound."""
        customs = CUSTOMS if self.snippet else {}
        unbound = (name for name in names if not (hasattr(builtins, name) or name in customs or self.bound(name)))
        return next(unbound, "")

    def bound(self, name: str) -> bool:
        """Return whether the text binds the name."""
        return _program(self.text).bound(name)

    def job(self, job: Job, names: Iterable[str]) -> Job:
        """Return the job with everything that these names need put before its program."""
        program, names = _program(self.text), list(names)
        pieces = program.reached(names)
        if len(pieces) > LARGEST:
            return Job(job.qualname, job.meaning, needs="too much of its surroundings")
        used = {*names, *(name for piece in pieces if piece.kind != "import" for name in program.named(piece))}
        imports = sorted({one for piece in pieces for one in program.module.bound(piece) if one[0] in used})
        parts = [line for name, line in CUSTOMS.items() if self.snippet and not self.bound(name)]
        texts = [(kind, self.text[start:end]) for kind, (start, end), _ in pieces]
        # other imports are rewritten with only the names that are used
        parts += [text.strip("\n") for kind, text in texts if kind != "import" or STAR.search(text)]
        rest = "\n".join([*parts, *([job.program] if job.program else []), ""])
        starred = STAR.search(rest)
        path = "" if all(known(path) for _, path in imports) and not starred else self.path
        if path and not starred:
            path, imports = _shared(path, imports, rest)
        return _with_same_name(replace(job, program="\n".join([*(_import(*one) for one in imports), rest]), path=path))


def surroundings(source: Source, unit: Unit) -> Surroundings:
    """Return the surroundings of a unit of a file."""
    has_file = source.path.endswith((".py", ".pyi", ".ipynb", ".md"))
    return Surroundings(unit.text, os.path.abspath(source.path) if has_file else "", unit.snippet)


def _shared(path: str, imports: list[tuple[str, str]], rest: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the path to import from, as far above the file as all imports lead, and the imports as seen from there.

    So the same text in several folders that imports the same from a third one is one program.
    """
    up = min((len(one) - len(one.lstrip(".")) for _, one in imports if not _is_absolute(one)), default=0) - 1
    if up < 1 or _RELATIVE.search(rest) or any(_is_absolute(one) and not known(one) for _, one in imports):
        return path, imports
    for _ in range(up + 1):
        path = os.path.dirname(path)
    from_there = [(name, one if _is_absolute(one) else one[up:]) for name, one in imports]
    return os.path.join(path, "__init__.py"), from_there


def _is_absolute(path: str) -> bool:
    return not path.startswith(".")


def _with_same_name(job: Job) -> Job:
    """Return the job with its class renamed Norm, so that the same code under many names is one program."""
    name, _, below = job.entry.partition(".")
    taken = re.search(rf"\bNorm\b|import[^\n]*\b{name}\b", job.program)
    if not job.method or taken:
        return job
    program = re.sub(rf"(?<![.\w]){name}\b", "Norm", job.program)
    return replace(job, program=program, entry=f"Norm.{below}" if below else "Norm")


def _import(name: str, path: str) -> str:
    """Return the import statement that binds a name to a path as `Module.bound` gives it."""
    owner, _, last = path.rpartition(".")
    if not owner.strip(".") and not path.startswith("."):
        return f"import {path} as {name}" if path != name else f"import {path}"
    owner = owner if owner.strip(".") else path[: len(path) - len(last)]
    return f"from {owner} import {last} as {name}" if last != name else f"from {owner} import {last}"
