"""Trying out how a norm is built and called, against a plain formula of what it is meant to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from normlint.evaluate.concrete import Exhausted, Unsupported
from normlint.verify.assembly.agreement import AGREES, distance, factor_like, others_of, prepared, values
from normlint.verify.assembly.call import Call, Extras, calls, tensors_in
from normlint.verify.assembly.instance import Live, first_line, missing
from normlint.verify.assembly.layout import Layout, layouts
from normlint.verify.assembly.uses import roles
from normlint.verify.bench.reference import Reference
from normlint.verify.job import Job, Meaning
from normlint.verify.subject import CannotBuildError

ERRORS: Final = (
    RuntimeError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    NameError,
    ImportError,
    Unsupported,
)
RARE: Final = 5  # an input of five axes is tried where no other agrees
RANKS: Final = (3, 2, 4, 1, RARE)
WIDTH: Final = 8
WIDE: Final = 256  # features, of which inputs of few axes are enough
ALIKE: Final = 0.9  # a cosine: the output is the norm but for a factor or a slip

# the norm of so many features in a layout, in a dtype, on a device, with an eps
Make = Callable[[Layout, int, torch.dtype, str, "float | None"], Live]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to build the norm, what its constructor leaves, and the same filled with values that show."""

    make: Make
    made: Live
    filled: Live


@dataclass(frozen=True, slots=True)
class Found:
    """A way to call the norm and how well it agrees: the relative error, and the cosine to what was meant.

    `faint`: the error for inputs so small that eps matters, looked at where a gate may act before the norm or after.
    """

    way: Way
    call: Call
    error: float
    cosine: float
    width: int
    faint: float = 0.0

    @property
    def agrees(self) -> bool:
        """Does it compute what was meant?"""
        return self.error < AGREES

    @property
    def order(self) -> tuple[float, float]:
        """A key to sort trials by: the better, the lower."""
        return (0.0 if self.agrees else self.error), self.faint


@dataclass(frozen=True, slots=True)
class Plan:
    """A norm's way to be built and called, and the numbers of axes that it takes.

    `confirmed`: it computes what was meant on an input whose axes all differ in length.
    """

    make: Make
    call: Call
    ranks: tuple[int, ...]
    confirmed: bool
    takes_eps: bool


