"""Try edits: read the text again as it would be, and accept only edits after which the norm is right.

A repair that has several ways to fix a norm lists them, the most natural first; the first that is right is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product, takewhile
from typing import Any, Final, NamedTuple

import libcst as cst

from normlint.evaluate.module import Module
from normlint.evaluate.monomial import Centred, Stat
from normlint.fixes.callers import beside_norm
from normlint.fixes.document import Change, Document
from normlint.fixes.tree import Tree
from normlint.norm.blocks import Block, blocks, whole
from normlint.norm.kept import STEP, norms, took
from normlint.norm.norm import HALF, Computation, Norm
from normlint.rules.registry import RULES
from normlint.text.edit import apply
from normlint.text.finding import Applicability, Edit, Finding, Fix, Span
from normlint.text.frozen import dataclass


def with_twins(tree: Tree, edits: tuple[Edit, ...], places: Collection[Span]) -> tuple[Edit, ...]:
    """Repeat edits in a statistic at one of the places wherever the same text occurs again in its statement."""
    return tuple(dict.fromkeys((*edits, *(copy for place in places for copy in _copies(tree.document, edits, place)))))


def _copies(document: Document, edits: tuple[Edit, ...], place: Span) -> Iterator[Edit]:
    """Yield the edits inside a repeated text for its repetitions; none where an edit crosses its bounds."""
    here, *others = _twins(document, place) or [place]
    inside = [edit for edit in edits if here.holds(edit.span)]
    if any(here.meets(edit.span) for edit in edits if edit not in inside):
        return
    for there in others:
        if not any(there.holds(edit.span) or there.meets(edit.span) for edit in edits):
            yield from (replace(edit, span=edit.span.shift(there.start - here.start)) for edit in inside)


def _twins(document: Document, place: Span) -> list[Span]:
    """Return the widest repeated expression around the statistic in its statement, then its repetitions."""
    node: Any = document.at(place)
    stmt: Any = document.around(node, cst.BaseSmallStatement)
    if stmt is None:
        return []
    above = takewhile(lambda n: n is not stmt, document.above(node))
    for one in reversed([node, *(n for n in above if isinstance(n, cst.BaseExpression))]):
        here = document.outer(one)
        text = document.text[slice(*here)]
        alike = {document.outer(n) for n in document.below(stmt, type(one)) if n is not one}
        others = sorted(span for span in alike - {here} if document.text[slice(*span)] == text)
        if others:
            return [here, *others]
    return []


_SHAPED: Final = ("rms", "layer")
_HIDING: Final = ("NRM403",)
_Norms = tuple[tuple[Span, Norm], ...]  # with their spans in the unedited text


@dataclass(frozen=True, slots=True)
class Trial:
    """A finding of the rule `code` on a norm, and the text it is in."""

    tree: Tree
    norm: Norm
    code: str
    applied: frozenset[str] = frozenset()  # gains that the edits apply
    gained: int = 0  # number of eps that the edits add
    partly: bool = False  # accept less than a clean norm, see `_in_part`

    def first(self, changes: Iterable[Change], applicability: Applicability = Applicability.SAFE) -> Fix | None:
        """Return a fix by the first of the changes that passes, preferring one that changes only the norm."""
        tried: dict[tuple[Edit, ...], str] = {}
        passed: list[tuple[Edit, ...]] = []
        places = {stat.span for c in self.norm.computations for stat in stats_of(c)}
        for message, change in changes:
            edits = with_twins(self.tree, self.tree.document.edits(change), places)
            if not edits or edits in tried:
                continue
            tried[edits] = message
            if self.passes(edits):
                passed.append(edits)
                if not beside_norm(self.tree, edits, [self.norm]):
                    return Fix(message, edits, applicability)
        edits = next(chain(passed, self._in_part(tried) if self.partly else ()), ())
        return Fix(tried[edits], edits, applicability) if edits else None

    def _in_part(self, tried: Iterable[tuple[Edit, ...]]) -> Iterator[tuple[Edit, ...]]:
        """Yield edits that fix one of several findings of the rule, or that reveal another finding behind this one."""
        most = list(reported(self.norm)).count(self.code) - 1
        yield from (edits for edits in tried if most and self.passes(edits, left=most))
        brought = {edits: self._revealed(edits) for edits in tried}
        yield from sorted((e for e, new in brought.items() if new), key=lambda e: len(brought[e]))

    def _revealed(self, edits: tuple[Edit, ...]) -> tuple[str, ...]:
        """Return the codes of new findings on the norm once this one is fixed, if no other norm has new ones."""
        fixed = self.fixed(edits)
        codes = set(reported(fixed)) if fixed is not None else {self.code}
        if fixed is None or self.code in codes or not _alike(self, fixed, counted="NRM104" in codes):
            return ()
        new = list(self._read(edits).new)
        hidden = self.code in _HIDING  # without squares no other rule for formulas reports
        own = all(name == self.norm.qualname and (hidden or code[:4] != self.code[:4]) for name, code in new)
        return tuple(code for _, code in new) if own else ()

    def passes(self, edits: tuple[Edit, ...], left: int = 0) -> bool:
        """Return whether at most `left` findings of the rule stay on the norm, and no norm has a new finding."""
        fixed = self.fixed(edits)
        if fixed is None or not _alike(self, fixed) or list(reported(fixed)).count(self.code) > left:
            return False
        read = self._read(edits)
        own = _counterpart(self.norm, read.before, read.before) or self.norm
        return not read.new and self._beside(fixed, read.after) <= self._beside(own, read.before)

    def _beside(self, norm: Norm, found: _Norms) -> int:
        """Return how often the rule speaks of other norms of the same name, such as those of other branches."""
        beside = (one for _, one in found if one.qualname == norm.qualname and one is not norm)
        return sum(list(reported(one)).count(self.code) for one in beside)

    def helps(self, edits: tuple[Edit, ...], finding: Finding) -> bool:
        """Return whether the finding is gone from its place, or the norm is none of the text's own any more.

        The norm itself may show findings that this one hid; other norms may have no new ones. The output may not become
        wider on any path.
        """
        read = self._read(edits)
        fixed, owners = _counterpart(self.norm, read.before, read.after), self.tree.owners
        gone = fixed is None or not self._stays(fixed, edits, finding)
        leaks = fixed is not None and fixed.wide and not self.norm.wide and not self.norm.main.partial
        return gone and not leaks and all(name in owners or name == self.norm.qualname for name, _ in read.new)

    def _stays(self, fixed: Norm, edits: tuple[Edit, ...], finding: Finding) -> bool:
        """Return whether the norm still has the finding at the same place."""
        check = RULES[self.code].check
        found = [one.span.start for one in check(fixed) if one.message == finding.message] if check else []
        ways = product(_places_after(finding.span.start, edits), _places_after(self.norm.span.start, edits))
        places = {fixed.span.start + here - norm for here, norm in ways}
        return any(place in places for place in found)

    def fixed(self, edits: tuple[Edit, ...]) -> Norm | None:
        """Return the norm as it is after the edits."""
        return _counterpart(self.norm, *self._read(edits)[:2])

    def _read(self, edits: tuple[Edit, ...]) -> _Read:
        tree, place = self.tree, self.norm.main.statistic.span
        return tree.once((place, edits), lambda: _read(tree, (place, *(edit.span for edit in edits)), edits))


def _places_after(place: int, edits: tuple[Edit, ...]) -> set[int]:
    """Return where a place is after the edits: before or behind what is inserted right there."""
    grown = [(edit.span, len(edit.text) - (edit.span.end - edit.span.start)) for edit in edits]
    here = place + sum(more for span, more in grown if span.start < place)
    return {here, here + sum(more for span, more in grown if span.start == place)}


class _Read(NamedTuple):
    """The norms around edits before and after, and the findings that are new afterwards."""

    before: _Norms
    after: _Norms
    new: Counter[tuple[str, str]]


def _read(tree: Tree, places: Sequence[Span], edits: Sequence[Edit]) -> _Read:
    """Read the blocks that hold the places, before and after the edits; the whole text if a place is in no block."""
    cut = tree.once("blocks", lambda: list(blocks(tree.text)))
    held = [[block for block in cut if block.here(place, tree.text) is not None] for place in places]
    known = {id(block): block for several in held for block in several} if all(held) else {0: whole(tree.text)}
    before = [tree.once(one.text, lambda one=one: _norms(tree, one)) for one in known.values()]  # type: ignore[misc]
    after = [_norms(tree, one, edits) for one in known.values()]
    new = sum(map(_counted_findings, after), Counter[Any]()) - sum(map(_counted_findings, before), Counter[Any]())
    return _Read(tuple(chain(*before)), tuple(chain(*after)), new)


def _norms(tree: Tree, part: Block, edits: Sequence[Edit] = ()) -> _Norms:
    """Return the norms of a block after the edits inside it, each with its span in the unedited text."""
    own = [replace(e, span=span) for e in edits if (span := part.here(e.span, tree.text)) is not None]
    found: list[tuple[Span, Norm]] = []
    try:
        for block in blocks(apply(part.text, own)):
            took(len(block.text))
            module = Module(block.text, tree.snippet, part.reinitialised, block.begin, uses=tree.uses)
            found += [(part.home(block.home(norm.span)), norm) for norm in norms(module)]
            took(module.spent * STEP)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    return tuple(found)


def _counterpart(norm: Norm, before: _Norms, after: _Norms) -> Norm | None:
    """Return the norm as it is after the edits: the one with the same name and position among those of its name."""
    was, now = ([(at, one) for at, one in found if one.qualname == norm.qualname] for found in (before, after))
    start = norm.main.statistic.span.start - norm.span.start  # one function may make several norms of one span
    several = [n for n, (at, _) in enumerate(was) if at == norm.span]
    exact = (n for n in several if was[n][1].main.statistic.span.start - was[n][1].span.start == start)
    place = next(exact, next(iter(several), None))
    return now[place][1] if place is not None and len(now) == len(was) else None


def _alike(trial: Trial, fixed: Norm, *, counted: bool = False) -> bool:
    """Return whether the fixed norm is still an RMS or layer norm with the same gains and eps.

    `counted`: or one whose only fault is a wrong count.
    """
    norm = trial.norm
    if not counted and fixed.kind not in _SHAPED and any(c.counts or c.kind in _SHAPED for c in norm.computations):
        return False
    was, now = norm.main, fixed.main
    gains, wanted = {g.param.name for g in now.gains if g.power == 1}, {g.param.name for g in was.gains} | trial.applied
    kept = len(was.eps) + trial.gained == len(now.eps) and len(was.others) == len(now.others) and gains == wanted
    joined = {e.power for e in now.eps} <= {e.power for e in was.eps} | {HALF, 1}
    own = {c.axes for c in (was.centre, now.statistic) if c is not None}  # no other mean may be read as the centre now
    centred = now.centre is None or now.centre.axes in own
    fits = now.placing.fits is not False or not was.placing.fits
    return kept and joined and centred and fits and len(norm.computations) <= len(fixed.computations)


def _counted_findings(found: _Norms) -> Counter[tuple[str, str]]:
    """Count the findings of default rules by norm and code; helpers are judged in their callers."""
    norms = [norm for _, norm in found]
    places = {c.joined for norm in norms if not norm.helper for c in norm.computations}
    judged = (n for n in norms if not (n.helper and any(c.joined in places for c in n.computations)))
    return Counter((norm.qualname, code) for norm in judged for code in reported(norm))


def reported(norm: Norm) -> Iterator[str]:
    """Yield the codes of the findings that the default rules have on a norm."""
    for code, rule in RULES.items():
        if rule.check is not None and rule.default:
            yield from (code for _ in rule.check(norm))


def stats_of(c: Computation) -> list[Stat]:
    """Return the statistic, its centre, and the centres inside it."""
    inner = (f.atom.stat for f in c.statistic.inner.factors if isinstance(f.atom, Centred))
    return [stat for stat in (c.statistic, c.centre, *inner) if stat is not None]
