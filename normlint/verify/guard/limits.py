"""How much of the machine a process that judges a norm may use: time, memory, no core dumps."""

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
    """Limit this process for good: `seconds` of CPU time (None: any), and memory, of which a driver needs more."""
    if sys.platform == "win32":
        return
    import resource

    wanted = {resource.RLIMIT_CORE: (0, 0)}
    if seconds is not None:  # the deadline by the clock comes first; this holds where nobody is left to keep it
        wanted[resource.RLIMIT_CPU] = (math.ceil(seconds) + 1, math.ceil(seconds) + 2)
    if not accelerator and sys.platform == "linux":
        space = _mapped() + MEMORY
        wanted[resource.RLIMIT_AS] = (space, space)
    for what, (soft, hard) in wanted.items():
        _, most = resource.getrlimit(what)
        most = hard if most == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(what, (min(soft, most), most))
        except (OSError, ValueError):  # macOS refuses some: the others hold
            continue


def _mapped() -> int:
    """Bytes of address space in use now; a terabyte, which is no limit, where the system doesn't say."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 1 << 40


def die_with_parent() -> None:
    """Linux: no process outlives the one that started it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def ending(code: int, timeout: float) -> str:
    """In words, how a process ended that gave no verdict; a negative code is a signal."""
    if code >= 0:
        return f"crashed: exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"crashed: signal {-code}"
    if name == "SIGXCPU":
        return f"timed out after {timeout:g} s"
    return f"crashed: {_SIGNALS.get(name, 'killed')} ({name})"
