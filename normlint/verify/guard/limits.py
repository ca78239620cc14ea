"""Limit the CPU time and memory of a process that judges norms, and describe how such a process ended."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
from pathlib import Path
from typing import Final

MEMORY: Final = 4 << 30  # bytes of address space beside what torch has mapped
BROKEN: Final = "crashed: what it sent is no verdict"
_SIGNALS: Final = {"SIGSEGV": "segmentation fault", "SIGABRT": "aborted", "SIGFPE": "division by zero"}
_PARENT_DEATH_SIGNAL: Final = 1


def confine(seconds: float | None, *, accelerator: bool) -> None:
    """Limit this process: CPU time to `seconds` (None: any), memory unless on an `accelerator`, no core dumps."""
    if sys.platform == "win32":
        return
    import resource

    wanted = {resource.RLIMIT_CORE: (0, 0)}
    if seconds is not None:  # for when the parent, which keeps the deadline by the clock, is gone
        wanted[resource.RLIMIT_CPU] = (math.ceil(seconds) + 1, math.ceil(seconds) + 2)
    if not accelerator and sys.platform == "linux":
        space = _mapped() + MEMORY
        wanted[resource.RLIMIT_AS] = (space, space)
    for what, (soft, hard) in wanted.items():
        _, most = resource.getrlimit(what)
        most = hard if most == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(what, (min(soft, most), most))
        except (OSError, ValueError):  # macOS refuses some of the limits
            continue


def _mapped() -> int:
    """Return the bytes of address space in use; a terabyte, which limits nothing, where the system doesn't say."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 1 << 40


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; only on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def ending(code: int, timeout: float) -> str:
    """Describe how a process that gave no verdict ended; a negative `code` is a signal."""
    if code >= 0:
        return f"crashed: exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"crashed: signal {-code}"
    if name == "SIGXCPU":
        return f"timed out after {timeout:g} s"
    return f"crashed: {_SIGNALS.get(name, 'killed')} ({name})"
