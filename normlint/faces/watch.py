"""`--watch`: the same run again whenever a file that it looks at, or its configuration, has changed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from normlint.faces.options import discovered
from normlint.faces.terminal import INTERRUPTED, ended

if TYPE_CHECKING:
    from argparse import Namespace

    from normlint.engine.discovery import Configs

PAUSE: Final = 0.3  # seconds between two looks, at least
_CLEAR: Final = "\x1b[2J\x1b[H"


def watch(options: Namespace, configs: Callable[[], Configs], run: Callable[[Configs], int]) -> int:
    """Call `run` now and after each change of a file, until the user interrupts it; the exit status."""
    seen = None
    while True:
        began = time.monotonic()
        stamps = _stamps(options, configs)
        try:
            if stamps != seen:
                seen = stamps
                sys.stdout.write(_CLEAR if sys.stdout.isatty() else "")
                if ended(lambda: run(configs())) == INTERRUPTED:
                    return INTERRUPTED
                sys.stderr.write("normlint: waiting for changes; Ctrl-C ends it\n")
            time.sleep(max(PAUSE, 4 * (time.monotonic() - began)))
        except KeyboardInterrupt:
            return INTERRUPTED


def _stamps(options: Namespace, configs: Callable[[], Configs]) -> dict[str, tuple[int, int]]:
    """The size and time of each file that a run looks at, and of what configures it."""
    settings = configs()
    paths = discovered(options.paths, settings).paths
    sources = {one.source or "" for one in settings.of_each(paths)} | settings.errors.keys()
    stamps = {}
    for path in (*paths, *sorted(sources)):
        with suppress(OSError, ValueError):
            status = os.stat(path)
            stamps[path] = status.st_size, status.st_mtime_ns
    return stamps
