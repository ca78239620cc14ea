"""One job in the process that runs it: gate, execute, build, judge. What a norm raises becomes a verdict here."""

from __future__ import annotations

import builtins
import sys
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final

from normlint.text.verdict import SKIPPED, Verdict
from normlint.verify.assembly import build
from normlint.verify.bench import judge
from normlint.verify.guard import gate
from normlint.verify.guard.guarded import RefusedError, builtin_names
from normlint.verify.guard.integrity import Snapshot
from normlint.verify.job import Job
from normlint.verify.subject import CannotBuildError

_NAME: Final = "verified"  # the module that a program believes to be
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Attempt:
    """A verdict, and whether the process is still what it was: fit for the next norm."""

    verdict: Verdict
    clean: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """Where norms are run: device, the process as it was before, whether programs are read first, the inputs' seed."""

    device: str
    before: Snapshot
    gated: bool = True
    seed: int = 0


def run(job: Job, bench: Bench) -> Attempt:
    """The job's verdict; its spare's where it has none itself."""
    first = _one(job, bench)
    if first.verdict.status != SKIPPED or job.spare is None or not first.clean:
        return first
    second = run(job.spare, bench)
    if second.verdict.status == SKIPPED:
        return replace(first, clean=second.clean)
    why = second.verdict.reason or f"the whole is skipped: {first.verdict.reason}"
    return replace(second, verdict=replace(second.verdict, reason=f"its own lines: {why}"))


def _one(job: Job, bench: Bench) -> Attempt:
    if job.needs:
        return Attempt(_skipped(f"needs {job.needs}"))
    attempt = _caught(job, bench)
    changed = bench.before.changed()
    return Attempt(_skipped(f"refused: {changed}"), clean=False) if changed else attempt


def _caught(job: Job, bench: Bench) -> Attempt:
    """The one place where everything is caught: a user's code may raise what it likes, SystemExit too."""
    try:
        return Attempt(_judged(job, bench))
    except (CannotBuildError, NameError, ImportError, RefusedError) as error:
        return Attempt(_skipped(_words(error)))
    except BaseException as error:  # noqa: BLE001
        return Attempt(_skipped(f"crashed: {_words(error)}"), clean=False)


def _judged(job: Job, bench: Bench) -> Verdict:
    refused = gate.refusal(job.program) if bench.gated else ""
    if refused:
        return _skipped(f"refused: {refused}")
    module = ModuleType(_NAME)
    sys.modules[_NAME] = module  # dataclasses look their class's module up
    namespace = vars(module)
    namespace["__builtins__"] = builtin_names() if bench.gated else vars(builtins)
    exec(compile(job.program, f"<{job.qualname}>", "exec", dont_inherit=True), namespace)  # noqa: S102
    subject = build.subject(job, namespace, bench.device)
    changed = bench.before.changed()  # before the judge says anything
    if changed:
        return _skipped(f"refused: {changed}")
    return judge.judge(subject, device=bench.device, seed=bench.seed, draws=job.sweep)


def _skipped(reason: str) -> Verdict:
    return Verdict(SKIPPED, reason)


def _words(error: BaseException) -> str:
    """What happened, in a line; the error's own words may be anything."""
    if isinstance(error, RefusedError):
        return f"refused: {error}"
    if isinstance(error, CannotBuildError):
        return f"needs {_line(error)}"
    if isinstance(error, (NameError, ImportError)):
        return f"needs {error.name or _line(error)}"
    if isinstance(error, SystemExit):
        return "it exits"
    if isinstance(error, MemoryError):
        return "out of memory"
    said = _line(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _line(value: Any) -> str:
    text = str(value).strip()
    return text.splitlines()[0][:_LONGEST] if text else ""
