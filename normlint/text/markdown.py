"""Read each fenced block of Python in a Markdown page as a unit of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from normlint.text.source import Segment, Unit, line_starts, split_lines
from normlint.text.syntax import is_python

_PYTHON: Final = frozenset(["python", "python3", "py", "py3", "ipython", "ipython3", "pyi"])
_DIRECTIVES: Final = frozenset(["code", "code-block", "code-cell", "sourcecode"])
_WORDS: Final = re.compile(r"[^\s,{}:=]+")
_INDENT: Final = re.compile(r"[ \t]*")


def markdown_units(text: str) -> tuple[Unit, ...]:
    """Return the blocks that are marked as Python and can be parsed."""
    return tuple(unit for block in _fences(text) if (unit := _unit(*block)) is not None)


def _fences(text: str) -> Iterator[tuple[list[str], list[int]]]:
    """Yield each Python fence as lines without the page's prefix (list, quote, fence), and where each line starts."""
    from markdown_it import MarkdownIt

    lines, starts = split_lines(text), line_starts(text)
    for token in MarkdownIt("commonmark").parse(text):
        if token.type != "fence" or token.map is None or not is_python_info(token.info):
            continue
        # The page's own lines are used, with their own ends: the parser's are normalised.
        first = token.map[0] + 1
        content = token.content.split("\n")[:-1]
        cut = [_suffix(line, lines[first + at]) for at, line in enumerate(content)]
        origins = [starts[first + at] + len(lines[first + at]) - len(line) for at, line in enumerate(cut)]
        yield cut, origins


def is_python_info(info: str) -> bool:
    """Return whether a fence's info string says Python: `py`, `{python}`, `python title="x"`, `{code-cell} python`."""
    words = [word.lstrip(".") for word in _WORDS.findall(info.lower())]
    if words and words[0] in _DIRECTIVES:
        del words[0]
    return bool(words) and words[0] in _PYTHON


def _suffix(content: str, line: str) -> str:
    """Return the end of the page's line that is this line of the block, with its line end."""
    body = line.rstrip("\r\n")
    if body.endswith(content):
        return line[len(body) - len(content) :]
    # The parser turned part of a tab into spaces, or NUL into something else: keep the text, drop the indent.
    return line[len(body) - len(body.lstrip()) :]


def _unit(lines: list[str], origins: list[int]) -> Unit | None:
    """Return the block as it is, or dedented if only that is Python."""
    plain = _joined(lines, origins)
    if not plain.text.strip():
        return None
    if is_python(plain.text):
        return plain
    margin = _margin(lines)
    if not margin:
        return None
    cuts = [min(margin, _indent(line)) for line in lines]
    moved = _joined(
        [line[cut:] for line, cut in zip(lines, cuts, strict=True)], [*map(sum, zip(origins, cuts, strict=True))]
    )
    return moved if is_python(moved.text) else None


def _joined(lines: list[str], origins: list[int]) -> Unit:
    segments, length = [], 0
    for line, origin in zip(lines, origins, strict=True):
        segments.append(Segment(length, origin))
        length += len(line)
    return Unit("".join(lines), snippet=True, segments=tuple(segments) or (Segment(0, 0),))


def _margin(lines: list[str]) -> int:
    return min((_indent(line) for line in lines if line.strip()), default=0)


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return found.end() if found else 0
