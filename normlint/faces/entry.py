"""Start the command, and answer runs on files that hold no norm or are in the cache, with few imports.

All other runs are passed on to `normlint.faces.cli`, with what is known by then; the output is the same. Imports here
are most of the time of a short run.
"""

from __future__ import annotations

import os
import sys

from normlint.engine.cache import CLEAN as NO_NORM
from normlint.engine.cache import SKIPPED, Cache, directory_for, stamp_of
from normlint.engine.discovery import Configs, discover
from normlint.engine.settings import Settings
from normlint.faces.terminal import (
    CLEAN,
    COMMANDS,
    FOUND,
    Started,
    ended,
    nothing_seen,
    passed,
    prepare_streams,
    scope,
    wants_colour,
)
from normlint.text import marks
from normlint.text.raw import BadSourceError, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from normlint.engine.cache import Known
    from normlint.engine.discovery import Found

_FLAGS: Final = ("--isolated", "--no-cache")
_CACHE_DIR: Final = "--cache-dir="
_FEW: Final = 8  # for up to so many files the cache is not read first
_SOME: Final = 64  # if more files must be read, several processes read them


def command() -> int:
    """Run the installed command, with garbage collected less often than by default, and end without freeing memory.

    Freeing it object by object takes a tenth of a small run. Profilers and started processes need a usual end.
    """
    import gc

    gc.set_threshold(600_000, 50, 100)
    status = main()
    if not _is_watched() and "multiprocessing" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def _is_watched() -> bool:
    """Return whether a profiler or tracer, such as coverage, has something to write at the end."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on, cProfile is found only there
    tools = () if monitoring is None else map(monitoring.get_tool, range(6))
    return any(one is not None for one in (sys.gettrace(), sys.getprofile(), *tools))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = _simple_arguments(given)
    return _full(given) if asked is None else ended(lambda: _answer(given, *asked))


def _simple_arguments(given: list[str]) -> tuple[list[str], str | None] | None:
    """Return the paths and the named cache directory; None if there are arguments that only `cli` handles."""
    paths: list[str] = []
    directory = None
    first = given[0] if given else ""
    if first in COMMANDS[1:] or (first.isalpha() and (first == COMMANDS[0]) == os.path.exists(first)):
        return None  # another subcommand, an unknown word, or a subcommand that is also a path
    rest = iter(given[1:] if first == COMMANDS[0] else given)
    for one in rest:
        if one == _CACHE_DIR[:-1]:
            directory = next(rest, "")
        elif one.startswith(_CACHE_DIR):
            directory = one[len(_CACHE_DIR) :]
        elif not one.startswith("-"):
            paths.append(one)
        elif one not in _FLAGS:
            return None
    return None if directory is not None and (not directory or directory.startswith("-")) else (paths, directory)


def _answer(given: list[str], paths: list[str], directory: str | None) -> int:
    configs = Configs(fixed=Settings(os.getcwd()) if "--isolated" in given else None)
    found = discover(paths or [os.curdir], configs)
    settings = configs.of_directory(os.getcwd())
    shown = settings.output_format
    plain = not (found.errors or configs.errors or settings.verify) and shown in ("full", "concise")
    cache = None
    cached = "--no-cache" not in given
    known = _known(found, configs, None) if plain and (len(found.paths) <= _FEW or not cached) else None
    if known is None and cached:
        cache = Cache(directory_for(configs, directory))
        known = _known(found, configs, cache) if plain else None
    status = _show_known(known, settings, found, paths) if known is not None else None
    if status is None:
        return _full(given, Started(configs, found, cache))
    if cache is not None:
        cache.save()
    return status


def _show_known(known: list[tuple[str, Known]], settings: Settings, found: Found, named: list[str]) -> int | None:
    """Print the cached report and return the exit status; None where the cache holds no valid report."""
    if not any(one.findings for _, one in known):
        skipped = sum(one.count == SKIPPED for _, one in known)
        norms = sum(int(one.count[:9]) for _, one in known if one.count.isdecimal())
        sys.stderr.write(nothing_seen(norms, found, named))
        sys.stdout.write(f"{passed(scope(norms, len(found.paths), skipped))}\n")
        return CLEAN
    from normlint.engine.report import any_at, merged
    from normlint.engine.stored import restored
    from normlint.faces.render import Display, render

    reports = [restored(path, one, norms=False) for path, one in known]
    whole = [report for report in reports if report is not None]
    if len(whole) < len(reports):
        return None
    prepare_streams()
    report = merged(whole)
    sys.stdout.write(render(report, settings.output_format, Display(wants_colour(sys.stdout), found.paths)))
    return FOUND if any_at(report.findings, settings.fail_on) else CLEAN


def _full(given: list[str], started: Started | None = None) -> int:
    from normlint.faces.cli import main as full

    return full(given, started)


def _known(found: Found, configs: Configs, cache: Cache | None) -> list[tuple[str, Known]] | None:
    """Return the known results of files with norms and of skipped files; None if a file has to be analysed."""
    known_paths = []
    read = 0
    for path, demand in configs.made_for(found.paths, Settings.wanted):
        known = cache.known(path, demand) if cache is not None else None
        if known is not None:
            if known.count:
                known_paths.append((path, known))
        elif read >= _SOME or not _holds_no_norm(path, cache):
            return None
        else:
            read += 1
    return known_paths


def _holds_no_norm(path: str, cache: Cache | None) -> bool:
    """Read the file and return whether it can't hold a norm; that is stored in the cache."""
    try:
        stamp = stamp_of(path) if cache is not None else ""
        data = read_bytes(path)
    except (BadSourceError, OSError, ValueError):
        return False
    if marks.may_concern(data):
        return False
    if cache is not None:
        cache.learn_file(path, stamp, NO_NORM)
    return True
