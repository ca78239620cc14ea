"""Read comments that suppress findings: `# noqa`, `# noqa: NRM101`, and `# normlint: skip-file`.

The rules are flake8's, so that a comment means the same to the command and to the plugin: the comment is searched
in the finding's physical line, or in all lines of a multi-line string or of a line continued by a backslash.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from typing import Final

from normlint.text.frozen import dataclass
from normlint.text.source import line_starts, split_lines

NOQA: Final = re.compile(r"# noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_SKIP_FILE: Final = re.compile(
    r"^[ \t\f]*(?:#[ \t]*normlint:[ \t]*skip-file\b|#[ ]flake8[:=]\s*noqa|<!--[ \t]*normlint:[ \t]*skip-file\b)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Suppressions:
    """The suppressing comments of one unit: `ranges` maps a line to the lines its comment is searched in."""

    lines: tuple[str, ...] = ()
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)

    def silences(self, code: str, line: int) -> bool:
        """Return whether this code is suppressed on this line (counted from 1, in the unit's text)."""
        if not self.lines:
            return False
        return noqa_silences("".join(self.lines[slice(*self.range_of(line))]), code)

    def range_of(self, line: int) -> tuple[int, int]:
        """Return the slice of lines that belong to a line; a comment can stand on the last one."""
        return self.ranges.get(line, (line - 1, line))


def skips_file(text: str) -> bool:
    """Return whether a comment asks to skip the whole file (in flake8's words, or normlint's)."""
    low = text.lower()
    return ("skip-file" in low or "flake8" in low) and _SKIP_FILE.search(text) is not None


def suppressions(text: str) -> Suppressions:
    """Return the `noqa` comments of one unit; a text without the word takes no time."""
    if "noqa" not in text and "noqa" not in text.lower():
        return Suppressions()
    lines = split_lines(text)
    return Suppressions(tuple(lines), line_ranges(lines))


def noqa_silences(line: str, code: str) -> bool:
    """Return whether the first `noqa` comment in the line names the code, a prefix of it, or no code at all."""
    found = NOQA.search(line)
    if found is None:
        return False
    if found["codes"] is None:
        return True
    return code.startswith(tuple(listed.upper() for listed in re.split(r"[,\s]+", found["codes"]) if listed))


def unit_line(text: str, offset: int) -> int:
    """Return the line of an offset in the unit's text, counted from 1."""
    return bisect_right(line_starts(text), offset)


def line_ranges(lines: list[str]) -> dict[int, tuple[int, int]]:
    """Return the slice of lines for each line of a multi-line token or backslash continuation; no single lines."""
    import tokenize

    ranges: dict[int, tuple[int, int]] = {}
    first, last = len(lines) + 2, -1
    source = iter(lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(source, "")):
            if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            first, last = min(first, token.start[0]), max(last, token.end[0])
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                if last > first:
                    ranges.update(dict.fromkeys(range(first, last + 1), (first - 1, last)))
                first, last = len(lines) + 2, -1
    except (tokenize.TokenError, SyntaxError):
        return {}
    return ranges
