"""Judge a norm by interpreting its text on torch's tensors, without executing any of its Python.

The norm is judged in the caller's own process. The interpreter bounds the number of steps, but neither memory nor time,
so untrusted text must be judged in a process with limits.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final

import torch

import normlint
from normlint.evaluate import concrete
from normlint.evaluate.concrete import trust
from normlint.text.verdict import INTERNAL, SKIPPED, WRONG, Verdict
from normlint.verify.assembly import build
from normlint.verify.assembly.construct import Config
from normlint.verify.assembly.instance import first_line, missing
from normlint.verify.bench import judge
from normlint.verify.bench.bench import LeftOutError, RaisedError
from normlint.verify.bench.properties import effects
from normlint.verify.job import Job
from normlint.verify.program.elsewhere import StandInProgram, finder, root_of
from normlint.verify.subject import CannotBuildError

_INTERPRETER: Final = os.path.dirname(concrete.__file__)
_KNOWN: Final = (os.path.dirname(normlint.__file__), os.path.dirname(torch.__file__))

MORE: Final = judge.More(checks=(("effect of parameters", effects),))

trust(Config)
with contextlib.suppress(ImportError):  # models ask which torch there is
    from packaging.version import Version

    trust(Version)


Names = Callable[[Job], dict[str, Any]]


def interpreted(job: Job) -> dict[str, Any]:
    """Return the first name of the job's entry with its value in the interpreted program."""
    head = job.entry.partition(".")[0]
    return {head: StandInProgram(job.program, finder(job.path)).value(head)}


def judged(job: Job, *, device: str = "cpu", seed: int = 0, names: Names = interpreted) -> Verdict:
    """Return the job's verdict; `names` returns the namespace in which the job's entry is looked up."""
    verdict = _judged(job, device, seed, names)
    if verdict.status != WRONG or job.claims:
        return verdict
    # code without a gain that is not called a norm need not compute one
    return _skipped(f"a name or a gain that promises a norm ({verdict.reason})")


def _judged(job: Job, device: str, seed: int, names: Names) -> Verdict:
    if job.needs:
        return _skipped(job.needs)
    try:
        # keep the text's prints, its `set_grad_enabled` and its random state from the caller
        with contextlib.redirect_stdout(io.StringIO()), torch.enable_grad(), torch.random.fork_rng(devices=()):
            subject = build.subject(job, names(job), device)
            found = judge.judge(subject, device=device, seed=seed, draws=job.sweep, more=MORE)
            if found.status != WRONG:
                return found
            again = judge.judge(subject, device=device, seed=seed + 1, more=MORE)
            return found if again.status == WRONG else again  # wrong only if other inputs confirm it
    except CannotBuildError as error:
        return _skipped(str(error))
    except (MemoryError, RecursionError) as error:
        return _skipped(f"less of the machine ({type(error).__name__})")
    except (RaisedError, LeftOutError) as error:
        return _skipped(f"a norm that can be built ({error})")
    except Exception as error:  # noqa: BLE001 - a text may raise exceptions of its own
        frames = traceback.extract_tb(error.__traceback__)
        if not any(map(_is_users_code, frames)):
            return Verdict(SKIPPED, f"{INTERNAL}: {first_line(error)} in {frames[-1].name}, line {frames[-1].lineno}")
        return _skipped(missing(error) or f"a norm that can be built ({first_line(error)})")


def _is_users_code(frame: traceback.FrameSummary) -> bool:
    """Return whether a frame interprets the text, or lies in an imported module outside normlint and torch."""
    return frame.filename.startswith(_INTERPRETER) or not frame.filename.startswith(_KNOWN)


def _skipped(needs: str) -> Verdict:
    return Verdict(SKIPPED, f"needs {needs}")


# --- executing an imported module, only on request -------------------------------------------------------------------


def imported(job: Job) -> dict[str, Any]:
    """Return the names of the job's module, imported, as pytest does, from the folder that holds its package."""
    folder, file = os.path.split(job.module)
    root = root_of(folder)
    inside = [] if root == folder else os.path.relpath(folder, root).split(os.sep)
    stem = os.path.splitext(file)[0]
    if root not in sys.path:
        sys.path.insert(0, root)
    return vars(importlib.import_module(".".join([*inside, *([] if stem == "__init__" else [stem])])))
