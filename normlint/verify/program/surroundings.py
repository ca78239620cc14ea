"""What a norm needs of its text: the statements that it reaches, as a text of their own."""

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
from normlint.evaluate.concrete.world import PACKAGES
from normlint.text.pieces import Piece
from normlint.text.source import Source, Unit
from normlint.verify.job import Job

FUNCTION: Final = "norm"  # what lines that were cut out are called
LARGEST: Final = 80  # statements at the top
CUSTOMS: Final = {  # what a snippet's names stand for when nothing binds them
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "Tensor": "from torch import Tensor",
    "math": "import math",
    "np": "import numpy as np",
}
_IMPORTS: Final = re.compile(r"^\s*(?:from|import)\s+([.\w]+)", re.MULTILINE)


@lru_cache(maxsize=4)
def _program(text: str) -> Program:
    return Program(text)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A text, and where its imports count from."""

    text: str
    path: str = ""
    snippet: bool = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The statements at the top."""
        return _program(self.text).module.pieces

    def defining(self, name: str) -> s.Block:
        """The statements at the top that define a name."""
        module = _program(self.text).module
        return tuple(stmt for piece in module.index.get(name, ()) for stmt in module.block(piece))

    def missing(self, names: Iterable[str]) -> str:
        """The first name that nothing binds, "" where all are bound."""
        return next((name for name in names if not self._binds(name)), "")

    def _binds(self, name: str) -> bool:
        known = hasattr(builtins, name) or (self.snippet and name in CUSTOMS)
        return known or any(True for piece in _program(self.text).reached([name]))

    def job(self, job: Job, names: Iterable[str]) -> Job:
        """The job, with what these names need before its program."""
        names = list(names)
        pieces = _program(self.text).reached(names)
        if len(pieces) > LARGEST:
            return Job(job.qualname, job.meaning, needs="too much of its surroundings")
        parts = [self.text[start:end].strip("\n") for _, (start, end), _ in pieces]
        bound = {name for piece in pieces for name in _program(self.text).binds(piece)}
        customs = [line for name, line in CUSTOMS.items() if self.snippet and name not in bound]
        program = "\n\n".join([*customs, *parts, *([job.program] if job.program else []), ""])
        job = replace(job, program=program, path=self.path if _looks_elsewhere(program) else "")
        return _called_alike(job)


def surroundings(source: Source, unit: Unit) -> Surroundings:
    """Of a unit of a file."""
    has_file = source.path.endswith((".py", ".pyi", ".ipynb", ".md"))
    return Surroundings(unit.text, os.path.abspath(source.path) if has_file else "", unit.snippet)


def _called_alike(job: Job) -> Job:
    """The same with its class called Norm: the same code under many names is one program."""
    name, _, below = job.entry.partition(".")
    taken = re.search(rf"\bNorm\b|import[^\n]*\b{name}\b", job.program)
    if not job.method or taken:
        return job
    program = re.sub(rf"(?<![.\w]){name}\b", "Norm", job.program)
    return replace(job, program=program, entry=f"Norm.{below}" if below else "Norm")


def _looks_elsewhere(program: str) -> bool:
    """Whether it imports what isn't known beforehand."""
    return any(path.partition(".")[0] not in PACKAGES for path in _IMPORTS.findall(program))
