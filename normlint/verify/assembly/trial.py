"""Find out how a norm is built and called by trials, each compared with the formula of the norm that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from normlint.evaluate.concrete import Exhausted, Unsupported
from normlint.verify.assembly.agreement import AGREES, distance, factor_like, others_of, prepared, values
from normlint.verify.assembly.call import Call, calls, tensors_in
from normlint.verify.assembly.instance import Live, first_line, missing
from normlint.verify.assembly.layout import Layout, layouts
from normlint.verify.assembly.uses import roles
from normlint.verify.bench.bench import USER_ERRORS
from normlint.verify.bench.reference import Reference
from normlint.verify.job import Job, Meaning
from normlint.verify.subject import CannotBuildError

ERRORS: Final = (*USER_ERRORS, NameError, ImportError, Unsupported)
RARE: Final = 5  # a number of axes that is tried only where no other agrees
RANKS: Final = (3, 2, 4, 1, RARE)
WIDTH: Final = 8
WIDE: Final = 256  # a number of features above which only inputs of few axes are tried
ALIKE: Final = 0.9  # a cosine above which the output is the norm apart from a factor or a small mistake

# builds the norm in a layout for a number of features, in a dtype, on a device, with an eps or None for its own
Make = Callable[[Layout, int, torch.dtype, str, "float | None"], Live]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to build the norm, the norm as constructed, and the norm with a gain and shift whose use shows."""

    make: Make
    made: Live
    filled: Live


@dataclass(frozen=True, slots=True)
class Found:
    """A way to call the norm, and how well it agrees with what was meant: the relative error and the cosine.

    `faint`: the error for inputs so small that eps matters, measured where a gate may act before or after the norm.
    """

    way: Way
    call: Call
    error: float
    cosine: float
    width: int
    faint: float = 0.0

    @property
    def agrees(self) -> bool:
        """Return whether it computes what was meant."""
        return self.error < AGREES

    @property
    def order(self) -> tuple[float, float]:
        """Return a key to sort trials by: the lower, the better."""
        return (0.0 if self.agrees else self.error), self.faint


@dataclass(frozen=True, slots=True)
class Plan:
    """How to build and call the norm, and the numbers of axes that its input may have.

    `confirmed`: it computes what was meant on an input whose axes all differ in length.
    """

    make: Make
    call: Call
    ranks: tuple[int, ...]
    confirmed: bool
    takes_eps: bool


