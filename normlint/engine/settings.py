"""Define the settings that apply to a file. Imported at each start, so nothing slow may be imported here."""

from __future__ import annotations

import os
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final, NoReturn

CACHE: Final = ".normlint_cache"
DTYPES: Final = ("fp16", "bf16", "fp32")
DEFAULT_EXCLUDE: Final = (
    *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache"),
    *(CACHE, ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox"),
    *(".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules"),
    *("site-packages", "venv"),
)


OWN_FILES: Final = (".normlint.toml", "normlint.toml")
CONFIG_FILES: Final = (*OWN_FILES, "pyproject.toml")  # the first one in a directory is read


class ConfigError(Exception):
    """A wrong option or configuration; the message says in one line what to do about it."""


class Settings:
    """The settings of the files below `root`, the directory of the configuration; immutable, see `but`."""

    # No dataclass: importing dataclasses takes longer than all the rest of a start.
    source: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES
    min_severity: str = "warning"
    fail_on: str = "warning"
    unsafe_fixes: bool = False
    verify: bool = False
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
        """Return a copy of these settings with other values."""
        return Settings(**{**vars(self), **values})

    def over(self, **given: Any) -> Settings:
        """Return a copy with the given values: None leaves a value as it is, `extend_…` adds to it."""
        values = {name: value for name, value in given.items() if value is not None}
        for name in ("extend_select", "extend_exclude"):
            values[name] = (*getattr(self, name), *values.get(name, ()))
        return self.but(**values)

    def shown(self) -> dict[str, Any]:
        """Return the settings that a configuration file may hold; the cache directory only if one is given."""
        hidden = ("source",) if self.cache_dir else ("source", "cache_dir")
        return {name: getattr(self, name) for name in Settings.__annotations__ if name not in hidden}

    def ignored(self, path: str) -> tuple[str, ...]:
        """Return the codes that are ignored in the file at `path`."""
        if not self.per_file_ignores:
            return ()
        fitting = (codes for pattern, codes in self.per_file_ignores if self.fits(path, (pattern,)))
        return tuple(code for codes in fitting for code in codes)

    def wanted(self, path: str) -> str:
        """Return the key of the demand of these settings (`Demand.key`) without making the demand."""
        selection = (self.select, self.ignore, self.extend_select, self.dtypes, self.min_severity)
        return demand_key(selection, self.ignored(path), unsafe=self.unsafe_fixes)

    def excludes(self, path: str) -> bool:
        """Return whether an exclude pattern fits this path itself; its parents are to be checked separately."""
        return self.fits(path, self.exclude) or self.fits(path, self.extend_exclude)

    def fits(self, path: str, patterns: tuple[str, ...]) -> bool:
        """Return whether a pattern fits the path's last part or the path relative to `root`."""
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


def demand_key(selection: tuple[object, ...], ignored: tuple[str, ...], *, unsafe: bool, noqa: bool = True) -> str:
    """Return as one line of text what decides which findings and fixes a file has."""
    return repr((selection, ignored, unsafe, noqa))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean select?)` with the known word most like this one; "" if none is."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1, 0.6)
    return f" (did you mean {close[0]}?)" if close else ""


@lru_cache(maxsize=256)
def special_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the patterns that are more than the plain name of a file or directory."""
    return tuple(pattern for pattern in patterns if "/" in pattern or any(mark in pattern for mark in "*?["))


def _relative(path: str, root: str) -> str:
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:  # another drive
        return path.replace(os.sep, "/")


def _spellings(pattern: str) -> tuple[str, ...]:
    """Return the patterns to try with fnmatch: `**/` may stand for nothing, a directory for all below it."""
    plain = pattern.removeprefix("./").rstrip("/")
    return tuple({plain, plain.replace("**/", ""), plain.removesuffix("/**")})
