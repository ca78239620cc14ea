"""Analyse a unit block by block: return the findings and norms of `analyse`, without fixes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from normlint.evaluate.module import Module, Refilled, Uses
from normlint.norm.blocks import Block, blocks, homed
from normlint.norm.candidates import Candidates
from normlint.norm.collect import read_elsewhere
from normlint.norm.norm import Norm
from normlint.norm.uses import asking, uses_of
from normlint.rules import analysed, in_use
from normlint.text.depth import too_deep
from normlint.text.finding import Finding, Span
from normlint.text.frozen import dataclass
from normlint.text.pieces import with_line_feeds


@dataclass(frozen=True, slots=True)
class LightNorm:
    """A norm as it is listed: its name, its description and its place."""

    kind: str
    qualname: str
    span: Span
    spine: str
    helper: bool
    sentence: str = ""
    within: tuple[Span, ...] = ()  # every function that it comes about in


@dataclass(frozen=True, slots=True)
class LightAnalysis:
    """The findings and norms of one unit, each in the order of the text; findings refer to norms by index."""

    findings: tuple[Finding, ...]
    norms: tuple[LightNorm | Norm, ...]
    unread: tuple[tuple[str, Span], ...] = ()
    asks: frozenset[str] = frozenset()  # classes whose callers tell the rank of the input
    idle: frozenset[str] = frozenset()  # attributes that nothing reads here, and their classes
    blamed: frozenset[int] = frozenset()  # norms with findings in other files


def analyse_blocks(text: str, *, snippet: bool = False, whole: bool = False, own: int | None = None) -> LightAnalysis:
    """Return the findings of all rules, and the norms; SyntaxError if a statement that may hold a norm can't be read.

    `whole`: keep all that was read of a norm, for running it, and not only what is listed. `own`: the offset at which
    text borrowed from other files begins.
    """
    norms: list[LightNorm | Norm] = []
    findings: list[Finding] = []
    unread: dict[str, Span] = {}
    text = with_line_feeds(text)
    looked = [(block, _analysed(block, snippet, whole)) for block in blocks(text, own)]
    asked = frozenset().union(*(seen.asks for _, seen in looked))
    uses = uses_of(text, asked) if asked else ()
    unit = Module(text)
    for block, first in looked:
        here = tuple(use for use in uses if use[0] in first.asks)
        read = frozenset(name for name in first.idle if read_elsewhere(unit, name))
        seen = _analysed(block, snippet, whole, here, read) if here or read else first
        findings += (
            replace(homed(one, block), norms=tuple(len(norms) + number for number in one.norms))
            for one in seen.findings
        )
        unread |= {name: block.home(span) for name, span in seen.unread}
        norms += (homed(one, block) for one in seen.norms)
    order = sorted(range(len(norms)), key=lambda number: (norms[number].span, norms[number].qualname))
    place = {number: at for at, number in enumerate(order)}
    placed = (replace(one, norms=tuple(sorted(place[number] for number in one.norms))) for one in findings)
    found = in_use(tuple(sorted(placed, key=lambda one: (one.span, one.code))), text)
    return LightAnalysis(found, tuple(norms[number] for number in order), tuple(unread.items()))


def _analysed(
    block: Block, snippet: bool, whole: bool, uses: Uses = (), read: frozenset[str] = frozenset()
) -> LightAnalysis:
    return _of_block(block.text, snippet, whole, block.reinitialised, block.begin, uses, read)


@lru_cache(maxsize=128)
def _of_block(
    text: str,
    snippet: bool,
    whole: bool,
    reinitialised: Refilled | None,
    begin: Candidates,
    uses: Uses,
    read: frozenset[str],
) -> LightAnalysis:
    """Analyse one block; the result doesn't depend on where the block is in the text."""
    if too_deep(text):
        raise RecursionError
    module = Module(text, snippet, reinitialised, begin, uses=uses, read=read)
    analysis = analysed(module)
    if module.broken is not None:
        raise module.broken
    seen = tuple(norm if whole else _listed(norm) for norm in analysis.norms)
    idle = frozenset(name for norm in analysis.norms for name in _idle(norm, text))
    return LightAnalysis(analysis.findings, seen, analysis.unread, asking(analysis.norms), idle)


def _idle(norm: Norm, text: str) -> Iterator[str]:
    """Yield the norm's class and its attributes that nothing in the block reads, if there are any."""
    spans = [norm.owner.unused_groups] if norm.owner.unused_groups else []
    names = [p.name for p in norm.owner.unused_params] + [text[slice(*s)].rpartition(".")[2] for s in spans]
    yield from (norm.owner.name, *names) if names else ()


def _listed(norm: Norm) -> LightNorm:
    details = (norm.kind, norm.qualname, norm.span, norm.spine, norm.helper, norm.sentence)
    return LightNorm(*details, within=norm.within)
