"""Edits on trial: the text is read again as it would be, and the norm must come out as it should.

A repair that has several ways to mend a norm lists them, the most natural first; the first that is right is taken.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from normlint.norm.norm import HALF, Norm
from normlint.rules.registry import RULES
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.work import STEP, took
from normlint.text.edit import apply
from normlint.text.finding import Applicability, Edit, Fix
from normlint.text.frozen import dataclass

MOST: Final = 24  # candidates tried for one finding
Candidate = tuple[str, tuple[Edit, ...]]  # what the fix is called, and its edits
_SHAPED: Final = ("rms", "layer")
_HIDING: Final = ("NRM403",)


@dataclass(frozen=True, slots=True)
class Trial:
    """A finding of the rule `code` on a norm, and the text it is in."""

    tree: Tree
    norm: Norm
    code: str
    applied: frozenset[str] = frozenset()  # gains that the norm gets by the edits
    gained: int = 0  # how many eps it gets by them
    partly: bool = False  # where nothing leaves the norm clean, see `_in_part`

    def first(self, candidates: Iterable[Candidate], applicability: Applicability) -> Fix | None:
        """The fix by the first candidate that passes."""
        tried: dict[tuple[Edit, ...], str] = {}
        for message, edits in candidates:
            if not edits or edits in tried:
                continue
            if len(tried) == MOST:
                break
            tried[edits] = message
            if self.passes(edits):
                return Fix(message, edits, applicability)
        edits = next(self._in_part(tried), ()) if self.partly else ()
        return Fix(tried[edits], edits, applicability) if edits else None

    def _in_part(self, tried: Iterable[tuple[Edit, ...]]) -> Iterator[tuple[Edit, ...]]:
        """Edits that mend one of several findings of the rule, or that bring out what the finding hid."""
        most = list(_codes(self.norm)).count(self.code) - 1
        yield from (edits for edits in tried if most and self.passes(edits, left=most))
        brought = {edits: self._brought_out(edits) for edits in tried}
        yield from sorted((e for e, new in brought.items() if new), key=lambda e: len(brought[e]))

    def _brought_out(self, edits: tuple[Edit, ...]) -> tuple[str, ...]:
        """What other rules see where the norm is rid of the finding: a wrong count under what was no root."""
        mended = self.mended(edits)
        codes = set(_codes(mended)) if mended is not None else {self.code}
        if mended is None or self.code in codes or not _alike(self, mended, counted="NRM104" in codes):
            return ()
        said, says = _said(_norms(self.tree.text, self.tree.snippet)), _said(_edited(self.tree, edits))
        new = list(says - said)
        hidden = self.code in _HIDING  # without squares no other rule for formulas speaks
        own = all(name == self.norm.qualname and (hidden or code[:4] != self.code[:4]) for name, code in new)
        return tuple(code for _, code in new) if own else ()

    def passes(self, edits: tuple[Edit, ...], left: int = 0) -> bool:
        """Is the rule silent on the norm after the edits, and does no rule say more than before on any norm?

        `left`: how often it may still speak.
        """
        before, after = _norms(self.tree.text, self.tree.snippet), _edited(self.tree, edits)
        mended = self.mended(edits)
        if mended is None or not _alike(self, mended) or list(_codes(mended)).count(self.code) > left:
            return False
        said, says = _said(before), _said(after)
        return all(count <= said[key] for key, count in says.items())

    def mended(self, edits: tuple[Edit, ...]) -> Norm | None:
        """The norm as it is after the edits."""
        return _counterpart(self.norm, _norms(self.tree.text, self.tree.snippet), _edited(self.tree, edits))


@lru_cache(maxsize=32)
def _norms(text: str, snippet: bool) -> tuple[Norm, ...]:
    from normlint.evaluate.module import Module  # libcst comes in here
    from normlint.norm.collect import norms

    module = Module(text, snippet)
    found = norms(module)
    took(module.spent * STEP)
    return found


def _edited(tree: Tree, edits: tuple[Edit, ...]) -> tuple[Norm, ...]:
    took(len(tree.text))
    try:
        text = apply(tree.text, edits)
        ast.parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    return _norms(text, tree.snippet)


def _counterpart(norm: Norm, before: tuple[Norm, ...], after: tuple[Norm, ...]) -> Norm | None:
    """The norm as it is after the edits: of the same name, and as many before it."""
    spans = [one.span for one in before if one.qualname == norm.qualname]
    now = [one for one in after if one.qualname == norm.qualname]
    return now[spans.index(norm.span)] if norm.span in spans and len(now) == len(spans) else None


def _alike(trial: Trial, mended: Norm, *, counted: bool = False) -> bool:
    """Still a norm of rows by their root mean square, with the gains and the eps it had; `counted`: or miscounted."""
    norm = trial.norm
    if not counted and mended.kind not in _SHAPED and any(c.counts or c.kind in _SHAPED for c in norm.computations):
        return False
    was, now = norm.main, mended.main
    named = {g.param.name for g in was.gains} | trial.applied == {g.param.name for g in now.gains if g.power == 1}
    kept = len(was.eps) + trial.gained == len(now.eps) and len(was.others) == len(now.others)
    joined = {e.power for e in now.eps} <= {e.power for e in was.eps} | {HALF, 1}
    return named and kept and joined and len(norm.computations) <= len(mended.computations)


def _said(norms: tuple[Norm, ...]) -> Counter[tuple[str, str]]:
    """How often each rule that is on by default speaks of each name; helpers are judged in their callers."""
    places = {c.joined for norm in norms if not norm.helper for c in norm.computations}
    judged = (n for n in norms if not (n.helper and any(c.joined in places for c in n.computations)))
    return Counter((norm.qualname, code) for norm in judged for code in _codes(norm))


def _codes(norm: Norm) -> Iterator[str]:
    for code, rule in RULES.items():
        if rule.check is not None and rule.default:
            yield from (code for _ in rule.check(norm))
