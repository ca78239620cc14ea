"""Read settings from `[tool.normlint]` in a pyproject.toml or from a normlint.toml."""

from __future__ import annotations

import os
import sys

from normlint.engine.settings import DTYPES, OWN_FILES, ConfigError, Settings, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

FORMATS: Final = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")
SEVERITIES: Final = ("error", "warning", "review")  # those of `normlint.text.finding`
# The registry's codes: it takes longer to import than most runs last. A test checks that they are equal.
CODES: Final = tuple(
    (
        "NRM101 NRM102 NRM103 NRM104 NRM105 NRM106 NRM107 "
        "NRM201 NRM202 NRM203 NRM204 NRM205 NRM206 NRM207 "
        "NRM301 NRM302 NRM303 NRM304 NRM305 "
        "NRM401 NRM402 NRM403 NRM404 NRM405 NRM406 NRM407 "
        "NRM501 NRM502 NRM503 NRM504 NRM505 NRM506 NRM507 NRM508 NRM509 "
        "NRM601 NRM602 "
        "NRM701 NRM702 NRM703 NRM704 NRM705 NRM706 NRM707 NRM708 NRM709 NRM710 NRM711 NRM712 NRM713 NRM714 NRM715 "
        "NRM901 NRM902 NRM903"
    ).split()
)


def load(file: str) -> Settings | None:
    """Return the settings in a normlint.toml or pyproject.toml; None if the latter has no `[tool.normlint]`."""
    if os.path.basename(file) in OWN_FILES:
        return load_given(file)
    table = read_toml(file).get("tool", {})
    if not isinstance(table, dict) or "normlint" not in table:
        return None
    return parse(table["normlint"], file)


def load_given(file: str) -> Settings:
    """Return the settings in a file that the user names: its `[tool.normlint]`, or else all of it."""
    data = read_toml(file)
    tool = data.get("tool")
    if isinstance(tool, dict) and "normlint" in tool:
        return parse(tool["normlint"], file)
    if os.path.basename(file) == "pyproject.toml":
        raise ConfigError(f"{file}: it has no [tool.normlint]")
    return parse(data, file)


def parse(table: Any, file: str) -> Settings:
    """Return the settings in a `[tool.normlint]` table; ConfigError names a wrong key."""
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.normlint] must be a table")
    name = "" if os.path.basename(file) in OWN_FILES else "[tool.normlint] "
    values: dict[str, Any] = {}
    try:
        for key, value in table.items():
            values[key.replace("-", "_")] = _KEYS[known_key(key, name)](value, f"{name}{key}")
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    return Settings(os.path.dirname(os.path.abspath(file)), file, **values)


def known_key(key: str, where: str = "") -> str:
    """Return the key if it exists; otherwise raise a ConfigError that suggests the closest one."""
    if key in _KEYS:
        return key
    raise ConfigError(f"{where}unknown key {key!r}{did_you_mean(key, _KEYS)}; the documentation lists all")


def read_toml(file: str) -> Mapping[str, Any]:
    """Return what a TOML file holds; ConfigError if it is invalid or can't be read."""
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


def strings(value: Any, where: str) -> tuple[str, ...]:
    """Return a list of strings as a tuple; ConfigError if the value of the key `where` is something else."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(value)


def codes_in(value: Any, where: str) -> tuple[str, ...]:
    """Return a list of codes, prefixes or rule names as a tuple of codes; the registry is imported only for names."""
    given = strings(value, where)
    if all(one == "ALL" or (one and any(code.startswith(one) for code in CODES)) for one in given):
        return given
    from normlint.engine.selection import checked_codes

    return checked_codes(given, where)


def _dtypes(value: Any, where: str) -> tuple[str, ...]:
    given = strings(value, where)
    if not given or not set(given) <= set(DTYPES):
        raise ConfigError(f"{where} must be a list of {', '.join(DTYPES)}")
    return given


def flag(value: Any, where: str) -> bool:
    """Return the value if it is a bool; ConfigError otherwise."""
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false")
    return value


def _one_of(known: tuple[str, ...]) -> Callable[[Any, str], str]:
    def checked(value: Any, where: str) -> str:
        if value not in known:
            raise ConfigError(f"{where} must be one of {', '.join(known)}")
        return str(value)

    return checked


def _directory(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where} must be the name of a directory")
    return value


def _per_file(value: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a table of lists of codes by file pattern as pairs; ConfigError if the value is something else."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of lists of rules by pattern")
    return tuple((pattern, codes_in(codes, f"{where} {pattern!r}")) for pattern, codes in value.items())


_KEYS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "select": codes_in,
    "ignore": codes_in,
    "extend-select": codes_in,
    "dtypes": _dtypes,
    "min-severity": _one_of(SEVERITIES),
    "fail-on": _one_of(SEVERITIES),
    "unsafe-fixes": flag,
    "verify": flag,
    "per-file-ignores": _per_file,
    "exclude": strings,
    "extend-exclude": strings,
    "respect-gitignore": flag,
    "force-exclude": flag,
    "output-format": _one_of(FORMATS),
    "cache-dir": _directory,
}
