"""Run `--fix` and `--diff`: fix files in memory, check the fixed norms by running them, then write or show the result.

Each norm that a fix touched is interpreted before and after, and its fixes are undone if it gets worse. That is done
with `--verify`, and also without it where torch is installed, except with `--no-verify`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeAlias

from normlint.engine.fix import Fixed, FixRequest, Key, fix, fix_file, is_found_out, is_of_formula, prepared
from normlint.engine.report import Failure, Report, merged
from normlint.engine.run import each
from normlint.engine.write import write_atomically
from normlint.faces.options import Targets
from normlint.faces.render.verdicts import RUNTIME, verdict_text
from normlint.faces.terminal import watched
from normlint.text.raw import NOTEBOOK, BadSourceError, reason
from normlint.text.source import Source, Unit, split_lines
from normlint.text.verdict import EFFECTIVE_EPS, MATCH, PLAIN, SKIPPED, WEIGHT, WRONG, Probe, Verdict

if TYPE_CHECKING:  # what verifies is slow to import, and `--no-verify` does without it
    from normlint.engine.baseline import Acceptance
    from normlint.faces.verifying import CachedVerifier
    from normlint.norm.norm import Norm
    from normlint.verify.job import Job

Result: TypeAlias = "Fixed | Failure"
FP32: Final = "fp32"
FAR: Final = 1e-3 * 2**23  # in units of fp32's eps


def fix_files(options: Namespace, chosen: Targets, accepted: Acceptance | None) -> tuple[Report, str | bytes | None]:
    """Fix the files; return the report, and a diff or the fixed standard input to print instead of it, else None.

    Files are written except with `--diff`.
    """
    with _proving(options) as verifier:
        requests = [(path, FixRequest(demand, accepted)) for path, demand in chosen.tasks]
        if verifier:
            from normlint.faces.verifying import proving

            requests = [(path, proving(request)) for path, request in requests]
        results: Iterable[Result] = _fixed_results(chosen, requests, options.jobs)
        if verifier:
            results = kept_on_numbers(list(results), dict(requests), verifier, all_run=options.strict)
        elif options.verify is None:
            results = accepted_on_numbers(list(results), dict(requests))
        if options.diff or chosen.data is not None:
            every = list(results)
            reports = [shown(one) for one in every]
            text = diffs(every) if options.diff else fixed_bytes(every, chosen.data or b"")
        else:
            reports, text = [written(one) for one in results], None
        report = merged((Report(errors=chosen.errors, fixed=()), *reports))
        return (_without_runs(accepted, verifier.verified(report)) if verifier else report), text


def _fixed_results(chosen: Targets, requests: list[tuple[str, FixRequest]], jobs: int | None) -> Iterator[Result]:
    if chosen.data is not None:
        return (fix_file(path, request, chosen.data) for path, request in requests)
    return watched(each(fix_file, requests, jobs), len(requests), "Fixing")


def written(result: Result) -> Report:
    """Write the file if it was changed; if that fails, report the error and the findings before the fixes."""
    if isinstance(result, Fixed) and result.changed:
        before, after = result.before, result.after
        try:
            write_atomically(before.path, after.encode(after.text), before.encode(before.text))
        except (BadSourceError, OSError) as error:
            failure = Failure(before.path, None, f"not written: {reason(error)}")
            return replace(result.unfixed, errors=(*result.unfixed.errors, failure), fixed=())
    return shown(result)


def shown(result: Result) -> Report:
    """Return the report on a file that is fixed in memory and not written."""
    if isinstance(result, Failure):
        return Report(errors=(result,), fixed=())
    return replace(result.report, fixed=result.fixed)


def diffs(results: Iterable[Result]) -> str:
    """Return the diffs of the changed files."""
    return "".join(diff(one.before, one.after) for one in results if isinstance(one, Fixed) and one.changed)


def fixed_bytes(results: Sequence[Result], data: bytes) -> bytes:
    """Return the fixed standard input, or `data` if nothing was fixed."""
    changed = [one.after for one in results if isinstance(one, Fixed) and one.changed]
    return changed[0].encode(changed[0].text) if changed else data


def _proving(options: Namespace) -> AbstractContextManager[CachedVerifier | None]:
    if not options.verify:
        return nullcontext()
    from normlint.faces.verifying import verifying

    return verifying(options.device, options.verify_timeout)


def _without_runs(accepted: Acceptance | None, report: Report) -> Report:
    """Return the report without the runtime findings that the baseline accepts; the others are left out already."""
    if accepted is None:
        return report
    runs = [one for one in report.findings if one.code.startswith(RUNTIME)]
    gone = set(runs) - set(accepted.left(runs))
    return replace(report, findings=tuple(one for one in report.findings if one not in gone))


def accepted_on_numbers(results: list[Result], requests: Mapping[str, FixRequest]) -> list[Result]:
    """Return the files with only the fixes that running the norms confirms; unchanged if torch isn't installed.

    A fix of a norm that can't be run is kept only if unsafe fixes are enabled.
    """
    changed = {at: one for at, one in enumerate(results) if isinstance(one, Fixed) and one.changed}
    if not changed or find_spec("torch") is None:
        return results
    from normlint.faces.verifying import verifying

    proved_by = {one.before.path: _proving_touched(one, requests[one.before.path]) for one in changed.values()}
    with verifying("cpu", None) as verifier:
        ready: list[Result] = [prepared(one, proved_by[one.before.path]) for one in changed.values()]
        done = dict(zip(changed, kept_on_numbers(ready, proved_by, verifier, all_run=True), strict=True))
    return [_unprepared(done[at]) if at in done else one for at, one in enumerate(results)]


def _proving_touched(fixed: Fixed, request: FixRequest) -> FixRequest:
    """Return the request with jobs prepared only for the norms that a fix has touched."""
    from normlint.faces.verifying import proving
    from normlint.verify.program.prepare import prepare

    names = {name for _, name in fixed.touched}

    def touched(source: Source, unit: Unit, norm: Norm) -> Job | None:
        return prepare(source, unit, norm) if norm.qualname in names else None

    full = proving(request)
    return replace(full, demand=replace(full.demand, prepare=touched))


def _unprepared(result: Result) -> Result:
    """Return the result without the jobs of its norms, since no verdicts were asked for."""
    if not isinstance(result, Fixed):
        return result
    reports = (result.report, result.unfixed)
    plain = [replace(one, norms=tuple(replace(norm, pending=None) for norm in one.norms)) for one in reports]
    return replace(result, report=plain[0], unfixed=plain[1])


def kept_on_numbers(
    results: list[Result], requests: Mapping[str, FixRequest], verifier: CachedVerifier, *, all_run: bool = False
) -> list[Result]:
    """Return the files with only the fixes that didn't make a norm worse; notes say why the others were undone.

    If a norm's fixes are undone, its file is fixed again without that norm, until no more are undone.
    `all_run`: also undo fixes of norms that can't be run, unless unsafe fixes are enabled.
    """
    cases = {
        at: _Case(one, requests[one.before.path], all_run and not requests[one.before.path].demand.unsafe)
        for at, one in enumerate(results)
        if isinstance(one, Fixed)
    }
    waiting = [case for case in cases.values() if case.fixed.changed]
    while waiting:
        verifier.verdicts([job for case in waiting for job in case.jobs(1)])  # all at once; then they are known
        verifier.verdicts([job for case in waiting for job in case.jobs(0, verifier)])
        waiting = [case for case in waiting if case.goes_on(verifier)]
    return [cases[at].result if at in cases else one for at, one in enumerate(results)]


@dataclass(slots=True)
class _Case:
    """A file whose fixes are tried; `put_back` and `unproved`: why a norm's fixes were undone or not confirmed."""

    fixed: Fixed
    request: FixRequest
    all_run: bool = False
    put_back: dict[Key, str] = field(default_factory=dict)
    unproved: dict[Key, str] = field(default_factory=dict)

    def jobs(self, after: int, verifier: CachedVerifier | None = None) -> list[Job]:
        """Return the touched norms' jobs before (0) or `after` (1) the fixes, unless `verifier` shows a match after."""
        pairs = [self._pair(key) for key in self.fixed.touched]
        unclear = [two for two in pairs if verifier is None or _worst(verifier.verdicts(two[1])).status != MATCH]
        return [job for pair in unclear for job in pair[after]]

    def goes_on(self, verifier: CachedVerifier) -> bool:
        """Undo the fixes that failed; return whether any were undone and others are left, which must be run again."""
        verdicts = {key: self._verdicts(verifier, key) for key in self.fixed.touched}
        refused = {
            key: f"the fix of {self._codes(key)} is put back: {self._shown(before, after)}"
            for key, (before, after) in verdicts.items()
            if self._is_refused(before, after) or self._is_wrong_unseen(key, before, after)
        }
        self.unproved = {
            key: f"{self._codes(key)} fixed, but {_unproved_text(after)}"
            for key, (_, after) in verdicts.items()
            if after.status in (SKIPPED, WRONG)
        }
        if not refused:
            return False
        self.put_back |= refused
        self.fixed = fix(self.fixed.before, replace(self.request, skipped=frozenset(self.put_back)))
        return self.fixed.changed

    def _verdicts(self, verifier: CachedVerifier, key: Key) -> tuple[Verdict, Verdict]:
        """Return the verdicts before and after the fixes; a norm that matches after them isn't run as it was before."""
        old, new = self._pair(key)
        after = _worst(verifier.verdicts(new))
        return (after if after.status == MATCH else _worst(verifier.verdicts(old))), after

    def _is_refused(self, before: Verdict, after: Verdict) -> bool:
        unknown = after.status == SKIPPED or (before.status, after.status) == (SKIPPED, WRONG)
        return (self.all_run and unknown) or _worse(before, after)

    def _is_wrong_unseen(self, key: Key, before: Verdict, after: Verdict) -> bool:
        """Return whether a fix of the formula leaves the norm wrong, and no rule would report it any more."""
        if after.status != WRONG or not any(map(is_of_formula, self.fixed.touched[key])):
            return False
        return _is_far_off(before, after) and not is_found_out(self.fixed, self.request, key)

    def _shown(self, before: Verdict, after: Verdict) -> str:
        if self.all_run and after.status == SKIPPED:
            return f"it can't be run ({after.reason}); --unsafe-fixes makes it all the same"
        return f"with it, the norm is {_changed_verdict_text(before, after)}"

    @property
    def result(self) -> Fixed:
        """Return the file with its remaining fixes and the notes on the others."""
        if not (self.put_back or self.unproved):
            return self.fixed
        back = (self._note(key, why) for key, why in self.put_back.items())
        kept = (self._note(key, why) for key, why in self.unproved.items())
        unproved = kept if self.fixed.changed else ()
        report = self.fixed.report
        return replace(self.fixed, report=replace(report, notes=(*report.notes, *back, *unproved)))

    def _pair(self, key: Key) -> tuple[list[Job], list[Job]]:
        """Return the jobs of a norm before and after; one that is no longer recognised is run as the norm it was."""
        after = _jobs(self.fixed.report, key) or [job for other, job in self.fixed.rewritten if other == key]
        return _jobs(self.fixed.unfixed, key), after

    def _codes(self, key: Key) -> str:
        """Return the codes of a norm's fixed findings as text."""
        return " and ".join(self.fixed.touched[key])

    def _note(self, key: Key, message: str) -> Failure:
        at = next((norm.place.line for norm in self.fixed.unfixed.norms if (norm.unit, norm.qualname) == key), None)
        return Failure(self.fixed.before.path, at, f"{key[1]}: {message}")


