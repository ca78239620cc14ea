"""How the rest of a unit calls a class: with tensors of which rank, and which of its numbers is their last length.

A norm along axis 1 is right for (B, D) and wrong for (B, L, D); often only its callers tell. They are run for norms
that hang on it, once and straight through, with the examples (`>>>`) of docstrings among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from normlint.evaluate.context import Context
from normlint.evaluate.dims import ONE_LONG
from normlint.evaluate.entry import Entry
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import Module, Use, Uses
from normlint.evaluate.run import Run
from normlint.evaluate.walk import definitions
from normlint.norm.collect import norms
from normlint.norm.entries import Named, entries_of, top_level
from normlint.norm.norm import Computation, Norm
from normlint.text.pieces import WORD

_EXAMPLE: Final = re.compile(r"^[ \t]*(?:>>>|\.\.\.) ?(.*\S)[ \t]*$", re.MULTILINE)
_MOST: Final = 24  # functions and classes that are run,
_ENOUGH: Final = 20_000  # and expressions evaluated in them
_BEFORE: Final = 16  # loose statements before the first one that names the class,
_AFTER: Final = 48  # and from it on, that are run
_LEAST: Final = 3  # axes that a tensor has which tell anything


def asking(found: Iterable[Norm]) -> frozenset[str]:
    """The classes of norms whose axes mean one thing or another with the rank of what comes in."""
    return frozenset(norm.owner.name for norm in found if norm.owner.method and any(map(_is_open, norm.computations)))


def _is_open(c: Computation) -> bool:
    stat, placing = c.statistic, c.placing
    single = isinstance(stat.axes, tuple) and stat.axes != (-1,) and not stat.layout
    return single and stat.rank is None and placing.along_gain is not True


def uses_of(text: str, names: AbstractSet[str]) -> Uses:
    """How classes of the text are called in it."""
    found: dict[str, list[Use]] = {}
    for name, use in _seen(Module(text + _examples(text, names)), names):
        found.setdefault(name, []).append(use)
    return tuple((name, agreed) for name, every in sorted(found.items()) if (agreed := _agreed(every)) is not None)


def with_uses(module: Module, found: tuple[Norm, ...]) -> tuple[Norm, ...]:
    """The norms of a whole unit, as their callers have it where they hang on that."""
    asked = asking(found)
    module.uses = uses_of(module.text, asked) if asked else ()
    return norms(module) if module.uses else found


def _examples(text: str, names: AbstractSet[str]) -> str:
    """The examples as a function of their own, unless none of them names a class that is asked for."""
    lines = _EXAMPLE.findall(text) if ">>>" in text else []
    if not any(name in line for line in lines for name in names):
        return ""
    return "\n\ndef _examples():\n" + "".join(f"    {line}\n" for line in lines)


def _seen(module: Module, names: AbstractSet[str]) -> Iterator[tuple[str, Use]]:
    """Every call with a tensor of which something is known."""
    for entry in _callers(module, names):
        run = Run(module, entry, {})
        run.path()
        module.spent += run.context.steps
        shapes = run.context.shapes
        for called, x in run.context.handed:
            name = called.text.removeprefix("module ")
            if name in names:
                dims = run.context.dims(x)
                last = shapes.axis(dims, -1)
                wide = [i for i, length in enumerate(called.sizes) if last != ONE_LONG and shapes.equal(length, last)]
                yield name, Use(shapes.rank(dims), shapes.least(dims), wide[0] if len(wide) == 1 else None)
        if module.spent > _ENOUGH:
            return


def _callers(module: Module, names: AbstractSet[str]) -> Iterator[Entry]:
    machine, everything = Machine(module, Context({})), Named(module)
    named = [p for p in module.pieces if not names.isdisjoint(WORD.findall(module.source(p.span)))]
    for piece in [p for p in named if p.kind in ("class", "def") and names.isdisjoint(p.names)][:_MOST]:
        try:
            block = module.block(piece)
        except SyntaxError:
            continue
        for node in definitions(block):
            yield from entries_of(machine, node, everything, None)
    loose = [p for p in module.pieces if p.kind in ("plain", "compound")]
    first = next((at for at, p in enumerate(loose) if p in named), len(loose))
    yield from top_level(module, loose[max(first - _BEFORE, 0) : first + _AFTER])


def _agreed(uses: list[Use]) -> Use | None:
    """What holds of all calls that tell anything."""
    telling = [use for use in uses if use.least >= _LEAST or use.rank is not None]
    ranks, wide = {use.rank for use in telling}, {use.wide for use in telling}
    least = min((use.least for use in telling), default=0)
    if least < _LEAST:
        return None
    return Use(ranks.pop() if len(ranks) == 1 else None, least, wide.pop() if len(wide) == 1 else None)
