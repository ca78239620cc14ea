"""Build a norm once a size and dtype, fill its gain and shift with random values, and run it with output captured."""

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

# exceptions that mean a mistake in a forward; the worker handles all others
USER_ERRORS: Final = (
    RuntimeError,
    TypeError,
    ValueError,
    LookupError,
    AssertionError,
    StopIteration,  # would end the generator that calls the norm
    ArithmeticError,
    AttributeError,
    UnboundLocalError,
)
_MISSING_ATTRIBUTE: Final = re.compile(r"'(?:int|float|bool)' object has no attribute '(\w+)'")
_LEAF: Final = re.compile(r"leaf Variable that requires grad .*in-place")
UNSUPPORTED: Final = re.compile(
    r"not implemented for '?(Half|BFloat16)|(Half|BFloat16) is not supported|MPS .*support|mixed dtype \(CPU\)"
)


class RaisedError(Exception):
    """The norm raised, or returned something other than a tensor; the message says what."""


class LeftOutError(Exception):
    """The probe can't be run here, for reasons that aren't the norm's fault."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A probe's result; of several failures, the one with the lowest `order` explains the others."""

    probe: Probe
    order: int = 50
    status: str = WRONG  # the verdict if the probe failed


@dataclass(slots=True)
class Bench:
    """A norm, and the state that all its probes share."""

    subject: Subject
    device: str = "cpu"
    seed: int = 0
    shape: tuple[int, ...] | None = None  # the only shape that the norm takes, features last; None for any
    printed: io.StringIO = field(default_factory=io.StringIO)
    reference: Reference = field(default_factory=lambda: Reference("rms"))  # replaced once the eps is known
    _made: dict[tuple[int, torch.dtype], Made] = field(default_factory=dict)

    def seeded(self, salt: int) -> int:
        """Return the seed for one probe's random numbers, which is independent of the probes before it."""
        return self.seed * 1009 + salt

    def generator(self, salt: int) -> torch.Generator:
        """Return a random generator for one probe."""
        return torch.Generator().manual_seed(self.seeded(salt))

    def filled(self, case: Case, salt: int) -> Tensor:
        """Return the case's input, on the device."""
        return filled(case, self.seeded(salt), self.device)

    def size(self, d: int) -> int:
        """Return the possible number of features that is nearest to `d`."""
        return nearest(d, self.subject.sizes)

    def adapted(self, case: Case) -> Case | None:
        """Return the case in a shape that the norm takes, None where that shape would not test it."""
        return adapted(case, self.subject.sizes, self.subject.ranks, self.shape)

    def fresh(self, d: int, dtype: torch.dtype = torch.float32, eps: float | None = None) -> Made:
        """Return a new norm as its constructor leaves it; uninitialised memory holds NaN."""
        with _nan_for_uninitialised():
            return self.subject.make(d, dtype=dtype, device=self.device, eps=eps)

    def made(self, d: int, dtype: torch.dtype = torch.float32) -> Made:
        """Return the norm of that size and dtype, built once, with random gain and shift."""
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
        """Fill gain and shift in place with random values that show whether they are used; return `made`."""
        g = self.generator(d)
        with torch.no_grad():
            for one, less in ((made.gain, made.offset), (made.shift, 0.0)):
                if one is not None:
                    one.copy_(gains(one.shape, g) - less)
        return made

    def run(self, made: Made, x: Tensor) -> Tensor:
        """Return the output, on the CPU unless it is on the meta device; RaisedError where there is no tensor."""
        try:
            with contextlib.redirect_stdout(self.printed):
                y = made.run(x)
        except USER_ERRORS as error:
            missing_attribute = _MISSING_ATTRIBUTE.match(str(error))
            if missing_attribute:  # a number was passed where an object is needed
                raise CannotBuildError(f"an argument with `.{missing_attribute[1]}`") from error
            if made.module is None and _LEAF.search(str(error)):  # it fills an argument, as with `out=`
                raise LeftOutError(str(error)) from error
            raise as_outcome(error) from error
        except (NameError, ImportError) as error:
            raise CannotBuildError(missing(error)) from error
        if not isinstance(y, Tensor):
            raise RaisedError(f"gives back {_article(type(y).__name__)}, not a tensor")
        return y if y.is_meta else y.cpu()

    def run_pinned(self, made: Made, x: Tensor) -> tuple[Made, Tensor]:
        """Return the norm and its output, with parameters kept in fp32 where halves can't join, as on CUDA."""
        try:
            return made, self.run(made, x)
        except RaisedError:
            pinned = self.made(x.shape[-1])
            with contextlib.suppress(RaisedError):
                y = self.run(pinned, x)
                if pinned is not made and y.dtype == x.dtype:
                    return pinned, y
            raise

    def expected(self, made: Made, x: Tensor, held: Reference | None = None) -> tuple[Tensor, Tensor]:
        """Return the reference's output and its spread, in fp64, with the norm's own gain and shift."""
        gain, shift = effective(made, x.shape[-1])
        exact = wide(x)
        with contextlib.suppress(RuntimeError):  # as for the gain of a norm with one for each head
            ref, spread = (held or self.reference).with_spread(exact, gain, shift)
            if ref.shape == x.shape:
                return ref, spread
        raise RaisedError(f"the gain or shift doesn't fit {x.shape[-1]} features")


def wide(t: Tensor) -> Tensor:
    """Return the tensor in fp64, on the CPU since some devices have no fp64."""
    return t.detach().cpu().double()


def effective(made: Made, d: int) -> tuple[Tensor | None, Tensor | None]:
    """Return the gain, with its offset, and the shift in fp64; RaisedError if they don't fit `d` features."""
    gain = None if made.gain is None else flat(wide(made.gain) + made.offset, d)
    shift = None if made.shift is None else flat(wide(made.shift), d)
    for name, one in (("gain", gain), ("shift", shift)):
        if one is not None and one.ndim and one.shape[-1] not in (1, d):
            raise RaisedError(f"the {name} has shape {tuple(one.shape)} for {d} features")
    return gain, shift


def missing(error: NameError | ImportError) -> str:
    """Return the name that could not be found or imported."""
    quoted = re.search(r"'([^']+)'", str(error))
    return getattr(error, "name", None) or (quoted.group(1) if quoted else str(error))


def as_outcome(error: BaseException) -> RaisedError | LeftOutError:
    """Return the error to raise for an exception of a forward or of autograd."""
    first = str(error).strip().splitlines()[:1]
    text = f"{type(error).__name__}: {first[0][:160]}" if first else type(error).__name__
    if UNSUPPORTED.search(str(error)):
        return LeftOutError(text)
    return RaisedError(f"raises {text}")


def _article(noun: str) -> str:
    return noun if noun == "NoneType" else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@contextlib.contextmanager
def _nan_for_uninitialised() -> Iterator[None]:
    """Have torch.empty return NaN instead of whatever was in memory."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode(1)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
