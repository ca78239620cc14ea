"""Writing a user's file: all of it or nothing, with its mode and owner, through its links."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import time
from typing import Final

from normlint.text.raw import BadSourceError

_PREFIX: Final = ".normlint-"
_TEMPORARY: Final = re.compile(r"\.normlint-[a-z0-9_]{8}")  # as tempfile makes them
_ABANDONED: Final = 3600  # seconds, in which no file is still being written


def write_atomically(path: str, data: bytes, known: bytes | None = None) -> None:
    """Put `data` in the file at `path`; OSError leaves the old file as it was.

    `known`: what was read from it; BadSourceError if that is no longer what it holds.
    """
    real = os.path.realpath(path)
    _refuse_read_only(real)
    directory = os.path.dirname(real)
    _sweep(directory)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=_PREFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(real):
            _copy_owner(real, temporary)
            shutil.copymode(real, temporary)
        if known is not None:
            _refuse_changed(real, known)
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _sweep(directory: str) -> None:
    """Delete what runs that were killed have left."""
    with contextlib.suppress(OSError):
        for name in filter(_TEMPORARY.fullmatch, os.listdir(directory)):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - _ABANDONED:
                os.unlink(path)


def _copy_owner(real: str, temporary: str) -> None:
    """Where one may: a file that root mends stays its owner's."""
    status = os.stat(real)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)


def _refuse_read_only(real: str) -> None:
    """A file that nobody may write is not replaced, although its directory would let us."""
    with contextlib.suppress(FileNotFoundError):
        if not os.stat(real).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), real)


def _refuse_changed(real: str, known: bytes) -> None:
    with open(real, "rb") as file:
        if file.read() != known:
            raise BadSourceError("it was changed in the meantime; run again")
