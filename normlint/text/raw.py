"""Read files as bytes. Imported at each start, so it imports nothing slow."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # typing's own takes longer to import than a small file to lint
if TYPE_CHECKING:
    from typing import Final

PYTHON: Final = "python"
NOTEBOOK: Final = "notebook"
MARKDOWN: Final = "markdown"
SUFFIXES: Final = {".py": PYTHON, ".pyi": PYTHON, ".ipynb": NOTEBOOK, ".md": MARKDOWN}
ABSENT: Final = "-"  # the digest of a missing file
MOST_BYTES: Final = 512 * 2**20


class BadSourceError(Exception):
    """A file that can't be read or parsed; `line` is where it went wrong, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_bytes(path: str) -> bytes:
    """Return the bytes of a regular file; BadSourceError if it is none, is too large or can't be read."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise BadSourceError("not a regular file")
        if status.st_size > MOST_BYTES:
            raise BadSourceError(f"too large to be read ({megabytes(status.st_size)})")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise BadSourceError(reason(error)) from None


def digest_of(data: bytes | None) -> str:
    """Return a digest of the bytes; ABSENT for None."""
    if data is None:
        return ABSENT
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def reason(error: Exception) -> str:
    """Return an operating system's error as text, without the path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def megabytes(size: int) -> str:
    """Return a size in bytes as text in MB."""
    return f"{size / 2**20:.0f} MB"
