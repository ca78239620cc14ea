"""What an earlier run found out, in one file of text: a line for each file that was linted.

A line is believed if the file has the size and times that it had then, or else the same content. It says either
that the file can't hold a norm, which holds whatever is asked, or what was found for one demand. The seal on the
first line is that of the program, its interpreter and the directory it lies in, so that a manifest which came with
somebody's repository is as good as none; so is one that was cut short. Imported at each start.
"""

from __future__ import annotations

import os
import sys
import time

from normlint import __version__
from normlint.engine.settings import CACHE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from normlint.engine.settings import Configs

VARIABLE: Final = "NORMLINT_CACHE_DIR"
MANIFEST: Final = "manifest"
CLEAN: Final = "-"  # in a demand's place: no norm can be in the file, whatever is demanded
_CLEAN_END: Final = f"\t{CLEAN}\t\t"
_MAGIC: Final = "normlint-cache-1"
_RACY: Final = 2 * 10**9  # within so many ns a file may be written twice, and have the same time
_TOO_NEW: Final = "!"
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PAGE: Final = "page"  # in a path's place, which are all absolute
_UNSAFE: Final = ("\t", "\n")


class Known:
    """What is known of a file whose content is that of an earlier run: findings and norms as stored, empty for none."""

    __slots__ = ("findings", "norms")

    def __init__(self, findings: str = "", norms: str = "") -> None:
        self.findings = findings
        self.norms = norms


NOTHING: Final = Known()


class Cache:
    """The manifest of one directory, read once. Nothing that is wrong with it is more than time lost."""

    __slots__ = ("_directory", "_here", "_lines", "_new")

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._here = os.path.join(os.getcwd(), "")
        self._lines: dict[str, str] = _read(directory)
        self._new: dict[str, str] = {}

    def says(self, path: str, demand: str) -> Known | None:
        """What is known of the file as it is now; None if it has to be read."""
        line = self._line(path)
        if not line:
            return None
        try:
            stamp = stamp_of(path)
        except (OSError, ValueError):
            return None
        return _answer(line, demand) if line.startswith(f"{stamp}\t") else None

    def digest(self, path: str, demand: str) -> str:
        """Of the content that is known for this demand; empty if none is."""
        line = self._line(path)
        return line.split("\t")[1] if line and _answer(line, demand) is not None else ""

    def still_holds(self, path: str, demand: str, stamp: str) -> Known | None:
        """The file was read and has the known content: its times are new."""
        line = self._line(path)
        known = _answer(line, demand)
        self._new[self._key(path)] = _lasting(stamp) + line[line.index("\t") :]
        return known

    def learn(self, path: str, stamp: str, digest: str, demand: str = CLEAN, known: Known = NOTHING) -> None:
        """Keep what was found out; `demand` as it was asked, or CLEAN."""
        key = self._key(path)
        if not any(mark in key for mark in _UNSAFE):
            self._new[key] = "\t".join((_lasting(stamp), digest, demand, known.findings, known.norms))

    def page(self, digest: str) -> str | None:
        """How findings were shown, if these were the last ones to be."""
        known, _, text = self._lines.get(_PAGE, "").partition("\t")
        return text.encode("ascii", "replace").decode("unicode_escape", "replace") if known == digest else None

    def keep_page(self, digest: str, text: str) -> None:
        """Remember how findings are shown; of several such pages, the last."""
        self._new[_PAGE] = f"{digest}\t{text.encode('unicode_escape').decode('ascii')}"

    def save(self) -> None:
        """Write what is new, if anything is. Where that can't be done there is no cache."""
        if not self._new:
            return
        lines = {
            key: line
            for key, line in self._lines.items()
            if key not in self._new and (key == _PAGE or os.path.lexists(key))
        }
        lines.update(self._new)
        body = "".join(f"{key}\t{line}\n" for key, line in lines.items()).encode("utf-8", "surrogateescape")
        try:
            _write(self._directory, body)
        except (OSError, ValueError):
            return
        self._lines, self._new = lines, {}

    def _key(self, path: str) -> str:
        return path if os.path.isabs(path) else self._here + path

    def _line(self, path: str) -> str:
        return self._lines.get(self._key(path), "")


def _answer(line: str, demand: str) -> Known | None:
    if line.endswith(_CLEAN_END):
        return NOTHING
    fields = line.split("\t")
    if len(fields) != 5 or fields[2] not in (CLEAN, demand):
        return None
    return Known(fields[3], fields[4]) if fields[3] or fields[4] else NOTHING


def directory_for(configs: Configs, given: str | None = None) -> str:
    """Where the cache is: as the command line, the environment or the configuration says, else beside the latter."""
    chosen = given or os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    settings = configs.of_directory(os.getcwd())
    root = os.getcwd() if configs.fixed is not None else settings.root
    return os.path.abspath(os.path.join(settings.root, settings.cache_dir or os.path.join(root, CACHE)))


def stamp_of(path: str) -> str:
    """The size and the times of a file, while a later change would show in them; else what fits no file."""
    status = os.stat(path)
    if max(status.st_mtime_ns, status.st_ctime_ns) > time.time_ns() - _RACY:
        return f"{_TOO_NEW}{status.st_mtime_ns}"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _lasting(stamp: str) -> str:
    return _TOO_NEW if stamp.startswith(_TOO_NEW) else stamp


def digest_of(data: bytes) -> str:
    """What tells one content from another."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def _read(directory: str) -> dict[str, str]:
    try:
        with open(os.path.join(directory, MANIFEST), "rb") as file:
            head, _, body = file.read().partition(b"\n")
        if head != _seal(directory, body):
            return {}
        lines = body.decode("utf-8", "surrogateescape").split("\n")
        return dict([line.split("\t", 1) for line in lines if line])
    except (OSError, ValueError):
        return {}


def _write(directory: str, body: bytes) -> None:
    """At once, or not at all; a foreign file of this name is left alone."""
    make_directory(directory)
    file = os.path.join(directory, MANIFEST)
    if os.path.lexists(file) and not _is_ours(file):
        return
    temporary = f"{file}.{os.getpid()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(_seal(directory, body) + b"\n" + body)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def _is_ours(file: str) -> bool:
    if os.path.islink(file):
        return False
    with open(file, "rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC.encode()


def make_directory(directory: str) -> None:
    """Unless it is there; with what tells git, and those who make backups, to pass by. Raises OSError."""
    if os.path.isdir(directory):
        return
    os.makedirs(directory)
    with open(os.path.join(directory, ".gitignore"), "x", encoding="utf-8") as file:
        file.write("# Made by normlint.\n*\n")
    with open(os.path.join(directory, "CACHEDIR.TAG"), "x", encoding="utf-8") as file:
        file.write("Signature: 8a477f597d28d172789f06886806bc55\n# Made by normlint; it may be deleted at any time.\n")


def _seal(directory: str, body: bytes) -> bytes:
    from zlib import crc32

    place = os.stat(directory)
    origin = f"{program()} {place.st_dev} {place.st_ino}"
    return f"{_MAGIC} {crc32(origin.encode()):08x} {crc32(body):08x} {len(body)}".encode()


def program() -> str:
    """What decides what is found in a text: the version, the interpreter and the program's own files."""
    return f"{__version__} {sys.version} {_sources()}"


def _sources() -> str:
    """The program's own files, so that a change in them is a new program, if only an editor has seen it."""
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
