"""Cache what was found in each text, for the command and for flake8. Imported at each start.

A cache is one file in a directory, to which each run appends lines: the digest that a file had with its size and
times, and what was found in the content of a digest for one demand. Each version of normlint, interpreter and
directory has its own cache file, so that one that came with a cloned repository isn't read. A line with a wrong
checksum is ignored.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from normlint import __version__
from normlint.engine.settings import CACHE, ConfigError
from normlint.text.raw import ABSENT, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from normlint.engine.discovery import Configs

VARIABLE: Final = "NORMLINT_CACHE_DIR"
PREFIX: Final = "cache-"
SKIPPED: Final = "-"  # in place of a count: a comment skips the file
CLEAN: Final = "-"  # in place of a digest: the file can't hold a norm, whatever the demand
MOST: Final = 64 * 2**20  # bytes; a larger cache file is deleted
OLD: Final = 30 * 24 * 3600  # seconds; a cache file unused for longer is deleted
_RACY: Final = 2 * 10**9  # ns within which a file may be written twice with the same time
_TOO_NEW: Final = "!"
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SAFE: Final = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))


class Known:
    """What was found in a text: findings and norms as stored, "" for none, and how many norms, or SKIPPED."""

    __slots__ = ("count", "findings", "norms")

    def __init__(self, findings: str = "", norms: str = "", count: str = "") -> None:
        self.findings = findings
        self.norms = norms
        self.count = count


NOTHING: Final = Known()


class Cache:
    """The cache in one directory, read once; if it is damaged or can't be written, files are analysed again."""

    __slots__ = ("_directory", "_here", "_lines", "_new")

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._here = os.path.join(os.getcwd(), "")
        self._lines: dict[str, str] = _read(directory)
        self._new: dict[str, str] = {}

    def known(self, path: str, demand: str) -> Known | None:
        """Return what is known of the file as it is now; None if it has to be read."""
        stamp, digest, others = self._file(path)
        if not (digest and stamp) or stamp != stamps_of((path, *others)):
            return None
        return NOTHING if digest == CLEAN else self.found(digest, demand)

    def digest(self, path: str, demand: str) -> tuple[str, tuple[str, ...]]:
        """Return the digest that the file had last and the other files it depends on; empty without a stored report."""
        _, digest, others = self._file(path)
        return (digest, others) if digest and digest != CLEAN and self.found(digest, demand) else ("", ())

    def found(self, digest: str, demand: str) -> Known | None:
        """Return what was found in the content of this digest for this demand; None if that isn't known."""
        line = self._line_of(_digest_key(digest, demand))
        if line is None:
            return None
        findings, norms, count = (*line.split("\t"), "", "")[:3]
        return Known(findings, norms, count) if findings or norms or count else NOTHING

    def learn_file(self, path: str, stamp: str, digest: str, others: tuple[str, ...] = ()) -> None:
        """Store a file's digest, or CLEAN if it can't hold a norm, and the other files that its findings depend on."""
        if not any(mark in one for mark in "\t\n" for one in (path, *others)):
            kept = _TOO_NEW if _TOO_NEW in stamp else stamp
            self._keep(self._path_key(path), "\t".join((kept, digest, *others)))

    def learn(self, digest: str, demand: str, known: Known) -> None:
        """Store what was found in the content of this digest for this demand."""
        self._keep(_digest_key(digest, demand), f"{known.findings}\t{known.norms}\t{known.count}")

    def save(self) -> None:
        """Append what is new to the cache file; do nothing if it can't be written."""
        if not self._new:
            return
        lines = "".join(f"\n{key}\t{line}" for key, line in self._new.items())
        try:
            _append(self._directory, lines.encode("utf-8", "surrogateescape"))
        except (OSError, ValueError):
            return
        self._lines.update(self._new)
        self._new = {}

    def _file(self, path: str) -> tuple[str, str, tuple[str, ...]]:
        """Return the stamp and digest that a file had last, "" if unknown, and the other files it depends on."""
        stamp, _, more = (self._line_of(self._path_key(path)) or "").partition("\t")
        digest, *others = more.split("\t")
        return stamp, digest, tuple(others)

    def _path_key(self, path: str) -> str:
        return path if os.path.isabs(path) else self._here + path

    def _keep(self, key: str, payload: str) -> None:
        self._new[key] = f"{_check(key, payload)}\t{payload}"

    def _line_of(self, key: str) -> str | None:
        check, _, payload = (self._new.get(key) or self._lines.get(key, "")).partition("\t")
        return payload if check and check == _check(key, payload) else None


def _digest_key(digest: str, demand: str) -> str:
    return digest_of(f"{digest} {demand}".encode("utf-8", "surrogatepass"))


