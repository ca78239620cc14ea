"""Build a Subject from a job and the names of its program: the norm in any size, dtype and place."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import torch

from normlint.verify.assembly.agreement import with_tensors
from normlint.verify.assembly.call import tensors_in
from normlint.verify.assembly.construct import Construction, constructions
from normlint.verify.assembly.instance import Live, as_function, first_line, missing, of_class, of_function, resolved
from normlint.verify.assembly.layout import Layout
from normlint.verify.assembly.trial import ERRORS, WIDTH, Make, Plan, Search
from normlint.verify.job import Job, Meaning
from normlint.verify.subject import CannotBuildError, Made

AXES: Final = (-1, 1, -2, -3)
AXIS: Final = "the axis that its features lie on"
SHAPE: Final = "an input of another shape"
ROLES: Final = "the norm alone: on some paths more is done with it"
LARGEST: Final = 8192  # the most features that a number in the text may mean
MOST_NUMBERS: Final = 4  # the most numbers of the text that are tried as sizes
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?![\w.])")


@dataclass(slots=True)
class Built:
    """A class or function of a file as a Subject."""

    meaning: Meaning
    plan: Plan
    sizes: tuple[int, ...] | None
    ranks: tuple[int, ...]
    takes_eps: bool
    agrees: bool  # it computes what was meant, at least where all of several axes are of one length
    job: Job
    elsewhere: Callable[[], bool]  # whether it computes what was meant along another axis

    def doubt(self, *, values: bool) -> str:
        """Return what must be known before its exception, its shape or its `values` count against it, "" for nothing.

        This is when running may speak where reading found nothing. The reference was given a layout, arguments and
        parameters, so the text must say the layout that the input has, the role of every argument and the state of
        every parameter; or the norm agrees with its definition on an input whose axes all differ in length, which no
        other layout and no other role would bring about. An exception or a shape is the verifier's fault as long as
        some input is taken, or if several lengths of the gain ask for another. (How a gain starts is a matter of
        `filled_later`.)
        """
        if self.job.more and not (self.agrees and self.meaning.gain):
            return ROLES
        if self.job.folded and not self.agrees:
            return "the axes that it reduces, or the groups"
        if values:
            unsure = not self.plan.confirmed if self.agrees else self.elsewhere()
            return AXIS if unsure and not self.meaning.axes_read else ""
        runs = self.agrees or (self._runs_somewhere() and not self.meaning.gain_elsewhere)
        if runs or self._gain_has_several_axes():
            return SHAPE
        return AXIS if self.elsewhere() else ""

    @property
    def _width(self) -> int:
        return WIDTH if self.sizes is None else self.sizes[0]

    def _gain_has_several_axes(self) -> bool:
        """Return whether the lengths of its gain say how long several axes of an input must be."""
        gain = self._live(self._width).gain
        return gain is not None and sum(length > 1 for length in gain.shape) > 1

    def _runs_somewhere(self) -> bool:
        """Return whether it takes any input whose axes are of different lengths."""
        width = self._width
        live = self._live(width)
        for rank in (3, 4, 2, 5):
            for axis in range(rank):
                others = (2, 3, 4, 5)[: rank - 1]
                x = torch.ones((*others[:axis], width, *others[axis:]), device=live.device)
                with contextlib.suppress(*ERRORS), torch.no_grad():
                    out = self.plan.call.returned(live, x)
                    if any(y.shape == x.shape for _, y in tensors_in(out)):
                        return True
        return False

    def _live(self, d: int, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None) -> Live:
        """Return a new norm, with the tensors and the eps that its call may pass."""
        call = self.plan.call
        try:
            live = self.plan.make(call.layout, d, dtype, device, eps)
        except ERRORS as error:
            raise CannotBuildError(missing(error) or f"a constructor that runs ({first_line(error)})") from error
        live = with_tensors(live, call, d, self.meaning)
        return replace(live, eps=live.eps if eps is None or not self.takes_eps else eps)

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        """Return a new norm as its constructor leaves it, then cast and moved; CannotBuildError if it raises."""
        call = self.plan.call
        live = self._live(d, dtype, device, eps)
        # what a call passes is in no module's state
        module = None if call.takes("gain") or call.takes("shift") else live.module
        trained = live.module is not None
        run = partial(call.run, live)
        return Made(run, live.gain, live.shift, live.eps, module, self.meaning.offset, live.initial_dtype, trained)


def subject(job: Job, namespace: dict[str, Any], device: str = "cpu") -> Built:
    """Return the norm that the job's program defines, in the meaning it agrees with; CannotBuildError if none is."""
    first, *more = _possible_meanings(job.meaning)
    found = _subject(replace(job, meaning=first), namespace, device)
    others = (_subject(replace(job, meaning=meant), namespace, device) for meant in more)
    found = next((one for one in others if one.agrees), found) if not found.agrees else found
    if math.isnan(job.meaning.offset) and not found.agrees:
        raise CannotBuildError("an offset of its gain that is a number")
    return found


