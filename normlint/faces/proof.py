"""Fixes are accepted on numbers: each norm that a fix touched is interpreted before and after, and must not lose by it.

With `--verify` that is a part of what is asked for; without it, a plain `--fix` does it where torch is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from normlint.engine.fix import fix, prepared
from normlint.engine.report import Failure, Report
from normlint.engine.wish import Fixed, Key, Wish
from normlint.faces.render.verdicts import told
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Probe, Verdict

if TYPE_CHECKING:
    from normlint.faces.verifying import Bench
    from normlint.verify.job import Job

Result: TypeAlias = "Fixed | Failure"


def accepted(results: list[Result], wishes: Mapping[str, Wish]) -> list[Result]:
    """The files with the fixes that a run on numbers accepts; as they are where torch isn't installed.

    What can't be run is accepted only where unsafe fixes are asked for.
    """
    changed = {at: one for at, one in enumerate(results) if isinstance(one, Fixed) and one.changed}
    if not changed or find_spec("torch") is None:
        return results
    from normlint.faces.verifying import verifying

    proved_by = {one.before.path: _proving(one, wishes[one.before.path]) for one in changed.values()}
    with verifying("cpu", None) as bench:
        ready: list[Result] = [prepared(one, proved_by[one.before.path]) for one in changed.values()]
        done = dict(zip(changed, proved(ready, proved_by, bench, all_run=True), strict=True))
    return [_unprepared(done[at]) if at in done else one for at, one in enumerate(results)]


def _proving(fixed: Fixed, wish: Wish) -> Wish:
    """The wish with what makes the norms ready to be run that a fix has touched, and no others."""
    from normlint.faces.verifying import proving

    names = {name for _, name in fixed.touched}
    full = proving(wish)
    prepare = full.demand.prepare
    if prepare is None:
        return full
    return replace(
        full, demand=replace(full.demand, prepare=lambda s, u, n: prepare(s, u, n) if n.qualname in names else None)
    )


def _unprepared(result: Result) -> Result:
    """Without what is needed to run the norms: nobody asked for their verdicts."""
    if not isinstance(result, Fixed):
        return result
    reports = (result.report, result.unfixed)
    plain = [replace(one, norms=tuple(replace(norm, pending=None) for norm in one.norms)) for one in reports]
    return replace(result, report=plain[0], unfixed=plain[1])


def proved(results: list[Result], wishes: Mapping[str, Wish], bench: Bench, *, all_run: bool = False) -> list[Result]:
    """The files with the fixes that proved themselves; of the others is told why they were put back.

    A norm whose fixes are put back is spared, and its file fixed anew: so it goes until nothing more is put back.
    `all_run`: what can't be run is put back, unless unsafe fixes are asked for.
    """
    cases = {
        at: _Case(one, wishes[one.before.path], all_run and not wishes[one.before.path].demand.safety.unsafe)
        for at, one in enumerate(results)
        if isinstance(one, Fixed)
    }
    waiting = [case for case in cases.values() if case.fixed.changed]
    while waiting:
        bench.verdicts([job for case in waiting for job in case.jobs(1)])  # all at once; from here on they are known
        bench.verdicts([job for case in waiting for job in case.jobs(0, bench)])
        waiting = [case for case in waiting if case.goes_on(bench)]
    return [cases[at].result if at in cases else one for at, one in enumerate(results)]


@dataclass(slots=True)
class _Case:
    """One file on its way: which norms are spared, and why; which could not be run, and why."""

    fixed: Fixed
    wish: Wish
    all_run: bool = False
    spared: dict[Key, str] = field(default_factory=dict)
    unproved: dict[Key, str] = field(default_factory=dict)

    def jobs(self, after: int, bench: Bench | None = None) -> list[Job]:
        """All that is to be run, before or `after`; before only where it doesn't match afterwards."""
        pairs = [self._pair(key) for key in self.fixed.touched]
        unclear = [two for two in pairs if bench is None or _worst(bench.verdicts(two[1])).status != MATCH]
        return [job for pair in unclear for job in pair[after]]

    def goes_on(self, bench: Bench) -> bool:
        """Put back what didn't prove itself; is there something left that is to be run again?"""
        verdicts = {key: self._verdicts(bench, key) for key in self.fixed.touched}
        refused = {
            key: f"the fix of {self._codes(key)} is put back: {self._shown(before, after)}"
            for key, (before, after) in verdicts.items()
            if self._is_refused(before, after)
        }
        self.unproved = {
            key: f"{self._codes(key)} fixed, but {_unproved(after)}"
            for key, (_, after) in verdicts.items()
            if after.status == SKIPPED or (after.status == WRONG and not self.all_run)
        }
        if not refused:
            return False
        self.spared |= refused
        self.fixed = fix(self.fixed.before, replace(self.wish, spared=frozenset(self.spared)))
        return self.fixed.changed

    def _verdicts(self, bench: Bench, key: Key) -> tuple[Verdict, Verdict]:
        """Before and after; of what matches now nobody asks what it was."""
        old, new = self._pair(key)
        after = _worst(bench.verdicts(new))
        return (after if after.status == MATCH else _worst(bench.verdicts(old))), after

    def _is_refused(self, before: Verdict, after: Verdict) -> bool:
        unknown = after.status == SKIPPED or (before.status, after.status) == (SKIPPED, WRONG)
        return (self.all_run and unknown) or _worse(before, after)

    def _shown(self, before: Verdict, after: Verdict) -> str:
        if self.all_run and after.status == SKIPPED:
            return f"it can't be run ({after.reason}); --unsafe-fixes makes it all the same"
        return f"with it, the norm is {_now(before, after)}"

    @property
    def result(self) -> Fixed:
        """The file as it is to be written, with what is to be told."""
        if not (self.spared or self.unproved):
            return self.fixed
        back = (self._note(key, why) for key, why in self.spared.items())
        kept = (self._note(key, why) for key, why in self.unproved.items())
        unproved = kept if self.fixed.changed else ()
        report = self.fixed.report
        return replace(self.fixed, report=replace(report, notes=(*report.notes, *back, *unproved)))

    def _pair(self, key: Key) -> tuple[list[Job], list[Job]]:
        """The norms of this name before and after; what is no norm any more is run as what it was meant to be."""
        after = _jobs(self.fixed.report, key) or [job for other, job in self.fixed.rewritten if other == key]
        return _jobs(self.fixed.unfixed, key), after

    def _codes(self, key: Key) -> str:
        """The findings of a norm that were fixed."""
        return " and ".join(self.fixed.touched[key])

    def _note(self, key: Key, message: str) -> Failure:
        at = next((norm.place.line for norm in self.fixed.unfixed.norms if (norm.unit, norm.qualname) == key), None)
        return Failure(self.fixed.before.path, at, f"{key[1]}: {message}")


