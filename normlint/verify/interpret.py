"""A norm judged by interpreting its text with torch's tensors: none of its Python is executed, in no process.

It works in the caller's own process; what the text computes is bounded in steps, not in memory or time: whoever judges
texts of strangers does so in a process with limits.
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
from normlint.verify.job import Job
from normlint.verify.program.elsewhere import StandInProgram, finder, root_of
from normlint.verify.subject import CannotBuildError

_INTERPRETER: Final = os.path.dirname(concrete.__file__)
_KNOWN: Final = (os.path.dirname(normlint.__file__), os.path.dirname(torch.__file__))

trust(Config)


Names = Callable[[Job], dict[str, Any]]


def interpreted(job: Job) -> dict[str, Any]:
    """The name that the job's entry begins with, and what it means in the interpreted program."""
    head = job.entry.partition(".")[0]
    return {head: StandInProgram(job.program, finder(job.path)).value(head)}


def judged(job: Job, *, device: str = "cpu", seed: int = 0, names: Names = interpreted) -> Verdict:
    """The job's verdict. `names`: what makes the job's entry."""
    verdict = _judged(job, device, seed, names)
    if verdict.status != WRONG or job.claims:
        return verdict
    # what nobody calls a norm, and has no gain, promises nothing
    return _skipped(f"a name or a gain that promises a norm ({verdict.reason})")


def _judged(job: Job, device: str, seed: int, names: Names) -> Verdict:
    if job.needs:
        return _skipped(job.needs)
    try:
        # an interpreted `print` says that there is one; a text's `set_grad_enabled`, and its chance, end with its norm
        with contextlib.redirect_stdout(io.StringIO()), torch.enable_grad(), torch.random.fork_rng(devices=()):
            subject = build.subject(job, names(job), device)
            found = judge.judge(subject, device=device, seed=seed, draws=job.sweep)
            if found.status != WRONG:
                return found
            again = judge.judge(subject, device=device, seed=seed + 1)  # of chance nobody is called wrong
            return found if again.status == WRONG else again
    except CannotBuildError as error:
        return _skipped(str(error))
    except (MemoryError, RecursionError) as error:
        return _skipped(f"less of the machine ({type(error).__name__})")
    except (RaisedError, LeftOutError) as error:
        return _skipped(f"a norm that can be built ({error})")
    except Exception as error:  # noqa: BLE001 - a text may raise exceptions of its own
        frames = traceback.extract_tb(error.__traceback__)
        if not any(map(_is_of_the_text, frames)):
            return Verdict(SKIPPED, f"{INTERNAL}: {first_line(error)} in {frames[-1].name}, line {frames[-1].lineno}")
        return _skipped(missing(error) or f"a norm that can be built ({first_line(error)})")


def _is_of_the_text(frame: traceback.FrameSummary) -> bool:
    """It interprets the text, or stands in a module that was imported: neither ours nor torch's."""
    return frame.filename.startswith(_INTERPRETER) or not frame.filename.startswith(_KNOWN)


def _skipped(needs: str) -> Verdict:
    return Verdict(SKIPPED, f"needs {needs}")


# --- as Python itself has it: the module is imported, with all that this executes; only where that was asked for ----


def executed(job: Job, *, device: str = "cpu", seed: int = 0) -> Verdict:
    """The verdict on the class or function of the imported module."""
    return judged(job, device=device, seed=seed, names=_imported)


def _imported(job: Job) -> dict[str, Any]:
    """The names of the module, imported as pytest does it: from the folder that its package lies in."""
    if not job.module:
        return interpreted(job)
    folder, file = os.path.split(job.module)
    root = root_of(folder)
    inside = [] if root == folder else os.path.relpath(folder, root).split(os.sep)
    stem = os.path.splitext(file)[0]
    if root not in sys.path:
        sys.path.insert(0, root)
    return vars(importlib.import_module(".".join([*inside, *([] if stem == "__init__" else [stem])])))
