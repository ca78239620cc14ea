"""`[tool.normlint]`: the nearest pyproject.toml of each file that has one, as ruff does it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from normlint.engine.linter import Demand
from normlint.engine.selection import ConfigError, Safety, Selection, checked_codes

__all__ = ["ConfigError", "Configs", "Settings", "load", "parse"]

FORMATS: Final = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")
DEFAULT_EXCLUDE: Final = (
    *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache"),
    *(".normlint_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox"),
    *(".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules"),
    *("site-packages", "venv"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files below `root`, the directory of the configuration."""

    root: str = "."
    source: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    output_format: str = "full"

    def demand(self, path: str, *, noqa: bool = True) -> Demand:
        """What these settings want of the file at `path`."""
        selection = Selection(self.select, self.ignore, self.extend_select)
        ignored = (codes for pattern, codes in self.per_file_ignores if self.fits(path, (pattern,)))
        safety = Safety(self.unsafe_fixes, self.extend_safe_fixes, self.extend_unsafe_fixes)
        return Demand(selection, tuple(code for codes in ignored for code in codes), noqa, safety=safety)

    def excludes(self, path: str) -> bool:
        """Does one of the exclude patterns fit this path itself (its parents are asked by themselves)?"""
        return self.fits(path, self.exclude) or self.fits(path, self.extend_exclude)

    def fits(self, path: str, patterns: tuple[str, ...]) -> bool:
        """Does a pattern fit the path's last part, or the path from `root` on?"""
        name = os.path.basename(path)
        if name in patterns:
            return True
        special = [pattern for pattern in patterns if "/" in pattern or any(mark in pattern for mark in "*?[")]
        if not special:
            return False
        from fnmatch import fnmatchcase

        relative = _relative(path, self.root)
        tries = [spelled for pattern in special for spelled in _spellings(pattern)]
        return any(fnmatchcase(name, pattern) or fnmatchcase(relative, pattern) for pattern in tries)


@dataclass(slots=True)
class Configs:
    """The settings of each directory, read once. `adjust` lays the command line over what a file says.

    A broken pyproject.toml is kept in `errors`, and what it governs is linted as if it weren't there.
    """

    adjust: Callable[[Settings], Settings] = lambda settings: settings
    fixed: Settings | None = None
    errors: dict[str, ConfigError] = field(default_factory=dict)
    _known: dict[str, Settings] = field(default_factory=dict)

    def of(self, path: str) -> Settings:
        """The settings for the file at `path`."""
        return self.of_directory(os.path.dirname(os.path.abspath(path)))

    def of_directory(self, directory: str) -> Settings:
        """The settings for the files in an absolute directory."""
        if directory not in self._known:
            self._known[directory] = self._found(directory)
        return self._known[directory]

    def _found(self, directory: str) -> Settings:
        if self.fixed is not None:
            return self.adjust(self.fixed)
        file = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(file):
            try:
                settings = load(file)
            except ConfigError as error:
                self.errors[file] = error
            else:
                if settings is not None:
                    return self.adjust(settings)
        above = os.path.dirname(directory)
        return self.of_directory(above) if above != directory else self.adjust(Settings(os.getcwd()))


def load(file: str) -> Settings | None:
    """The settings in a pyproject.toml, None if it has no `[tool.normlint]`."""
    table = _read_toml(file).get("tool", {})
    if not isinstance(table, dict) or "normlint" not in table:
        return None
    return parse(table["normlint"], file)


def load_given(file: str) -> Settings:
    """The settings in the file a user names: `[tool.normlint]` in it, or else all of it."""
    data = _read_toml(file)
    tool = data.get("tool")
    if isinstance(tool, dict) and "normlint" in tool:
        return parse(tool["normlint"], file)
    if os.path.basename(file) == "pyproject.toml":
        raise ConfigError(f"{file}: it has no [tool.normlint]")
    return parse(data, file)


def parse(table: Any, file: str) -> Settings:
    """The settings in a `[tool.normlint]` table; ConfigError names the key that is wrong."""
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.normlint] must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _KEYS.get(key)
        if reader is None:
            raise ConfigError(f"{file}: unknown key {key!r} in [tool.normlint]; known are {', '.join(_KEYS)}")
        values[key.replace("-", "_")] = reader(value, f"{file}: [tool.normlint] {key}")
    return replace(Settings(os.path.dirname(os.path.abspath(file)), file), **values)


def _read_toml(file: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(file, "rb") as opened:
            data: Mapping[str, Any] = tomllib.load(opened)
            return data
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: invalid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {error.strerror}") from None


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(value)


def _codes(value: Any, where: str) -> tuple[str, ...]:
    return checked_codes(_strings(value, where), where)


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false")
    return value


def _format(value: Any, where: str) -> str:
    if value not in FORMATS:
        raise ConfigError(f"{where} must be one of {', '.join(FORMATS)}")
    return str(value)


def _per_file(value: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of lists of rules by pattern")
    return tuple((pattern, _codes(codes, f"{where} {pattern!r}")) for pattern, codes in value.items())


_KEYS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
    "unsafe-fixes": _flag,
    "extend-safe-fixes": _codes,
    "extend-unsafe-fixes": _codes,
    "per-file-ignores": _per_file,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _flag,
    "force-exclude": _flag,
    "output-format": _format,
}


def _relative(path: str, root: str) -> str:
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:  # another drive
        return path.replace(os.sep, "/")


def _spellings(pattern: str) -> tuple[str, ...]:
    """The pattern for fnmatch: `**/` may stand for nothing, a directory for all below it."""
    plain = pattern.removeprefix("./").rstrip("/")
    return tuple({plain, plain.replace("**/", ""), plain.removesuffix("/**")})
