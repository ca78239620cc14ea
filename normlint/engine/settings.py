"""What holds where: the settings of each directory, as ruff finds them.

Imported at each start, so nothing slow to import belongs here: what parses a configuration (`normlint.engine.config`)
is imported where there is one.
"""

from __future__ import annotations

import os
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, NoReturn

    from normlint.engine.linter import Demand

CACHE: Final = ".normlint_cache"
DTYPES: Final = ("fp16", "bf16", "fp32")
DEFAULT_EXCLUDE: Final = (
    *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache"),
    *(CACHE, ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox"),
    *(".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules"),
    *("site-packages", "venv"),
)


class ConfigError(Exception):
    """A wrong option or configuration; the message says what to do about it, in one line."""


class Settings:
    """What holds for the files below `root`, the directory of the configuration. It doesn't change; see `but`."""

    # No dataclass: importing that module alone takes longer than all the rest of a start.
    source: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES
    unsafe_fixes: bool = False
    verify: bool = False
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    output_format: str = "full"
    cache_dir: str | None = None

    def __init__(self, root: str = os.curdir, source: str | None = None, **values: Any) -> None:
        unknown = values.keys() - Settings.__annotations__.keys()
        if unknown:
            raise TypeError(f"no settings: {', '.join(sorted(unknown))}")
        self.root: str
        vars(self).update(values, root=root, source=source)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"settings don't change: {name}")

    def but(self, **values: Any) -> Settings:
        """The same with other values."""
        return Settings(**{**vars(self), **values})

    def over(self, **given: Any) -> Settings:
        """The same with what was given laid over it: None leaves a value as it is, `extend_…` adds to it."""
        values = {name: value for name, value in given.items() if value is not None}
        for name in ("extend_select", "extend_exclude"):
            values[name] = (*getattr(self, name), *values.get(name, ()))
        return self.but(**values)

    def shown(self) -> dict[str, Any]:
        """What a file may say, under the names of here; a place for the cache only where one is given."""
        hidden = ("source",) if self.cache_dir else ("source", "cache_dir")
        return {name: getattr(self, name) for name in Settings.__annotations__ if name not in hidden}

    def ignored(self, path: str) -> tuple[str, ...]:
        """The codes that are to be ignored in the file at `path`."""
        if not self.per_file_ignores:
            return ()
        fitting = (codes for pattern, codes in self.per_file_ignores if self.fits(path, (pattern,)))
        return tuple(code for codes in fitting for code in codes)

    def demand(self, path: str, *, noqa: bool = True) -> Demand:
        """What these settings want of the file at `path`."""
        from normlint.engine.linter import Demand
        from normlint.engine.selection import Safety, Selection

        selection = Selection(self.select, self.ignore, self.extend_select, self.dtypes)
        safety = Safety(self.unsafe_fixes, self.extend_safe_fixes, self.extend_unsafe_fixes)
        return Demand(selection, self.ignored(path), noqa, safety=safety)

    def wanted(self, path: str) -> str:
        """`Demand.key` of what these settings want, without the demand."""
        safety = (self.unsafe_fixes, self.extend_safe_fixes, self.extend_unsafe_fixes)
        return demand_key((self.select, self.ignore, self.extend_select, self.dtypes), self.ignored(path), safety)

    def excludes(self, path: str) -> bool:
        """Does one of the exclude patterns fit this path itself (its parents are asked by themselves)?"""
        return self.fits(path, self.exclude) or self.fits(path, self.extend_exclude)

    def fits(self, path: str, patterns: tuple[str, ...]) -> bool:
        """Does a pattern fit the path's last part, or the path from `root` on?"""
        name = os.path.basename(path)
        if name in patterns:
            return True
        special = special_patterns(patterns)
        if not special:
            return False
        from fnmatch import fnmatchcase

        relative = _relative(path, self.root)
        tries = [spelled for pattern in special for spelled in _spellings(pattern)]
        return any(fnmatchcase(name, pattern) or fnmatchcase(relative, pattern) for pattern in tries)


def demand_key(
    selection: tuple[object, ...], ignored: tuple[str, ...], safety: tuple[object, ...], *, noqa: bool = True
) -> str:
    """What decides which findings a file has, and with which fixes, as one line of text."""
    return repr((selection, ignored, safety, noqa))


@lru_cache(maxsize=256)
def special_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are more than the name of a file or directory."""
    return tuple(pattern for pattern in patterns if "/" in pattern or any(mark in pattern for mark in "*?["))


class Configs:
    """The settings of each directory, read once. `adjust` lays the command line over what a file says.

    A broken pyproject.toml is kept in `errors`, and what it governs is linted as if it weren't there.
    """

    __slots__ = ("_known", "adjust", "errors", "fixed")

    def __init__(
        self, adjust: Callable[[Settings], Settings] = lambda settings: settings, fixed: Settings | None = None
    ) -> None:
        self.adjust = adjust
        self.fixed = fixed
        self.errors: dict[str, ConfigError] = {}
        self._known: dict[str, Settings] = {}

    def of(self, path: str) -> Settings:
        """The settings for the file at `path`."""
        return self.of_directory(os.path.dirname(os.path.abspath(path)))

    def of_directory(self, directory: str) -> Settings:
        """The settings for the files in an absolute directory."""
        known = self._known.get(directory)
        if known is None:
            known = self._known[directory] = self._found(directory)
        return known

    def of_each(self, paths: tuple[str, ...]) -> list[Settings]:
        """The settings for each of the files; neighbours share them."""
        here, settings = None, None
        each = []
        for path in paths:
            directory = path.rpartition(os.sep)[0]
            if settings is None or directory != here:
                here, settings = directory, self.of(path)
            each.append(settings)
        return each

    def _found(self, directory: str) -> Settings:
        if self.fixed is not None:
            return self.adjust(self.fixed)
        file = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(file) and _may_name_us(file):
            from normlint.engine.config import load

            try:
                settings = load(file)
            except ConfigError as error:
                self.errors[file] = error
            else:
                if settings is not None:
                    return self.adjust(settings)
        above = os.path.dirname(directory)
        return self.of_directory(above) if above != directory else self.adjust(Settings(os.getcwd()))


def _may_name_us(file: str) -> bool:
    """A file without our name isn't parsed: whether it is TOML is for others to tell."""
    try:
        with open(file, "rb") as opened:
            return b"normlint" in opened.read()
    except OSError:
        return True


def _relative(path: str, root: str) -> str:
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:  # another drive
        return path.replace(os.sep, "/")


def _spellings(pattern: str) -> tuple[str, ...]:
    """The pattern for fnmatch: `**/` may stand for nothing, a directory for all below it."""
    plain = pattern.removeprefix("./").rstrip("/")
    return tuple({plain, plain.replace("**/", ""), plain.removesuffix("/**")})
