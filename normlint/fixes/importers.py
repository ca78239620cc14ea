"""Find what a fix would break in code that uses the norm, in its own file and in the files that import it.

Only what changes for those who use a norm rightly counts: the change in place that they rely on, the gain that they
apply themselves, the fp32 that they multiply with, the attribute that a subclass has, the shape that a helper returns.
"""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from normlint.text.finding import Edit
from normlint.text.pieces import pieces
from normlint.text.syntax import parsed

_MOST_BYTES: Final = 64 * 2**20  # read of a package
_FRESH: Final = 10  # seconds for which what was read holds
_FP32: Final = re.compile(r"(?:\bfloat32\b|\.float\(\))")
_ATTRIBUTE: Final = re.compile(r"\bself\.(\w+) = ")


def broken_by(path: str, text: str, code: str, owner: str, edits: Sequence[Edit], gains: Sequence[str]) -> str:
    """Return the name of a file whose code relies on what the edits of a fix change; "" if none is found.

    `owner`: the class or function with the norm. `gains`: its parameters that nothing applies.
    """
    if path and os.path.basename(path) and (helper := _helper(text, edits, owner)):
        return next((os.path.basename(at) for at, _ in _importing(path, helper)), "")
    added = [name for edit in edits for name in _ATTRIBUTE.findall(edit.text)]
    if code != "NRM203" and breaks(text, code, owner, added, ()):
        return os.path.basename(path) or "its own file"
    if code not in ("NRM203", "NRM502", "NRM505") and not added:
        return ""
    others = _importing(path, owner) if path else ()
    return next((os.path.basename(at) for at, other in others if breaks(other, code, owner, added, gains)), "")


def _helper(text: str, edits: Sequence[Edit], owner: str) -> str:
    """Return the top-level function that an edit changes and that isn't the owner itself; "" if there is none."""
    changed = (p for p in pieces(text) if p.kind == "def" and any(p.span.holds(edit.span) for edit in edits))
    return next((name for p in changed for name in p.names if name != owner), "")


def breaks(text: str, code: str, owner: str, added: Sequence[str], gains: Sequence[str]) -> bool:
    """Return whether a text that uses the owner's norm relies on what a fix of this rule changes."""
    if code == "NRM502" and dropped(text, owner):
        return True
    names = "|".join(holders(text, owner))
    if code == "NRM203" and re.search(rf"\b(?:{names})\([^\n]*\)[^\n]*{_FP32.pattern}", text):
        return True
    if any(re.search(rf"\b(?:{names})\.{gain}\b", text) for gain in gains):
        return True
    return any(_has_own(text, owner, name) for name in added)


def holders(text: str, owner: str) -> list[str]:
    """Return the names under which a text holds instances of a class, and the class's own."""
    made = re.findall(rf"\b(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(?:\w+\.)*{owner}\(", text)
    return list(dict.fromkeys((owner, *made)))


def dropped(text: str, owner: str) -> bool:
    """Return whether a norm is called for its effect: what it returns is dropped."""
    names = holders(text, owner)
    if not re.search(rf"^[ \t]*(?:\w+\.)*(?:{'|'.join(names)})\(", text, re.MULTILINE):
        return False
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    calls = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return any(getattr(call.func, "attr", getattr(call.func, "id", "")) in names for call in calls)


def wanted_wide(text: str, name: str) -> bool:
    """Return whether another class or function that speaks of fp32 calls this one, and so may rely on its dtype."""
    others = (text[slice(*p.span)] for p in pieces(text) if p.kind in ("class", "def") and name not in p.names)
    return any(re.search(rf"\b{name}\(", other) and _FP32.search(other) for other in others)


def _has_own(text: str, owner: str, name: str) -> bool:
    """Return whether a subclass of the owner sets or defines this attribute itself."""
    subclass = re.compile(rf"\Aclass \w+\([^)]*\b{owner}\b")
    bodies = (text[slice(*p.span)] for p in pieces(text) if p.kind == "class")
    own = re.compile(rf"\bdef {name}\(|\bself\.{name} *[:=]|^ *{name} *[:=]", re.MULTILINE)
    return any(subclass.search(body) and own.search(body) for body in bodies)


def _importing(path: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the other files of the package, with their texts, that import the name or its file and speak of it."""
    folder, file = os.path.split(os.path.abspath(path))
    stem = os.path.basename(folder) if file == "__init__.py" else os.path.splitext(file)[0]
    word, here = name.encode(), os.path.join(folder, file)
    imports = re.compile(
        rf"^[ \t]*(?:from|import)\b(?:[^\n(]*\b(?:{name}|{stem})\b|[^\n]*\([^)]*\b(?:{name}|{stem})\b)", re.MULTILINE
    )
    for at, data in _package(_top(folder), int(time.monotonic() / _FRESH)):
        if word in data and at != here:
            text = data.decode("utf-8", "replace")
            if imports.search(text):
                yield at, text


def _top(folder: str) -> str:
    """Return the outermost folder of the package, or the folder itself where it is none."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        above = os.path.dirname(folder)
        if above == folder or not os.path.isfile(os.path.join(above, "__init__.py")):
            break
        folder = above
    return folder


@lru_cache(maxsize=1)
def _package(folder: str, when: int) -> list[tuple[str, bytes]]:  # noqa: ARG001 - reads again after a while
    """Return the Python files below a folder with their contents, up to a limit."""
    found: list[tuple[str, bytes]] = []
    left = _MOST_BYTES
    for at, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for file in files:
            if file.endswith(".py") and left > 0:
                try:
                    with open(os.path.join(at, file), "rb") as stream:
                        data = stream.read(left)
                except OSError:
                    continue
                left -= len(data)
                found.append((os.path.join(at, file), data))
    return found
