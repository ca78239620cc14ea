"""Parse the editor's settings, which override those of a project."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from normlint.engine.config import codes_in, flag, strings
from normlint.engine.settings import ConfigError, Settings
from normlint.faces.options import TIMEOUT, is_device


@dataclass(frozen=True, slots=True)
class Options:
    """The editor's settings; None leaves the project's, `extend_…` is added to it."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    unsafe_fixes: bool | None = None
    verify_timeout: float = TIMEOUT
    device: str = "cpu"

    def over(self, settings: Settings) -> Settings:
        """Return the project's settings with these applied, as with the command line's options."""
        return settings.over(
            select=self.select,
            ignore=self.ignore,
            extend_select=self.extend_select,
            extend_exclude=self.extend_exclude,
            unsafe_fixes=self.unsafe_fixes,
        )


def options_of(*given: Any) -> tuple[Options, tuple[str, ...]]:
    """Return the options in JSON values, later ones overriding earlier ones, and messages on wrong ones, left out."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for one in given:
        for key, value in _table(one).items():
            try:
                values[_KEYS[key][0]] = _KEYS[key][1](value, key)
            except KeyError:
                wrong.append(f"unknown setting {key!r}; known are {', '.join(_KEYS)}")
            except ConfigError as error:
                wrong.append(str(error))
    return Options(**values), tuple(wrong)


def _table(given: Any) -> dict[str, Any]:
    """Return the settings without null values, also if they are wrapped in `settings` or `normlint`."""
    if not isinstance(given, dict):
        return {}
    for wrapper in ("settings", "normlint"):
        if isinstance(given.get(wrapper), dict):
            return _table(given[wrapper])
    return {key: value for key, value in given.items() if value is not None and key not in _EDITORS}


def _seconds(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ConfigError(f"{key} must be a number of seconds, more than 0")
    return float(value)


def _device(value: Any, key: str) -> str:
    if not isinstance(value, str) or not is_device(value):
        raise ConfigError(f"{key} must be one of auto, cpu, cuda, cuda:N, mps")
    return value


_KEYS: Final[dict[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "select": ("select", codes_in),
    "ignore": ("ignore", codes_in),
    "extendSelect": ("extend_select", codes_in),
    "extendExclude": ("extend_exclude", strings),
    "unsafeFixes": ("unsafe_fixes", flag),
    "verifyTimeout": ("verify_timeout", _seconds),
    "device": ("device", _device),
}
KNOWN: Final = tuple(_KEYS)
_EDITORS: Final = ("server", "trace")  # settings of the editor extension in the same section
