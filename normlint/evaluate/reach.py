"""The names in a text that lead to a reduction: functions that hold one, or name one that does."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache

from normlint.text.finding import Span
from normlint.text.marks import Marks
from normlint.text.pieces import WORD, quoted

_DEFINED = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:async[ \t]+)?def|(?P<cls>class))[ \t]+(?P<name>\w+)"
    r"|^[ \t]*(?:self|cls)\.(?P<attr>\w+)[ \t]*(?::[^=\n]+)?=(?!=)(?P<made>[ \t]*(?:nn\.|[A-Z]))?"
    r"|^(?P<plain>\w+)[ \t]*(?::[^=\n]+)?=(?!=)",
    re.MULTILINE,
)
_EFFECT = re.compile(r"\bself\.\w+[ \t]*(?::[^=\n]+)?=(?!=)|\bprint\s*\(|\bsetattr\s*\(|\bnonlocal\b")
_BOUND = re.compile(r"^[ \t]*([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)[ \t]*(?::[^=\n]+)?[-+*/@|&]*=(?!=)([^\n]*)", re.MULTILINE)


class Reach:
    """The names a text defines, and whether evaluating them comes by a reduction or changes what others see."""

    def __init__(self, text: str) -> None:
        self.text = _without_docs(text)
        self._known: dict[str, bool] = {}
        self._words: dict[Span, frozenset[str]] = {}
        self._lines: dict[Span, list[tuple[set[str], set[str]]]] = {}

    @cached_property
    def defined(self) -> dict[str, list[Span]]:
        """Name → where its definitions stand; a function ends where one as far left begins."""
        found: dict[str, list[Span]] = {}
        open_: list[tuple[int, str, int]] = []
        for match in _DEFINED.finditer(self.text):
            name = match["name"]
            if name is None:
                end = self.text.find("\n", match.end())
                if not match["made"]:  # a module, whose call isn't followed
                    place = Span(match.start(), len(self.text) if end < 0 else end)
                    found.setdefault(match["attr"] or match["plain"], []).append(place)
                continue
            depth = len(match["indent"])
            while open_ and open_[-1][0] >= depth:
                _, closed, start = open_.pop()
                found.setdefault(closed, []).append(Span(start, match.start()))
            open_.append((depth, "" if match["cls"] or name == "__init__" else name, match.start()))
        for _, name, start in open_:
            found.setdefault(name, []).append(Span(start, len(self.text)))
        found.pop("", None)
        return found

    @cached_property
    def _marks(self) -> list[int]:
        return Marks(self.text).reductions

    def words(self, span: Span) -> frozenset[str]:
        """All that is named there."""
        if span not in self._words:
            self._words[span] = frozenset(WORD.findall(self.text, *span))
        return self._words[span]

    def reduces(self, span: Span) -> bool:
        """A reduction is called there."""
        at = bisect_left(self._marks, span.start)
        return at < len(self._marks) and self._marks[at] < span.end

    def marks(self, span: Span) -> list[int]:
        """Where in the stretch reductions are called."""
        return self._marks[bisect_left(self._marks, span.start) : bisect_left(self._marks, span.end)]

    def touches(self, span: Span) -> bool:
        """A reduction is called there, or something that leads to one."""
        return self.reduces(span) or (
            not self.defined.keys().isdisjoint(self.words(span)) and any(map(self.leads, self.words(span)))
        )

    def upstream(self, names: set[str], spans: Iterable[Span]) -> set[str]:
        """The names, and those they are made of in functions at these places, line by line."""
        made = [pair for span in spans for pair in self._made(span)]
        while True:
            more = {word for bound, words in made if not names.isdisjoint(bound) for word in words} - names
            if not more:
                return names
            names = names | more

    def _made(self, span: Span) -> list[tuple[set[str], set[str]]]:
        if span not in self._lines:
            found = _BOUND.finditer(self.text, *span)
            self._lines[span] = [(set(WORD.findall(m[1])), set(WORD.findall(m[2]))) for m in found]
        return self._lines[span]

    def leads(self, word: str) -> bool:
        """Whether what the word names may come by a reduction, or has an effect."""
        if word not in self.defined:
            return False
        if word not in self._known:
            self._search(word)
        return self._known[word]

    def _search(self, word: str) -> None:
        """Everything the word reaches: if nothing leads to a reduction, none of it does."""
        seen = {word}
        todo = [word]
        while todo:
            for span in self.defined[todo.pop()]:
                if self.reduces(span) or self._acts(span):
                    self._known[word] = True
                    return
                more = {w for w in WORD.findall(self.text, *span) if w in self.defined} - seen
                if any(self._known.get(w) for w in more):
                    self._known[word] = True
                    return
                seen |= more
                todo += more
        self._known.update(dict.fromkeys(seen, False))

    def _acts(self, span: Span) -> bool:
        """A method that sets an attribute or prints; a constructor runs before the entry does."""
        head = self.text[span.start : span.start + 80].lstrip()
        return head.startswith(("def", "async")) and _EFFECT.search(self.text, *span) is not None


def _without_docs(text: str) -> str:
    """The text with its triple-quoted strings blanked."""
    parts, end = [], 0
    for opened, closed in quoted(text):
        if closed < len(text):
            parts += [text[end:opened], " " * (closed + 3 - opened)]
            end = closed + 3
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=4)
def reach_of(text: str) -> Reach:
    return Reach(text)
