"""The same program in other looks: whatever is put on a text before its fixes could as well be put on it afterwards."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

Look = Callable[[str], str]
NARROW: Final = 40
_COMMENT: Final = re.compile(r"^ *# line \d+\n|  # line \d+$", re.MULTILINE)


def crlf(text: str) -> str:
    """Lines that end as on Windows."""
    return text.replace("\n", "\r\n")


def tabs(text: str) -> str:
    """Indented by tabs."""
    return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.MULTILINE)


def two_spaces(text: str) -> str:
    """Indented by two."""
    return re.sub(r"^(?: {4})+", lambda found: "  " * (len(found[0]) // 4), text, flags=re.MULTILINE)


def nested(text: str) -> str:
    """The class, or where there is none the function, in a block."""
    start = re.search(r"^class ", text, re.MULTILINE) or re.search(r"^def ", text, re.MULTILINE)
    assert start
    at = start.start()
    return text[:at] + "if True:\n" + re.sub(r"^(?=.)", "    ", text[at:], flags=re.MULTILINE)


def form_feeds(text: str) -> str:
    """A form feed in front of each definition."""
    return re.sub(r"^(?=class |def )", "\x0c\n", text, flags=re.MULTILINE)


def unended(text: str) -> str:
    """No line end at the end."""
    return text.rstrip("\n")


def foreign(text: str) -> str:
    """Letters of several bytes in front of every place; no column in bytes is one in characters."""
    return "# Größe 中 𝑥\n" + re.sub(r"^(class .*:|def .*:)$", r"\1  # Σ é 𝑥", text, flags=re.MULTILINE)


LOOKS: Final[dict[str, Look]] = {
    "lines that end in CR LF": crlf,
    "tabs": tabs,
    "an indent of two": two_spaces,
    "the class in a block": nested,
    "form feeds": form_feeds,
    "no last line end": unended,
    "letters of several bytes": foreign,
}


def commented(text: str) -> str:
    """A comment of its own on every line."""
    lines = text.split("\n")
    return "\n".join(f"{line}  # line {n}" if line.strip() else line for n, line in enumerate(lines))


def bare(text: str) -> str:
    """Without them."""
    return _COMMENT.sub("", text)


def comments(text: str) -> set[str]:
    """Those there are."""
    return {one.strip() for one in _COMMENT.findall(text)}


def narrow(texts: Sequence[str], folder: Path) -> list[str]:
    """Broken into short lines by ruff, all at once."""
    paths = [folder / f"case_{n}.py" for n in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, "utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--quiet", "--line-length", str(NARROW)]
    subprocess.run([*command, str(folder)], check=True)
    return [path.read_text("utf-8") for path in paths]


def meaning(text: str) -> str:
    """The program, whatever it looks like."""
    return ast.dump(ast.parse(text))
