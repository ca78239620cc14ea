"""Handle exit status, output streams, colour and the progress bar. Imported at each start."""

from __future__ import annotations

import os
import sys
import time

from normlint.engine.settings import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO, Final, TypeVar

    from normlint.engine.cache import Cache
    from normlint.engine.discovery import Configs, Found

    Item = TypeVar("Item")

CLEAN, FOUND, TROUBLE, INTERRUPTED = 0, 1, 2, 130
COMMANDS: Final = ("check", "rule")
PATIENCE: Final = 1.0  # seconds without a progress bar


class Started:
    """What `entry` has computed for the same arguments before `cli` is imported."""

    __slots__ = ("cache", "configs", "found")

    def __init__(self, configs: Configs, found: Found, cache: Cache | None) -> None:
        self.configs = configs
        self.found = found
        self.cache = cache


def ended(run: Callable[[], int]) -> int:
    """Run and return the exit status, with an error message for the exceptions that may end a run."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except ConfigError as error:
        return _print_error(str(error))
    except BrokenPipeError:
        # The reader has gone (`| head`): redirect stdout, so that flushing it at exit raises no error either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _print_error(f"output: {error.strerror or error}")


def counted(number: int, what: str) -> str:
    """Return the number with the noun: `1 norm`, `2 norms`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def scope(norms: int, files: int, skipped: int = 0, unread: int = 0) -> str:
    """Return what was looked at: `2 norms in 416 files; 1 file skipped by a comment`."""
    looked = f"{counted(norms, 'norm')} in {counted(files - skipped - unread, 'file')}"
    left_out = (f"{counted(skipped, 'file')} skipped by a comment", f"{counted(unread, 'file')} failed")
    return "; ".join((looked, *(one for one, number in zip(left_out, (skipped, unread), strict=True) if number)))


def passed(looked: str) -> str:
    """Return the last line of a run without findings; `looked` is its scope."""
    return f"All checks passed: {looked}."


def nothing_seen(norms: int, found: Found, named: Sequence[str]) -> str:
    """Return a warning if a searched directory holds no norm or no file; "" if there are norms or only files named."""
    if norms or not (found.searched or not found.paths):
        return ""
    where = " ".join(named) or "."
    if found.paths:
        return f"normlint: warning: 0 norms found in {where}: is this the right folder?\n"
    return f"normlint: warning: no Python file found in {where} that isn't excluded\n"


def prepare_streams() -> None:
    """Make the output streams escape characters that their encoding doesn't have, instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _print_error(message: str) -> int:
    sys.stderr.write(f"normlint: {' '.join(message.split())}\n")
    return TROUBLE


def wants_colour(stream: IO[str]) -> bool:
    """Return whether to colour output: NO_COLOR forbids it, FORCE_COLOR forces it, else only on a capable terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def watched(items: Iterator[Item], count: int, doing: str = "Linting") -> Iterator[Item]:
    """Return an iterator over the items; on a terminal, a progress bar appears after a second until the end."""
    return _with_progress_bar(items, count, doing) if sys.stderr.isatty() else items


def _with_progress_bar(items: Iterator[Item], count: int, doing: str) -> Iterator[Item]:
    started = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - started > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=count, completed=done)
        for item in items:
            yield item
            progress.advance(task)
