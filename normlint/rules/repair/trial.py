"""Edits on trial: the text is read again as it would be, and the norm must come out as it should.

A repair that has several ways to mend a norm lists them, the most natural first; the first that is right is taken.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from normlint.norm.norm import Norm
from normlint.rules.registry import RULES
from normlint.rules.repair.tree import Tree
from normlint.text.edit import apply
from normlint.text.finding import Applicability, Edit, Fix

MOST: Final = 24  # candidates tried for one finding
Candidate = tuple[str, tuple[Edit, ...]]  # what the fix is called, and its edits
Accepts = Callable[[Norm], bool]


def first_right(
    tree: Tree, norm: Norm, code: str, candidates: Iterable[Candidate], applicability: Applicability, accepts: Accepts
) -> Fix | None:
    """The first candidate after which `code` is silent on the norm and no rule says more than before on any."""
    before = _norms(tree.text, tree.snippet)
    tried: set[tuple[Edit, ...]] = set()
    for message, edits in islice(candidates, MOST):
        if not edits or edits in tried:
            continue
        tried.add(edits)
        after = _edited(tree, edits)
        mended = _counterpart(norm, before, after)
        if mended is not None and accepts(mended) and _settled(code, norm, mended, before, after):
            return Fix(message, edits, applicability)
    return None


@lru_cache(maxsize=32)
def _norms(text: str, snippet: bool) -> tuple[Norm, ...]:
    from normlint.evaluate.module import Module  # libcst comes in here
    from normlint.norm.collect import norms

    return norms(Module(text, snippet))


def _edited(tree: Tree, edits: tuple[Edit, ...]) -> tuple[Norm, ...]:
    try:
        text = apply(tree.text, edits)
        ast.parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    return _norms(text, tree.snippet)


def _counterpart(norm: Norm, before: tuple[Norm, ...], after: tuple[Norm, ...]) -> Norm | None:
    """The norm as it is after the edits: of the same name, and as many before it."""
    same = [one for one in before if one.qualname == norm.qualname]
    now = [one for one in after if one.qualname == norm.qualname]
    place = [one.span for one in same].index(norm.span) if norm.span in [one.span for one in same] else -1
    return now[place] if 0 <= place < len(now) and len(now) == len(same) else None


def _settled(code: str, norm: Norm, mended: Norm, before: tuple[Norm, ...], after: tuple[Norm, ...]) -> bool:
    if RULES[code].check is None or code in set(_codes(mended)):
        return False
    said, says = _said(before), _said(after)
    return all(count <= said[key] for key, count in says.items())


def _said(norms: tuple[Norm, ...]) -> Counter[tuple[str, str]]:
    """How often each rule that is on by default speaks of each name."""
    return Counter((norm.qualname, code) for norm in norms for code in _codes(norm))


def _codes(norm: Norm) -> Iterator[str]:
    for code, rule in RULES.items():
        if rule.check is not None and rule.default:
            yield from (code for _ in rule.check(norm))
