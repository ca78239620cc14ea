"""`--fix` and `--diff`: files mended in memory, proved if that is asked for, and then written or shown."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from normlint.engine.fix import fix_bytes
from normlint.engine.report import Failure, Report, merged
from normlint.engine.run import fix_all
from normlint.engine.wish import Fixed, Wish
from normlint.engine.write import write_atomically
from normlint.faces.progress import watched
from normlint.faces.proof import accepted as accepted_on_numbers
from normlint.faces.proof import proved
from normlint.faces.targets import Targets
from normlint.text.raw import BadSourceError, reason

if TYPE_CHECKING:
    from normlint.engine.baseline import Acceptance
    from normlint.faces.verifying import Bench

Result: TypeAlias = "Fixed | Failure"


def mended(options: Namespace, chosen: Targets, accepted: Acceptance | None) -> tuple[Report, str | bytes | None]:
    """What was fixed and what remains; and what goes to standard output in the report's place: a diff, a filter's text.

    Files are written unless `--diff` only asks what would change.
    """
    with _proving(options) as bench:
        wishes = [(path, _wish(Wish(demand, accepted), bench)) for path, demand in chosen.tasks]
        results = _results(chosen, wishes, options.jobs)
        if bench:
            results = iter(proved(list(results), dict(wishes), bench, all_run=options.strict))
        elif options.verify is None:
            results = iter(accepted_on_numbers(list(results), dict(wishes)))
        if options.diff or chosen.data is not None:
            every = list(results)
            reports = [shown(one) for one in every]
            text = diffs(every) if options.diff else fixed_bytes(every, chosen.data or b"")
        else:
            reports, text = [written(one) for one in results], None
        report = merged((Report(errors=chosen.errors, fixed=()), *reports))
        return (_without_runs(accepted, bench.verified(report)) if bench else report), text


def _results(chosen: Targets, wishes: list[tuple[str, Wish]], jobs: int | None) -> Iterator[Result]:
    if chosen.data is not None:
        data = chosen.data
        return (fix_bytes(path, data, wish) for path, wish in wishes)
    return watched(fix_all(wishes, jobs), len(wishes), "Fixing")


def _wish(plain: Wish, bench: Bench | None) -> Wish:
    if bench is None:
        return plain
    from normlint.faces.verifying import proving

    return proving(plain)


def _proving(options: Namespace) -> AbstractContextManager[Bench | None]:
    if not options.verify:
        return nullcontext()
    from normlint.faces.verifying import verifying

    return verifying(options.device, options.verify_timeout)


def written(result: Result) -> Report:
    """Write the file if it was changed. What can't be written is told, and its findings remain."""
    if isinstance(result, Failure):
        return Report(errors=(result,), fixed=())
    if not result.changed:
        return replace(result.report, fixed=())
    before, after = result.before, result.after
    try:
        write_atomically(before.path, after.encode(after.text), before.encode(before.text))
    except BadSourceError as bad:
        return _unwritten(result, bad.message)
    except OSError as error:
        return _unwritten(result, reason(error))
    return replace(result.report, fixed=result.fixed)


def shown(result: Result) -> Report:
    """The same with nothing written."""
    if isinstance(result, Failure):
        return Report(errors=(result,), fixed=())
    return replace(result.report, fixed=result.fixed)


def diffs(results: Iterable[Result]) -> str:
    """What would change in each file."""
    from normlint.faces.render.diff import diff

    return "".join(diff(one.before, one.after) for one in results if isinstance(one, Fixed) and one.changed)


def fixed_bytes(results: Sequence[Result], data: bytes) -> bytes:
    """What a filter gives back: the text that was read, mended as far as it could be."""
    changed = [one.after for one in results if isinstance(one, Fixed) and one.changed]
    return changed[0].encode(changed[0].text) if changed else data


def _without_runs(accepted: Acceptance | None, report: Report) -> Report:
    """Less what a baseline accepts of the findings that only running showed; the others are left out already."""
    if accepted is None:
        return report
    from normlint.faces.render.verdicts import RUNTIME

    runs = [one for one in report.findings if one.code.startswith(RUNTIME)]
    gone = set(runs) - set(accepted.left(runs))
    return replace(report, findings=tuple(one for one in report.findings if one not in gone))


def _unwritten(result: Fixed, why: str) -> Report:
    told = Failure(result.before.path, None, f"not written: {why}")
    return replace(result.unfixed, errors=(*result.unfixed.errors, told), fixed=())