def _jobs(report: Report, key: Key) -> list[Job]:
    ready = [(norm, norm.pending.job) for norm in report.norms if norm.pending and norm.pending.job]
    return [job for norm, job in ready if (norm.unit, norm.qualname) == key]


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    from normlint.faces.verifying import WEIGHT

    nothing = Verdict(SKIPPED, "needs a definition of its own")
    return max(verdicts, key=lambda verdict: WEIGHT[verdict.status], default=nothing)


def _worse(before: Verdict, after: Verdict) -> bool:
    """Does the norm fail with the fix where it was right without it, or can it be run no more?"""
    if SKIPPED in (before.status, after.status):
        return after.status == SKIPPED != before.status
    order = (MATCH, PRECISION, WRONG)
    return order.index(after.status) > order.index(before.status) or _newly(before, after) is not None


def _newly(before: Verdict, after: Verdict) -> Probe | None:
    """A probe of a norm that stays wrong, which it passed without the fix."""
    failed = {(one.probe, one.dtype) for one in before.probes if not one.passed}
    passed = {(one.probe, one.dtype) for one in before.probes} - failed
    failing = (one for one in after.probes if not one.passed and (one.probe, one.dtype) in passed)
    return next(failing, None) if before.status == after.status == WRONG else None


def _now(before: Verdict, after: Verdict) -> str:
    new = _newly(before, after)
    return told(after) if new is None else f"{told(replace(after, reason=''))}, now also at {new.probe} in {new.dtype}"


def _unproved(after: Verdict) -> str:
    return f"not proved: {after.reason}" if after.status == SKIPPED else f"the norm is still {told(after)}"