def _check(key: str, payload: str) -> str:
    from zlib import crc32

    return f"{crc32(f'{key} {payload}'.encode('utf-8', 'surrogateescape')):08x}"


def directory_for(configs: Configs, given: str | None = None) -> str:
    """Return the cache directory from the command line, the environment or the configuration, else the default one.

    ConfigError if a project's own configuration names a directory outside the project.
    """
    chosen = given or os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    settings = configs.of_directory(os.getcwd())
    if not settings.cache_dir:
        return os.path.abspath(os.path.join(os.getcwd() if configs.fixed is not None else settings.root, CACHE))
    directory = os.path.abspath(os.path.join(settings.root, settings.cache_dir))
    if not _lies_in(directory, settings.root):
        raise ConfigError(
            f"{settings.source}: cache-dir {settings.cache_dir!r} is outside of the project; --cache-dir may name any"
        )
    return directory


def _lies_in(directory: str, root: str) -> bool:
    real = os.path.realpath(root)
    return os.path.realpath(directory).startswith(os.path.join(real, ""))


def stamp_of(path: str) -> str:
    """Return a file's size and times; for a file changed just now, a stamp that never matches again."""
    status = os.stat(path)
    if max(status.st_mtime_ns, status.st_ctime_ns) > time.time_ns() - _RACY:
        return f"{_TOO_NEW}{status.st_mtime_ns}"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def stamps_of(paths: Iterable[str]) -> str:
    """Return the stamps of several files, which may be missing; "" if one can't be looked at."""
    try:
        return " ".join(stamp_of(path) if os.path.lexists(path) else ABSENT for path in paths)
    except (OSError, ValueError):
        return ""


def digest_with(data: bytes, others: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a file's content together with the paths and digests of other files."""
    return digest_of(data + "".join(f"\n{path}\t{digest}" for path, digest in others).encode("utf-8", "replace"))


def _read(directory: str) -> dict[str, str]:
    """Return the lines of the cache file by their keys; a file that has become too large is deleted."""
    try:
        file = _file_in(directory)
        with os.fdopen(_open_regular(file, os.O_RDONLY), "rb") as opened:
            if os.fstat(opened.fileno()).st_size <= MOST:
                lines = opened.read().decode("utf-8", "surrogateescape").split("\n")
                return dict([line.split("\t", 1) for line in lines if "\t" in line])
        os.unlink(file)
    except (OSError, ValueError):
        pass
    return {}


def _open_regular(file: str, flags: int) -> int:
    """Open a regular file and return its descriptor; OSError for a link, a pipe or a device."""
    handle = os.open(file, flags | _SAFE, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(file)
    return handle


def _append(directory: str, lines: bytes) -> None:
    """Append the lines to the cache file in a single write, so that lines of several processes don't mix."""
    _make_directory(directory)
    file = _file_in(directory)
    if not os.path.lexists(file):
        _delete_old(directory)
    handle = _open_regular(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, lines)
    finally:
        os.close(handle)


def _make_directory(directory: str) -> None:
    """Create the directory if it is missing, with the files that make git and backups ignore it."""
    if os.path.isdir(directory):
        return
    os.makedirs(directory)
    with open(os.path.join(directory, ".gitignore"), "x", encoding="utf-8") as file:
        file.write("# Made by normlint.\n*\n")
    with open(os.path.join(directory, "CACHEDIR.TAG"), "x", encoding="utf-8") as file:
        file.write("Signature: 8a477f597d28d172789f06886806bc55\n# Made by normlint; it may be deleted at any time.\n")


def _delete_old(directory: str) -> None:
    """Delete cache files of other versions or interpreters that haven't been used for a month."""
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                if entry.name.startswith(PREFIX) and entry.stat().st_mtime < time.time() - OLD:
                    os.unlink(entry.path)
            except OSError:
                continue


def _file_in(directory: str) -> str:
    """Return the cache file for this normlint, interpreter and directory; OSError if the latter is no directory."""
    from zlib import crc32

    place = os.lstat(directory)
    if not stat.S_ISDIR(place.st_mode):
        raise NotADirectoryError(directory)
    origin = f"{__version__} {sys.version} {_sources()} {place.st_dev} {place.st_ino}"
    return os.path.join(directory, f"{PREFIX}{crc32(origin.encode()):08x}")


def _sources() -> str:
    """Return a checksum of normlint's own files, so that an edit of them starts a new cache file."""
    from zlib import crc32

    stamps = []
    waiting = [_PACKAGE]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    waiting.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    stamps.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return f"{crc32(' '.join(sorted(stamps)).encode('utf-8', 'surrogateescape')):08x}"