def _jobs(report: Report, key: Key) -> list[Job]:
    ready = [(norm, norm.pending.job) for norm in report.norms if norm.pending and norm.pending.job]
    return [job for norm, job in ready if (norm.unit, norm.qualname) == key]


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    nothing = Verdict(SKIPPED, "needs a definition of its own")
    return max(verdicts, key=lambda verdict: WEIGHT[verdict.status], default=nothing)


def _worse(before: Verdict, after: Verdict) -> bool:
    """Return whether the norm fails more than before the fix, or can no longer be run."""
    if SKIPPED in (before.status, after.status):
        return after.status == SKIPPED != before.status
    return WEIGHT[after.status] > WEIGHT[before.status] or _newly_failing(before, after) is not None


def _newly_failing(before: Verdict, after: Verdict) -> Probe | None:
    """Return a probe that a wrong norm passed before the fix and fails after it; None if there is none."""
    failed = {one.name for one in before.probes if not one.passed}
    passed = {one.name for one in before.probes} - failed
    if (PLAIN, FP32) in failed:  # then the eps that acts can't be measured
        passed -= {(EFFECTIVE_EPS, FP32)}
    failing = (one for one in after.probes if not one.passed and one.name in passed)
    return next(failing, None) if before.status == after.status == WRONG else None


