"""How long lines may be in a project, and the lines of a fix broken where they would be longer."""

from __future__ import annotations

import ast
import configparser
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_USUAL: Final = 88  # ruff's and black's own
_INI: Final = ((".flake8", "flake8"), ("setup.cfg", "flake8"), ("tox.ini", "flake8"))
_BROKEN: Final = (ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign)


def width(path: str) -> int | None:
    """The most characters of a line, as ruff, black, flake8 or the editor are told; None where nobody says."""
    return _width(os.path.dirname(os.path.abspath(path)))


@lru_cache(maxsize=256)
def _width(folder: str) -> int | None:
    found = next((n for n in _told(folder) if isinstance(n, int) and n > 0), None)
    above = os.path.dirname(folder)
    if found is not None or above == folder or os.path.exists(os.path.join(folder, ".git")):
        return found
    return _width(above)


def _told(folder: str) -> Iterable[Any]:
    """What each configuration in a directory says."""
    for name in ("ruff.toml", ".ruff.toml"):
        if (table := _toml(os.path.join(folder, name))) is not None:
            yield table.get("line-length", _USUAL)
    tools = (_toml(os.path.join(folder, "pyproject.toml")) or {}).get("tool", {})
    yield from (tools[one].get("line-length", _USUAL) for one in ("ruff", "black") if isinstance(tools.get(one), dict))
    for name, section in _INI:
        yield _number(os.path.join(folder, name), (section,), "max-line-length")
    yield _number(os.path.join(folder, ".editorconfig"), ("*.py", "*.{py,pyi}", "*"), "max_line_length")


def _toml(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as opened:
            table: dict[str, Any] = tomllib.load(opened)
            return table
    except (OSError, ValueError, RecursionError):
        return None


def _number(path: str, sections: Iterable[str], key: str) -> int | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        with open(path, encoding="utf-8") as opened:
            parser.read_string("[root]\n" + opened.read())
    except (OSError, ValueError, configparser.Error):
        return None
    values = (parser.get(section, key, fallback="") for section in sections)
    return next((int(value) for value in values if value.isdecimal()), None)


def broken(before: str, after: str, most: int) -> str:
    """The lines `after` a fix, those that are new and too long broken after an opening parenthesis or before operators.

    Where that isn't natural they stay: in brackets that are open already, before a comment.
    """
    old = before.splitlines()
    if any(len(line) > most for line in old):
        return after  # nobody minds here
    step = "\t" if re.search(r"^\t", after, re.MULTILINE) else "    "
    lines = after.splitlines(keepends=True)
    return "".join(line if len(line.rstrip()) <= most or line in old else _parted(line, most, step) for line in lines)


def _parted(line: str, most: int, step: str) -> str:
    """One long line as several."""
    text = line.strip()
    margin, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    stmt = _statement(text)
    value = getattr(stmt, "value", None)
    if value is None or "#" in text or not text.isascii() or value.end_col_offset != len(text):
        return line
    inner, head = text[value.col_offset :], f"{text[: value.col_offset]}("
    ways = [*_brackets(value, text), (head, [inner], ")"), (head, _operands(value, text), ")")]
    for first, parts, last in ways:
        lines = [margin + first, *(margin + step + part for part in parts), margin + last]
        if parts and max(map(len, lines)) <= most:
            return (end or "\n").join(lines) + end
    return line


def _brackets(value: ast.expr, text: str) -> Iterator[tuple[str, list[str], str]]:
    """What stands before, in and behind brackets of the expression: those of a call, or those that a call is made on.

    What is in them comes as one part and then as several. A chain of calls is better held together.
    """
    node = value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_plain(node):
        node = node.func.value
    start, end = node.col_offset, node.end_col_offset or 0
    if isinstance(node, ast.Call) and not any(isinstance(n, ast.Call | ast.GeneratorExp) for n in _head(node)):
        start, end = text.index("(", node.func.end_col_offset) + 1, end - 1
        parts = _arguments(node, text, start, end)
    elif node is not value and text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        parts = _operands(node, text)
    else:
        return
    yield from (
        (text[:start], several, text[end:]) for several in ([text[start:end].strip()], parts) if text[start:end]
    )


def _head(call: ast.Call) -> list[ast.AST]:
    """What is called, and the arguments."""
    return [*ast.walk(call.func), *call.args]


def _arguments(call: ast.Call, text: str, start: int, end: int) -> list[str]:
    """The arguments of the call, each with a comma."""
    last = sorted(one.end_col_offset or 0 for one in (*call.args, *(k.value for k in call.keywords)))
    cuts = [text.index(",", at) for at in last[:-1]]
    bounds = zip((start, *(cut + 1 for cut in cuts)), (*cuts, end), strict=True)
    return [f"{text[a:b].strip().rstrip(',')}," for a, b in bounds]


def _is_plain(call: ast.Call) -> bool:
    """Nothing in the call's brackets is worth a line."""
    return not call.keywords and all(isinstance(one, ast.Name | ast.Attribute) for one in call.args)


def _statement(text: str) -> ast.stmt | None:
    """An assignment or a return that is all of the text; its columns are those of the text."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], _BROKEN) else None


def _operands(value: ast.expr, text: str) -> list[str]:
    """The operands of the outermost operators, each with the operator in front of it."""
    cuts: list[int] = []
    node = value
    kinds = (ast.Mult, ast.Div) if isinstance(getattr(value, "op", None), ast.Mult | ast.Div) else (ast.Add, ast.Sub)
    while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        left, right = node.left.end_col_offset or 0, node.right.col_offset
        cuts.append(left + (re.search(r"[-+*/]", text[left:right]) or re.match("", "")).start())  # type: ignore[union-attr]
        node = node.left
    at = [value.col_offset, *reversed(cuts), value.end_col_offset or len(text)]
    return [text[a:b].strip() for a, b in pairwise(at)] if cuts else []
