"""Find the names of a text that lead to a reduction: functions that contain one or name one that does."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache

from normlint.text.finding import Span
from normlint.text.frozen import kept_each
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


class Reach(Marks):
    """The names that a text defines, and whether evaluating them runs a reduction or has a side effect."""

    def __init__(self, text: str) -> None:
        super().__init__(_without_docs(text))
        self._known: dict[str, bool] = {}

    @cached_property
    def defined(self) -> dict[str, list[Span]]:
        """Map each name to the spans of its definitions; a function ends before the next one not nested in it."""
        found: dict[str, list[Span]] = {}
        open_: list[tuple[int, str, int]] = []
        for match in _DEFINED.finditer(self.text):
            name = match["name"]
            if name is None:
                end = self.text.find("\n", match.end())
                if not match["made"]:  # not a module, whose call is opaque
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

    def marks(self, span: Span) -> list[int]:
        """Return the offsets of the reductions called in a span."""
        return self.reductions[bisect_left(self.reductions, span.start) : bisect_left(self.reductions, span.end)]

    def touches(self, span: Span) -> bool:
        """Return whether a reduction, or a name that leads to one, occurs in a span."""
        return self.reduces(span) or (
            not self.defined.keys().isdisjoint(self.words(span)) and any(map(self.leads, self.words(span)))
        )

    def upstream(self, names: set[str], spans: Iterable[Span]) -> set[str]:
        """Return the names and, recursively, those in the assignments to them in these spans."""
        made = [pair for span in spans for pair in self._assignments(span)]
        while True:
            more = {word for bound, words in made if not names.isdisjoint(bound) for word in words} - names
            if not more:
                return names
            names = names | more

    @kept_each
    def _assignments(self, span: Span) -> list[tuple[set[str], set[str]]]:
        return [(set(WORD.findall(m[1])), set(WORD.findall(m[2]))) for m in _BOUND.finditer(self.text, *span)]

    def leads(self, word: str) -> bool:
        """Return whether a name of the text may lead to a reduction or a side effect."""
        if word not in self.defined:
            return False
        if word not in self._known:
            self._search(word)
        return self._known[word]

    def _search(self, word: str) -> None:
        """Find out whether a word leads to a reduction; if not, no word that it reaches does."""
        seen = {word}
        todo = [word]
        while todo:
            for span in self.defined[todo.pop()]:
                if self.reduces(span) or self._has_effect(span):
                    self._known[word] = True
                    return
                more = {w for w in WORD.findall(self.text, *span) if w in self.defined} - seen
                if any(self._known.get(w) for w in more):
                    self._known[word] = True
                    return
                seen |= more
                todo += more
        self._known.update(dict.fromkeys(seen, False))

    def _has_effect(self, span: Span) -> bool:
        """Return whether a function sets an attribute or prints; constructors run before the entry anyway."""
        head = self.text[span.start : span.start + 80].lstrip()
        return head.startswith(("def", "async")) and _EFFECT.search(self.text, *span) is not None


def _without_docs(text: str) -> str:
    """Return the text with its triple-quoted strings blanked."""
    parts, end = [], 0
    for opened, closed in quoted(text):
        if closed < len(text):
            parts += [text[end:opened], " " * (closed + 3 - opened)]
            end = closed + 3
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=4)
def reach_of(text: str) -> Reach:
    return Reach(text)
