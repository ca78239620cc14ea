"""Write a user's file atomically, keeping its mode, owner and links; and add noqa comments (`--add-noqa`)."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from normlint.engine.report import Diagnostic, Failure
from normlint.text.raw import NOTEBOOK, BadSourceError, reason
from normlint.text.read import read
from normlint.text.source import Source, split_lines
from normlint.text.suppress import NOQA, line_ranges

_PREFIX: Final = ".normlint-"
_TEMPORARY: Final = re.compile(r"\.normlint-[a-z0-9_]{8}")  # as tempfile makes them
_ABANDONED: Final = 3600  # seconds after which a temporary file is left over


def write_atomically(path: str, data: bytes, known: bytes | None = None) -> None:
    """Write `data` to the file at `path`; on OSError the old file is unchanged.

    `known`: the bytes that were read from it; BadSourceError if it has been changed since.
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
            _refuse_changed(real, known, data)
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _sweep(directory: str) -> None:
    """Delete temporary files that killed runs left behind."""
    with contextlib.suppress(OSError):
        for name in filter(_TEMPORARY.fullmatch, os.listdir(directory)):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - _ABANDONED:
                os.unlink(path)


def _copy_owner(real: str, temporary: str) -> None:
    """Keep the file's owner if permitted, so that a file fixed by root stays its owner's."""
    status = os.stat(real)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)


def _refuse_read_only(real: str) -> None:
    """Raise PermissionError for a read-only file, which could be replaced if its directory is writable."""
    with contextlib.suppress(FileNotFoundError):
        if not os.stat(real).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), real)


def _refuse_changed(real: str, known: bytes, data: bytes) -> None:
    """Raise BadSourceError if the file holds neither the known bytes nor the new ones (written through a link)."""
    with open(real, "rb") as file:
        if file.read() not in (known, data):
            raise BadSourceError("it was changed in the meantime; run again")


def add_noqa(findings: Iterable[Diagnostic]) -> tuple[int, tuple[Failure, ...]]:
    """Write noqa comments for the findings; return how many lines got one, and the files that can't be written."""
    by_file: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        by_file[finding.path][finding.start.line].add(finding.code)
    added, failures = 0, []
    for path, wanted in by_file.items():
        try:
            added += _add_to_file(path, wanted)
        except (BadSourceError, OSError) as error:
            failures.append(Failure(path, None, reason(error)))
    return added, tuple(failures)


def _add_to_file(path: str, wanted: Mapping[int, set[str]]) -> int:
    source = read(path)
    if source.kind == NOTEBOOK:
        raise BadSourceError("--add-noqa doesn't write notebooks: put the comment in the cell")
    if not source.faithful:
        raise BadSourceError(f"not written: {source.encoding} would not give the same bytes back")
    text, count = with_noqa(source, wanted)
    write_atomically(path, source.encode(text))
    return count


def with_noqa(source: Source, wanted: Mapping[int, set[str]]) -> tuple[str, int]:
    """Return the text with noqa comments for the wanted codes by line, and how many lines have one."""
    lines = split_lines(source.text)
    ranges = line_ranges(lines)
    by_last_line: dict[int, set[str]] = defaultdict(set)
    for line, codes in wanted.items():
        by_last_line[ranges.get(line, (line - 1, line))[1]] |= codes
    for line, codes in by_last_line.items():
        lines[line - 1] = _commented(lines[line - 1], codes)
    return "".join(lines), len(by_last_line)


def _commented(line: str, codes: set[str]) -> str:
    """Return the line with a noqa comment for the codes, added to an existing one that names codes."""
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    old = NOQA.search(body)
    if old and old["codes"]:
        listed = [code for code in re.split(r"[,\s]+", old["codes"]) if code]
        both = ", ".join(dict.fromkeys([*listed, *sorted(codes)]))
        gap = " " if old["codes"][-1].isspace() else ""
        return f"{body[: old.start('codes')]}{both}{gap}{body[old.end('codes') :]}{end}"
    return f"{body.rstrip()}  # noqa: {', '.join(sorted(codes))}{end}"
