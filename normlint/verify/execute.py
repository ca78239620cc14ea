"""A norm as Python itself has it: its module is imported, and all that this executes. Only where that was asked for."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from normlint.text.verdict import Verdict
from normlint.verify.interpret import interpreted, judged
from normlint.verify.job import Job
from normlint.verify.program.files import root_of


def executed(job: Job, *, device: str = "cpu", seed: int = 0) -> Verdict:
    """The verdict on the class or function of the imported module; lines out of a function are interpreted."""
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
