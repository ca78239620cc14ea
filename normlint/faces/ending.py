"""How a run ends: its exit status, and no traceback. Imported at each start."""

from __future__ import annotations

import os
import sys

from normlint.engine.settings import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Final

CLEAN, FOUND, TROUBLE, INTERRUPTED = 0, 1, 2, 130
PASSED: Final = "All checks passed!"


def ended(run: Callable[[], int]) -> int:
    """The exit status of a run, whatever becomes of it."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except ConfigError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say, and nothing may be said at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _complain(f"output: {error.strerror or error}")


def prepare_streams() -> None:
    """What a terminal's encoding doesn't hold is shown escaped: it must not end the run."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _complain(message: str) -> int:
    sys.stderr.write(f"normlint: {' '.join(message.split())}\n")
    return TROUBLE


def wants_colour(stream: IO[str]) -> bool:
    """NO_COLOR says no, FORCE_COLOR says yes, else a terminal that isn't dumb decides."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
