"""Find nesting that would overflow the stack of a native parser, without using one.

CPython's own limits differ from version to version (3.10 accepts a chain of 100,000 attributes), and a stack overflow
in a native parser ends the process. Ordinary files are recognised by their size alone.
"""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 2500
_LONG_LINE: Final = 4000
_MANY_LINES: Final = 5000
_MARK: Final = re.compile(
    r"""(?P<string>\"{3}[^\\]*?(?:\\.[^\\]*?)*?\"{3}|'{3}[^\\]*?(?:\\.[^\\]*?)*?'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<comment>\#[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<stop>[,;\n])"""
    r"""|(?P<elif>\belif\b)|(?P<op>\*\*|//|[-+*/%@~.&|^:]|\b(?:not|lambda|if|await)\b)""",
    re.DOTALL | re.VERBOSE,
)


def too_deep(text: str) -> bool:
    """Return whether an expression or a chain of branches may nest too deeply for a native parser."""
    return _worth_measuring(text) and _depth(text) > MOST


def _worth_measuring(text: str) -> bool:
    if text.count("\n") > _MANY_LINES:
        return True
    return len(text) > _LONG_LINE and max(map(len, text.split("\n"))) > _LONG_LINE


def _depth(text: str) -> int:
    """Return an upper bound of the depth: operators since the last comma of each open bracket, plus the brackets."""
    counts, deepest, branches = [0], 0, 0
    for mark in _MARK.finditer(text):
        kind = mark.lastgroup
        if kind == "open":
            counts.append(counts[-1] + 2)
        elif kind == "close" and len(counts) > 1:
            counts.pop()
            counts[-1] += 1
        elif kind == "stop":
            counts[-1] = counts[-2] + 1 if len(counts) > 1 else 0
        elif kind == "elif":
            branches += 1
        elif kind == "op":
            counts[-1] += 1
        deepest = max(deepest, counts[-1])
    return max(deepest, branches)
