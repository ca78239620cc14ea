"""Writing a user's file: all of it or nothing, with its mode and owner, through its links."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile

from normlint.text.raw import BadSourceError


def write_atomically(path: str, data: bytes, known: bytes | None = None) -> None:
    """Put `data` in the file at `path`; OSError leaves the old file as it was.

    `known`: what was read from it; BadSourceError if that is no longer what it holds.
    """
    real = os.path.realpath(path)
    _refuse_read_only(real)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".normlint-")
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
