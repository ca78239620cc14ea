"""Colours for a terminal, or none; and text that can't take a terminal over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_CONTROL: Final = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
_CONTROL_TOO: Final = dict.fromkeys(
    [*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"
)


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps text in ANSI colours where `colour` is set."""

    colour: bool = False

    def bold(self, text: str) -> str:
        """Paths."""
        return self._wrap("1", text)

    def alarm(self, text: str) -> str:
        """Codes and carets."""
        return self._wrap("1;31", text)

    def dim(self, text: str) -> str:
        """Frames and places."""
        return self._wrap("36", text)

    def gone(self, text: str) -> str:
        """Lines that a fix takes away."""
        return self._wrap("31", text)

    def new(self, text: str) -> str:
        """Lines that it puts there."""
        return self._wrap("32", text)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def in_one_line(path: str) -> str:
    """The name of a file, which may hold anything, as one harmless line."""
    return harmless(path).replace("\n", "\u240a")


def harmless(text: str) -> str:
    """The text with control characters, and those that turn the direction of writing, made visible."""
    return text.translate(_CONTROL).translate(_CONTROL_TOO)
