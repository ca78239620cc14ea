"""What was found in texts, for a host that reads every file each time and has no cache of its own, such as flake8.

An answer belongs to a text and to what was asked of it, wherever the file lies. All of them stand in one file among the
user's caches, to which each process adds a line for a text; another program (version, interpreter, sources) has another
file. A line that was torn or changed is as good as none, and nothing that goes wrong here is more than time lost.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, TypeAlias
from zlib import crc32

from normlint.engine.cache import VARIABLE, make_directory, program

Answer: TypeAlias = "list[tuple[int, int, str]]"  # line, column and what is said of it

MOST: Final = 8 * 2**20  # bytes, after which the file is begun anew
OLD: Final = 30 * 24 * 3600  # seconds, after which that of another program is deleted
_PREFIX: Final = "answers-"
_SAFE: Final = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))


def answers_of_user() -> Answers | None:
    """Where `NORMLINT_CACHE_DIR` says, else among the user's caches, as the platform has them; None if nowhere."""
    from platformdirs import user_cache_dir

    given = os.environ.get(VARIABLE)
    try:
        if not given and not os.path.isdir(os.path.expanduser("~")):
            return None
        return Answers(os.path.abspath(given or user_cache_dir("normlint", appauthor=False)))
    except (OSError, RuntimeError):  # the latter: somebody without a home
        return None


class Answers:
    """Those of one directory, read once. Raises OSError where the program's own files can't be seen."""

    def __init__(self, directory: str) -> None:
        self._file = os.path.join(directory, f"{_PREFIX}{crc32(program().encode()):08x}")
        self._lines = _read(self._file)

    def answer(self, text: str, asked: str, work: Callable[[], Answer | None]) -> Answer:
        """The known one, or what the work comes to, which is remembered; None is an answer that isn't to be."""
        key = _key(text, asked)
        known = _believed(key, self._lines.get(key, ""))
        if known is not None:
            return known
        found = work()
        if found is not None:
            self._keep(key, found)
        return found or []

    def _keep(self, key: str, found: Answer) -> None:
        payload = json.dumps(found, separators=(",", ":"))
        self._lines[key] = line = f"{_check(key, payload)} {payload}"
        try:
            _add(self._file, f"\n{key} {line}".encode())  # whatever was torn before it ends here
        except (OSError, ValueError):
            return


def _key(text: str, asked: str) -> str:
    return blake2b(f"{asked}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _check(key: str, payload: str) -> str:
    return f"{crc32(f'{key} {payload}'.encode()):08x}"


def _believed(key: str, line: str) -> Answer | None:
    check, _, payload = line.partition(" ")
    if not payload or check != _check(key, payload):
        return None
    try:
        found = json.loads(payload)
        return [_told(*one) for one in found] if isinstance(found, list) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _told(line: Any, column: Any, said: Any) -> tuple[int, int, str]:
    if type(line) is not int or type(column) is not int or not isinstance(said, str) or line < 1 or column < 0:
        raise TypeError
    return line, column, said


def _read(file: str) -> dict[str, str]:
    """Lines by their keys; none of a file that has become too large, which is deleted."""
    try:
        with os.fdopen(_opened(file, os.O_RDONLY), encoding="ascii", errors="replace", newline="\n") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size <= MOST:
                return dict(line.rstrip("\n").split(" ", 1) for line in opened if " " in line)
        os.unlink(file)
    except (OSError, ValueError):
        pass
    return {}


def _opened(file: str, flags: int) -> int:
    """A handle of a file that is one: no link, no pipe that nobody writes to. Raises OSError."""
    handle = os.open(file, flags | _SAFE, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(file)
    return handle


def _add(file: str, line: bytes) -> None:
    """In one write at the end, so that the lines of several processes don't mix."""
    directory = os.path.dirname(file)
    if not os.path.exists(file):
        make_directory(directory)
        _tidy(directory)
    handle = _opened(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _tidy(directory: str) -> None:
    """Without the files of programs that nobody has run for long."""
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.startswith(_PREFIX) and entry.stat().st_mtime < time.time() - OLD:
                    os.unlink(entry.path)