def _possible_meanings(meaning: Meaning) -> Iterator[Meaning]:
    """Yield the meaning with each value of what the text leaves open: the gain's offset, axes that arguments choose."""
    for offset in (0.0, 1.0) if math.isnan(meaning.offset) else (meaning.offset,):
        yield replace(meaning, offset=offset)
        yield from (replace(meaning, offset=offset, axes=axes, rank=None) for axes in meaning.elsewhere)


def _subject(job: Job, namespace: dict[str, Any], device: str) -> Built:
    try:
        found = resolved(namespace, job.entry)
        if not inspect.isclass(found):
            return _of_function(job, found, device)
        function = as_function(found, job.method)
        return _of_function(job, function, device) if function else _of_class(job, found, device)
    except (NameError, ImportError) as error:
        raise CannotBuildError(missing(error) or first_line(error)) from error


def _of_function(job: Job, function: Callable[..., Any], device: str) -> Built:
    live = of_function(job, function)

    def make(layout: Layout, d: int, dtype: torch.dtype, where: str, eps: float | None) -> Live:  # noqa: ARG001
        return replace(live, dtype=dtype, device=where)

    def searched(job: Job, width: int = WIDTH) -> Search:
        return Search(job, device).over([make], width)

    return _built(job, searched(job), searched)


def _of_class(job: Job, cls: type, device: str) -> Built:
    def searched(job: Job, width: int = WIDTH, **layout_with: Any) -> Search:
        makes = (_class_maker(job, way) for way in constructions(cls, job))
        return Search(job, device).over(makes, width, **layout_with)

    search = searched(job)
    if not search.done and job.meaning.axes in (None, (-1,)):
        # an axis of length one would hide that a norm reduces it too, so only where nothing else runs
        other = searched(job, **({"headed": True} if search.best is None else {"groups": 2}))
        search = other if other.done else search
    return _built(job, search, searched)


def _sized(job: Job, searched: Callable[..., Search], search: Search) -> tuple[Search, tuple[int, ...] | None]:
    """Return the search or, where nothing agrees, one that does with a size taken from the text, and that size."""
    tried = search.best or search.fallback
    if search.done or tried is None or tried.call.guessed or job.meaning.axes not in (None, (-1,)):
        return search, None
    for number in _numbers(job.program):
        fixed = searched(job, number)
        if fixed.done:
            return fixed, (number,)
    return search, None


def _numbers(program: str) -> list[int]:
    """Return the numbers in a text, and squares of its decimals, that may be sizes; the largest first."""
    found = set(_NUMBER.findall(program))
    roots = {float(number) ** 2 for number in found if "." in number}
    whole = {int(number) for number in found if "." not in number} | {int(n) for n in roots if n.is_integer()}
    return sorted((n for n in whole if 2 < n <= LARGEST), reverse=True)[:MOST_NUMBERS]


def _class_maker(job: Job, way: Construction) -> Make:
    def make(layout: Layout, d: int, dtype: torch.dtype, device: str, eps: float | None) -> Live:
        return of_class(job, way, layout.size(d, eps, 1.0 - job.meaning.offset), dtype, device)

    return make


def _along_another(job: Job, searched: Callable[..., Search]) -> bool:
    """Return whether it is the norm that is meant, but along another axis than was read."""
    axes = [(axis,) for axis in AXES if (axis,) != job.meaning.axes]
    meanings = (replace(job.meaning, axes=one, rank=None) for one in axes)
    return any(searched(replace(job, meaning=meant)).done for meant in meanings)


def _built(job: Job, search: Search, searched: Callable[..., Search]) -> Built:
    search, sizes = _sized(job, searched, search)
    plan = search.plan()
    agrees = search.done and search.rank > 1
    elsewhere = partial(_along_another, job, searched)
    return Built(job.meaning, plan, sizes, plan.ranks, plan.takes_eps, agrees, job, elsewhere)