class Search:
    """One norm's trials; it remembers the best so far and what went wrong."""

    def __init__(self, job: Job, device: str) -> None:
        self.job, self.device = job, device
        self.best: Found | None = None
        self.rank = 0  # number of axes with which the best was seen
        self.fallback: Found | None = None
        self.missing = ""
        self.unmade = ""
        self.raised = ""

    @property
    def done(self) -> bool:
        """Has a way been found that computes what was meant?"""
        return self.best is not None and self.best.agrees and self.best.faint < AGREES

    def over(self, makes: Iterator[Make], width: int = WIDTH, **layout_with: Any) -> None:
        """Try each way to build it, until one agrees. `layout_with`: groups, or an axis for heads."""
        for make in makes:
            for layout in layouts(self.job.meaning):
                self._build(make, replace(layout, **layout_with), width)
                if self.done:
                    return self._tie(make, width)
        return None

    def _tie(self, make: Make, width: int) -> None:
        """Where a gain lies on one of several axes alone, all features are put there, so that it can be looked at."""
        if self.best is None or not self.best.call.layout.added or self._gain_of(self.best) in (None, 1, width):
            return
        for layout in self.best.call.layout.lying_on():
            other = Search(self.job, self.device)
            other._build(make, layout, width)
            if other.done and other.best is not None and self._gain_of(other.best) == width:
                self.best = other.best
                return

    def _gain_of(self, found: Found) -> int | None:
        gain = found.way.made.gain
        return None if gain is None else gain.numel()

    def _build(self, make: Make, layout: Layout, width: int) -> None:
        try:
            live = self._made(make, layout, width)
        except Exhausted as error:
            raise CannotBuildError(f"less to do ({error})") from error
        except ERRORS as error:
            self.missing = self.missing or missing(error)
            self.unmade = self.unmade or first_line(error)
            return
        fresh = True
        for quiet in (False, True) if others_of(live) else (False,):
            for loud in calls(live.target, self.job.input, self._uses | self._named(live), layout):
                call = replace(loud, quiet=quiet)
                live = live if fresh else self._made(make, layout, width)
                way = Way(make, live, prepared(live, call, width, self.job.meaning))
                fresh = False
                self.fallback = self.fallback or Found(way, call, torch.inf, 0.0, width)
                self._rank_by_rank(way, call, width)
                if self.done:
                    return
            if self.best is None or not self.best.call.guessed:
                return

    def _made(self, make: Make, layout: Layout, width: int) -> Live:
        return make(layout, width, torch.float32, self.device, None)

    @property
    def _uses(self) -> dict[str, str]:
        """The roles of parameters that their use tells."""
        of = f"{self.job.entry}.{self.job.method}" if self.job.method else self.job.entry
        return roles(self.job.program, of)

    def _named(self, live: Live) -> dict[str, str]:
        """The gain and shift that are no attributes, but parameters perhaps; and the axis that must be passed."""
        meaning = self.job.meaning
        parts = ((meaning.gain, "gain", live.gain), (meaning.shift, "shift", live.shift))
        found = {name: role for name, role, tensor in parts if name and tensor is None}
        return found | ({self.job.axis: "axis"} if self.job.axis else {})

    def _rank_by_rank(self, way: Way, call: Call, width: int) -> None:
        for rank in allowed(self.job.meaning, call.layout):
            if width > WIDE and rank > 3:
                continue
            for found in self._attempts(way, call, (*(WIDTH,) * (rank - 1), width)):
                if self.best is None or found.order < self.best.order:
                    self.best, self.rank = found, rank
            if self.done:
                return

    def _attempts(self, way: Way, call: Call, shape: tuple[int, ...]) -> Iterator[Found]:
        eps = 1e-6 if way.filled.eps is None else way.filled.eps
        faint: dict[Call, float] = {}
        for found in self._tried(way, call, values(shape), 0.0):
            if call.guessed and eps > 0 and found.agrees and not faint:
                tiny = self._tried(way, call, values(shape) * eps**0.5 / 8, eps)
                faint = {one.call: one.error for one in tiny}
            yield replace(found, faint=faint.get(found.call, 0.0))

    def _tried(self, way: Way, call: Call, x: Tensor, eps: float) -> Iterator[Found]:
        x, live = x.to(self.device), way.filled
        extras = Extras(live.gain, live.shift, 1e-6 if live.eps is None else live.eps)
        try:
            with torch.no_grad():
                out = call.returned(live.target, call.layout.into(x.clone()), extras)
        except Exhausted as error:
            raise CannotBuildError(f"less to do ({error})") from error
        except ERRORS as error:
            self.missing = self.missing or missing(error)
            self.raised = self.raised or first_line(error)
            return
        inner = call.layout.into(x)
        for path, y in tensors_in(out):
            partial = y.shape != inner.shape and y.dim() == inner.dim() and factor_like(y, inner, call.layout)
            if y.shape == inner.shape or partial or (call.layout.headed and y.shape == x.shape):
                whole = call.layout.restored((y * inner if partial else y) / call.divide, inner).double()
                off, cosine = distance(whole, self._formula(x, live, eps))
                yield Found(way, replace(call, pick=path, partial=partial), off, cosine, x.shape[-1])

    def _formula(self, x: Tensor, live: Live, eps: float) -> Tensor:
        """What is meant."""
        meant, held = self.job.meaning, (live.gain, live.shift)
        gain, shift = (
            None if t is None or t.numel() not in (1, x.shape[-1]) else t.detach().double().reshape(-1) for t in held
        )
        return Reference(meant.kind, eps=eps)(x.double(), None if gain is None else gain + meant.offset, shift)

    def ranks(self, found: Found) -> tuple[tuple[int, ...], bool]:
        """Those with which it agrees, or with which it runs where agreeing may be chance; whether that is ruled out."""
        job, call = self.job, found.call
        runs: list[int] = []
        agrees: list[int] = []
        confirmed = False
        for rank in allowed(job.meaning, call.layout):
            if rank == RARE and (agrees or (runs and call.layout.trailing)):
                break
            # further inputs of the wrong shape may broadcast where all axes are of one length
            uneven = self._fits(found, (2, 3, 4, 5)[: rank - 1])
            certain = any(f.agrees for f in uneven)
            even = uneven if certain else self._fits(found, (WIDTH,) * (rank - 1))
            agreed = any(f.agrees for f in even)
            if agreed and not uneven:
                continue
            confirmed = confirmed or (rank > 1 and certain)
            runs += [rank] if even else []
            agrees += [rank] if agreed else []
        # a rank in which only chance makes the norm agree is 2 or 1
        matrix = job.meaning.kind == "l2" and 2 in agrees
        folded = job.folded and 2 in agrees
        told = bool(agrees) and (not call.layout.trailing or 3 in agrees or matrix or folded)
        wanted = job.meaning.rank is not None and runs[:1] == list(allowed(job.meaning, call.layout)[:1])
        return tuple(agrees if told else runs[:1] if wanted else runs), confirmed

    def _fits(self, found: Found, rows: tuple[int, ...]) -> list[Found]:
        tried = self._attempts(found.way, found.call, (*rows, found.width))
        return [f for f in tried if (f.call.pick, f.call.partial) == (found.call.pick, found.call.partial)]

    def plan(self) -> Plan:
        """The best plan that was found; CannotBuildError says why there is none."""
        found = self.best
        if found is None:
            raise CannotBuildError(self._failing())
        unsure = [name for name, value in found.call.values if name in found.call.guessed and value.kind != "none"]
        gates_only = len(unsure) == 1 and found.call.divide != 1
        if unsure and not found.agrees and not (gates_only and found.cosine > ALIKE):
            raise CannotBuildError(f"a value for {unsure[0]}")
        untold = found.way.made.guessed
        if untold and not found.agrees:
            raise CannotBuildError(f"a value for {untold}")
        ranks, confirmed = self.ranks(found)
        takes_eps = found.way.made.takes_eps or found.call.takes("eps")
        return Plan(found.way.make, found.call, ranks or self._usual(found), confirmed, takes_eps)

    def _usual(self, found: Found) -> tuple[int, ...]:
        return (allowed(self.job.meaning, found.call.layout) or RANKS)[:1]

    def _failing(self) -> str:
        """What a norm needs that never runs."""
        if self.missing:
            return self.missing
        if self.fallback is None:
            return f"a constructor that runs ({self.unmade})"
        if self.fallback.call.guessed:
            return f"a value for {self.fallback.call.guessed[0]}"
        return f"an input that it takes ({self.raised or 'it gives nothing like a norm of its input'})"


def allowed(meaning: Meaning, layout: Layout) -> tuple[int, ...]:
    """The numbers of axes that the features-last input may have."""
    least = max((axis + 1 if axis >= 0 else -axis) for axis in layout.axes) - layout.added
    first = (
        () if meaning.rank is None or meaning.rank - layout.added < max(least, 1) else (meaning.rank - layout.added,)
    )
    if layout.trailing:
        return first if meaning.rank is not None else tuple(rank for rank in RANKS if rank >= least)
    # with fewer axes the reduced one would be the last; what the text says of their number is only the likeliest
    least = max(least, 3) if min(layout.axes) >= 0 else least
    return (*first, *(rank for rank in RANKS if rank >= least and rank not in first))
