"""A norm on the bench: built once a size and dtype, filled with gains that show, run with what it prints caught."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from normlint.text.verdict import WRONG, Probe
from normlint.verify.bench.probes import Case, adapted, filled, gains, nearest
from normlint.verify.bench.reference import Reference, flat
from normlint.verify.subject import CannotBuildError, Made, Subject

# what a forward with a mistake raises; anything else is the worker's business
USER_ERRORS: Final = (
    RuntimeError,
    TypeError,
    ValueError,
    LookupError,
    AssertionError,
    ArithmeticError,
    AttributeError,
    UnboundLocalError,
)
_LACKING: Final = re.compile(r"'(?:int|float|bool)' object has no attribute '(\w+)'")
UNSUPPORTED: Final = re.compile(
    r"not implemented for '?(Half|BFloat16)|(Half|BFloat16) is not supported|MPS .*support|mixed dtype \(CPU\)"
)


class RaisedError(Exception):
    """The norm raised, or gave back what is no tensor; the message says what."""


class LeftOutError(Exception):
    """The probe can't be run here, through no fault of the norm."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A probe's result. `order`: of several failures the one with the lowest explains the others."""

    probe: Probe
    order: int = 50
    status: str = WRONG  # what a failure means


@dataclass(slots=True)
class Bench:
    """One norm and what all its probes share."""

    subject: Subject
    device: str = "cpu"
    seed: int = 0
    shape: tuple[int, ...] | None = None  # the only one that the norm takes, features last
    printed: io.StringIO = field(default_factory=io.StringIO)
    reference: Reference = field(default_factory=lambda: Reference("rms"))  # until it is settled
    _made: dict[tuple[int, torch.dtype], Made] = field(default_factory=dict)

    def seeded(self, salt: int) -> int:
        """The seed of one probe's numbers, independent of the probes before it."""
        return self.seed * 1009 + salt

    def generator(self, salt: int) -> torch.Generator:
        """A random generator for one probe."""
        return torch.Generator().manual_seed(self.seeded(salt))

    def filled(self, case: Case, salt: int) -> Tensor:
        """The case's input, on the device."""
        return filled(case, self.seeded(salt), self.device)

    def size(self, d: int) -> int:
        """The number of features nearest to the wanted one."""
        return nearest(d, self.subject.sizes)

    def adapted(self, case: Case) -> Case | None:
        """The case in a shape that the norm takes, None where it would say nothing."""
        return adapted(case, self.subject.sizes, self.subject.ranks, self.shape)

    def fresh(self, d: int, dtype: torch.dtype = torch.float32, eps: float | None = None) -> Made:
        """A new norm as its constructor leaves it; memory that is never filled is NaN."""
        with _uninitialised_shows():
            return self.subject.make(d, dtype=dtype, device=self.device, eps=eps)

    def made(self, d: int, dtype: torch.dtype = torch.float32) -> Made:
        """A new norm with a gain and a shift that show whether they are used."""
        if (d, dtype) not in self._made:
            try:
                made = self.fresh(d, dtype)
            except CannotBuildError as error:
                if not self._made:
                    raise
                raise LeftOutError(str(error)) from error
            self._made[d, dtype] = self.randomise(made, d)
        return self._made[d, dtype]

    def randomise(self, made: Made, d: int) -> Made:
        """Fill gain and shift with values that show whether they are used."""
        g = self.generator(d)
        with torch.no_grad():
            for one, less in ((made.gain, made.offset), (made.shift, 0.0)):
                if one is not None:
                    one.copy_(gains(one.shape, g) - less)
        return made

    def run(self, made: Made, x: Tensor) -> Tensor:
        """The output, on the CPU; RaisedError where there is none."""
        try:
            with contextlib.redirect_stdout(self.printed):
                y = made.run(x)
        except CannotBuildError:
            raise
        except USER_ERRORS as error:
            lacking = _LACKING.match(str(error))
            if lacking:  # it is no number that is wanted there
                raise CannotBuildError(f"an argument with `.{lacking[1]}`") from error
            raise as_outcome(error) from error
        except (NameError, ImportError) as error:
            raise CannotBuildError(missing(error)) from error
        if not isinstance(y, Tensor):
            raise RaisedError(f"gives back {_article(type(y).__name__)}, not a tensor")
        return y if y.is_meta else y.cpu()

    def expected(self, made: Made, x: Tensor, held: Reference | None = None) -> tuple[Tensor, Tensor]:
        """The reference's output and its spread, in fp64, with the norm's own parameters."""
        gain, shift = effective(made, x.shape[-1])
        exact = wide(x)
        held = held or self.reference
        plain = held.plain(exact)
        ref = held(exact, gain, shift, plain)
        if ref.shape != x.shape:
            raise RaisedError(f"the gain or shift doesn't fit {x.shape[-1]} features")
        return ref, held.spread(exact, gain, shift, plain)


def wide(t: Tensor) -> Tensor:
    """The tensor in fp64 on the CPU, since some devices have no fp64."""
    return t.detach().cpu().double()


def effective(made: Made, d: int) -> tuple[Tensor | None, Tensor | None]:
    """The gain and the shift that act, in fp64."""
    gain = None if made.gain is None else flat(wide(made.gain) + made.offset, d)
    shift = None if made.shift is None else flat(wide(made.shift), d)
    for name, one in (("gain", gain), ("shift", shift)):
        if one is not None and one.ndim and one.shape[-1] not in (1, d):
            raise RaisedError(f"the {name} has shape {tuple(one.shape)} for {d} features")
    return gain, shift


def missing(error: NameError | ImportError) -> str:
    """The name that isn't there."""
    quoted = re.search(r"'([^']+)'", str(error))
    return getattr(error, "name", None) or (quoted.group(1) if quoted else str(error))


def as_outcome(error: BaseException) -> RaisedError | LeftOutError:
    """An exception of a forward or of autograd as a probe tells of it."""
    first = str(error).strip().splitlines()[:1]
    text = f"{type(error).__name__}: {first[0][:160]}" if first else type(error).__name__
    if UNSUPPORTED.search(str(error)):
        return LeftOutError(text)
    return RaisedError(f"raises {text}")


def _article(noun: str) -> str:
    return noun if noun == "NoneType" else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@contextlib.contextmanager
def _uninitialised_shows() -> Iterator[None]:
    """torch.empty gives NaN and not whatever was in memory."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode(1)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