class Search:
    """The trials of one norm: the best one so far, and what went wrong."""

    def __init__(self, job: Job, device: str) -> None:
        self.job, self.device = job, device
        self.best: Found | None = None
        self.rank = 0  # the number of axes of the input of the best
        self.fallback: Found | None = None
        self.missing = ""
        self.unmade = ""
        self.raised = ""

    @property
    def done(self) -> bool:
        """Return whether a way has been found that computes what was meant."""
        return self.best is not None and self.best.agrees and self.best.faint < AGREES

    def over(self, makes: Iterable[Make], width: int = WIDTH, **layout_with: Any) -> Search:
        """Try each way to build the norm until one agrees; return this search.

        `layout_with`: fields of the layouts to replace.
        """
        for make in makes:
            for layout in layouts(self.job.meaning):
                self._build(make, replace(layout, **layout_with), width)
                if self.done:
                    self._spread_on_gain_axis(make, width)
                    return self
        return self

    def _spread_on_gain_axis(self, make: Make, width: int) -> None:
        """Put all features on the one of several axes that the gain lies on, so that the gain can be checked."""
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
        if live.gain is None and not self.job.meaning.applied:
            return
        fresh = True
        for filled in (None, 0.0, 1.0) if others_of(live) else (None,):
            for loud in calls(live.target, self.job.input, self._roles(live), layout):
                call = replace(loud, others=filled)
                live = live if fresh else self._made(make, layout, width)
                way = Way(make, live, prepared(live, call, width, self.job.meaning))
                fresh = False
                self.fallback = self.fallback or Found(way, call, torch.inf, 0.0, width)
                self._try_ranks(way, call, width)
                if self.done:
                    return
            if self.best is None or not self.best.call.guessed:
                return

    def _made(self, make: Make, layout: Layout, width: int) -> Live:
        return make(layout, width, torch.float32, self.device, None)

    def _roles(self, live: Live) -> dict[str, str]:
        """Return the roles of the parameters whose use tells them, and of the gain, shift and axis to be passed."""
        job, meaning = self.job, self.job.meaning
        by_use = roles(job.program, f"{job.entry}.{job.method}" if job.method else job.entry)
        parts = ((meaning.gain, "gain", live.gain), (meaning.shift, "shift", live.shift))
        passed = {name: role for name, role, tensor in parts if name and tensor is None}
        return by_use | passed | ({job.axis: "axis"} if job.axis else {})

    def _try_ranks(self, way: Way, call: Call, width: int) -> None:
        for rank in allowed(self.job.meaning, call.layout):
            if width > WIDE and rank > 3:
                continue
            for found in self._with_faint_error(way, call, (*(WIDTH,) * (rank - 1), width)):
                if self.best is None or found.order < self.best.order:
                    self.best, self.rank = found, rank
            if self.done:
                return

    def _with_faint_error(self, way: Way, call: Call, shape: tuple[int, ...]) -> Iterator[Found]:
        eps = 1e-6 if way.filled.eps is None else way.filled.eps
        faint: dict[Call, float] = {}
        for found in self._tensors_returned(way, call, values(shape), 0.0):
            if call.guessed and eps > 0 and found.agrees and not faint:
                tiny = self._tensors_returned(way, call, values(shape) * eps**0.5 / 8, eps)
                faint = {one.call: one.error for one in tiny}
            yield replace(found, faint=faint.get(found.call, 0.0))

    def _tensors_returned(self, way: Way, call: Call, x: Tensor, eps: float) -> Iterator[Found]:
        x, live = x.to(self.device), way.filled
        try:
            with torch.no_grad():
                out = call.returned(live, call.layout.into(x.clone()))
        except Exhausted as error:
            raise CannotBuildError(f"less to do ({error})") from error
        except ERRORS as error:
            self.missing = self.missing or missing(error)
            self.raised = self.raised or first_line(error)
            return
        inner = call.layout.into(x)
        for path, y in tensors_in(out):
            if y.is_complex():
                continue
            partial = y.shape != inner.shape and y.dim() == inner.dim() and factor_like(y, inner, call.layout)
            if y.shape == inner.shape or partial or (call.layout.headed and y.shape == x.shape):
                whole = call.layout.restored((y * inner if partial else y) / call.divide, inner).double()
                off, cosine = distance(whole, self._formula(x, live, eps))
                if partial and path and off >= AGREES and not self.job.meaning.partial:
                    continue  # a statistic that is returned beside the norm
                yield Found(way, replace(call, pick=path, partial=partial), off, cosine, x.shape[-1])

    def _formula(self, x: Tensor, live: Live, eps: float) -> Tensor:
        """Return the norm that is meant, in fp64, with the gain and shift of `live` where they fit."""
        meant, held = self.job.meaning, (live.gain, live.shift)
        gain, shift = (
            None if t is None or t.numel() not in (1, x.shape[-1]) else t.detach().double().reshape(-1) for t in held
        )
        return Reference(meant.kind, eps=eps)(x.double(), None if gain is None else gain + meant.offset, shift)

    def ranks(self, found: Found) -> tuple[tuple[int, ...], bool]:
        """Return the numbers of axes it agrees with, or runs with if that may be chance; and if chance is ruled out."""
        job, call = self.job, found.call
        runs: list[int] = []
        sure: list[int] = []  # where its axes differ in length, so that nothing broadcasts by chance
        agrees: list[int] = []
        confirmed = False
        possible = allowed(job.meaning, call.layout)
        for rank in possible:
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
            sure += [rank] if uneven and rank > 1 else []
            agrees += [rank] if agreed else []
        # with an input of one or two axes a norm may agree by chance
        matrix = job.meaning.kind == "l2" and 2 in agrees
        folded = job.folded and 2 in agrees
        told = bool(agrees) and (not call.layout.trailing or 3 in agrees or matrix or folded)
        wanted = job.meaning.rank is not None and runs[:1] == list(possible[:1])
        found_ranks = agrees if told else runs[:1] if wanted else sure or runs
        return tuple(found_ranks) or (possible or RANKS)[:1], confirmed

    def _fits(self, found: Found, rows: tuple[int, ...]) -> list[Found]:
        tried = self._with_faint_error(found.way, found.call, (*rows, found.width))
        return [f for f in tried if (f.call.pick, f.call.partial) == (found.call.pick, found.call.partial)]

    def plan(self) -> Plan:
        """Return the best plan that was found; CannotBuildError says why there is none."""
        found = self.best
        if found is None:
            raise CannotBuildError(self._what_is_missing())
        unsure = [name for name, value in found.call.values if name in found.call.guessed and value.kind != "none"]
        gates_only = len(unsure) == 1 and found.call.divide != 1
        if unsure and not found.agrees and not (gates_only and found.cosine > ALIKE):
            raise CannotBuildError(f"a value for {unsure[0]}")
        if found.way.made.guessed and not found.agrees:
            raise CannotBuildError(f"a value for {found.way.made.guessed}")
        ranks, confirmed = self.ranks(found)
        takes_eps = found.way.made.takes_eps or found.call.takes("eps")
        return Plan(found.way.make, found.call, ranks, confirmed, takes_eps)

    def _what_is_missing(self) -> str:
        """Return what a norm needs for which no trial ran."""
        if self.missing:
            return self.missing
        if self.fallback is None:
            return f"a constructor that runs ({self.unmade})"
        if self.fallback.call.guessed:
            return f"a value for {self.fallback.call.guessed[0]}"
        return f"an input that it takes ({self.raised or 'it gives nothing like a norm of its input'})"


def allowed(meaning: Meaning, layout: Layout) -> tuple[int, ...]:
    """Return the numbers of axes that the features-last input may have, the likeliest first."""
    least = max((axis + 1 if axis >= 0 else -axis) for axis in layout.axes) - layout.added
    first = (
        () if meaning.rank is None or meaning.rank - layout.added < max(least, 1) else (meaning.rank - layout.added,)
    )
    if layout.trailing:
        return first if meaning.rank is not None else tuple(rank for rank in RANKS if rank >= least)
    # with fewer axes the reduced one would be the last; what the text says of their number is only the likeliest
    least = max(least, 3) if min(layout.axes) >= 0 else least
    return (*first, *(rank for rank in RANKS if rank >= least and rank not in first))
