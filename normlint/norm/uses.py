"""Find how the rest of a unit calls a class: the rank of the tensors, and the number that is their last length.

A norm along axis 1 is right for (B, D) and wrong for (B, L, D), and often only its callers tell which it is. For norms
that depend on it, the callers are run once, on one path, and so are the examples (`>>>`) in docstrings.
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
_MOST: Final = 24  # most functions and classes that are run
_ENOUGH: Final = 20_000  # expressions evaluated in them after which no more are run
_BEFORE: Final = 16  # top-level statements that are run before the first that names a class
_AFTER: Final = 48  # and from that one on
_LEAST: Final = 3  # fewest axes of a tensor that tell anything


def asking(found: Iterable[Norm]) -> frozenset[str]:
    """Return the classes with norms whose axes depend on the rank of the input."""
    return frozenset(norm.owner.name for norm in found if norm.owner.method and any(map(_is_open, norm.computations)))


def _is_open(c: Computation) -> bool:
    stat, placing = c.statistic, c.placing
    single = isinstance(stat.axes, tuple) and stat.axes != (-1,) and not stat.layout
    return single and stat.rank is None and placing.along_gain is not True


def uses_of(text: str, names: AbstractSet[str]) -> Uses:
    """Return how classes of the text are called in it."""
    found: dict[str, list[Use]] = {}
    for name, use in _seen(Module(text + _examples(text, names)), names):
        found.setdefault(name, []).append(use)
    return tuple((name, agreed) for name, every in sorted(found.items()) if (agreed := _agreed(every)) is not None)


def with_uses(module: Module, found: tuple[Norm, ...]) -> tuple[Norm, ...]:
    """Return the norms of a whole unit, read again with what their callers tell if they depend on it."""
    asked = asking(found)
    module.uses = uses_of(module.text, asked) if asked else ()
    return norms(module) if module.uses else found


def _examples(text: str, names: AbstractSet[str]) -> str:
    """Return the examples as a function of its own; empty if none of them names one of these classes."""
    lines = _EXAMPLE.findall(text) if ">>>" in text else []
    if not any(name in line for line in lines for name in names):
        return ""
    return "\n\ndef _examples():\n" + "".join(f"    {line}\n" for line in lines)


def _seen(module: Module, names: AbstractSet[str]) -> Iterator[tuple[str, Use]]:
    """Yield every call of these classes with a tensor, and what is known of the tensor."""
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
    """Return what holds of all calls that tell anything; None if the rank may be less than 3."""
    telling = [use for use in uses if use.least >= _LEAST or use.rank is not None]
    ranks, wide = {use.rank for use in telling}, {use.wide for use in telling}
    least = min((use.least for use in telling), default=0)
    if least < _LEAST:
        return None
    return Use(ranks.pop() if len(ranks) == 1 else None, least, wide.pop() if len(wide) == 1 else None)
