"""Writing a user's file: all of it or nothing, with its mode, through its links."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile


def write_atomically(path: str, data: bytes) -> None:
    """Put `data` in the file at `path`; OSError leaves the old file as it was."""
    real = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".normlint-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(real):
            shutil.copymode(real, temporary)
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