def _is_far_off(before: Verdict, after: Verdict) -> bool:
    """Return whether ordinary inputs come out wrong after a fix, and by a thousandth or about as much as before it."""
    was, now = ([one for one in v.probes if one.name == (PLAIN, FP32)] for v in (before, after))
    much = min([FAR, *(one.error / 4 for one in was if one.limit)])  # without a limit, it raised
    return any(not one.passed and not one.error <= much for one in now)


def _changed_verdict_text(before: Verdict, after: Verdict) -> str:
    new = _newly_failing(before, after)
    if new is None:
        return verdict_text(after)
    return f"{verdict_text(replace(after, reason=''))}, now also at {new.probe} in {new.dtype}"


def _unproved_text(after: Verdict) -> str:
    return f"not proved: {after.reason}" if after.status == SKIPPED else f"the norm is still {verdict_text(after)}"


_NO_END: Final = "\n\\ No newline at end of file\n"


def diff(before: Source, after: Source) -> str:
    """Return a unified diff, as `patch -p0` reads it; for a notebook a diff of each cell, for people."""
    if before.kind != NOTEBOOK:
        return "".join(_unified(before.path, before.text, after.text))
    changed = zip(before.cells, after.cells, strict=True)
    return "".join(
        line for (number, old), (_, new) in changed for line in _unified(f"{before.path}:cell {number}", old, new)
    )


def _unified(name: str, old: str, new: str) -> Iterator[str]:
    for line in unified_diff(split_lines(old), split_lines(new), name, name):
        yield line if line.endswith(("\n", "\r")) else line + _NO_END
