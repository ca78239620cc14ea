"""What README and documentation show in fences: files, commands, and what the commands say."""

from __future__ import annotations

import difflib
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<in> *)(?P<mark>`{3,}) *(?P<lang>\w*)(?P<rest>[^\n`]*)\n(?P<text>.*?)^(?P=in)(?P=mark) *$", re.M | re.S
)
TITLE = re.compile(r'title="([^"]+)"')
FILES = ("py", "python", "toml", "ini", "yaml", "json")
SHELLS = ("sh", "bash", "shell")


@dataclass(frozen=True)
class Block:
    lang: str
    title: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line for the shell; `shown` is None where the page doesn't say what it prints."""

    text: str
    shown: str | None
    line: int

    @property
    def parts(self) -> list[list[str]]:
        """The words of each program that it starts."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        parts: list[list[str]] = [[]]
        for word in lexer:
            if set(word) <= set("|&;"):
                parts.append([])
            else:
                parts[-1].append(word)
        return [part for part in parts if part]


def blocks(page: Path) -> Iterator[Block]:
    """Every fence of a page that isn't inside another."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        title = TITLE.search(match["rest"])
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["lang"], title[1] if title else "", textwrap.dedent(match["text"]), line)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a block for a shell, or of one that shows a terminal."""
    if block.lang in SHELLS:
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield Command(line, None, block.line)
    elif block.lang == "console":
        for said in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.M)[1:]:
            command, _, shown = said.partition("\n")
            yield Command(command, shown, block.line)


def fits(shown: str, said: str) -> bool:
    """Is it what was said, where `...` stands for anything?"""
    pattern = re.escape(shown.rstrip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, said.rstrip(), re.S) is not None


def diff(before: str, after: str) -> str:
    """The changed lines of an example, as a rule's page shows them."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[3:]
    return "".join(f"{'@@' if line.startswith('@@ ') else line}\n" for line in lines)
