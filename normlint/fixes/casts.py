"""Repairs of NRM201 to NRM206: a cast put in, taken out or moved, in the spelling that the text already uses."""

from __future__ import annotations

import re
from typing import Final

from normlint.evaluate.dtypes import HALVES
from normlint.evaluate.monomial import VARIANCE_AS_DIFFERENCE
from normlint.fixes.casts_places import (
    Entry,
    cast_back,
    casting,
    entry_of,
    inputs_of,
    lacks,
    shared_casts,
)
from normlint.fixes.casts_words import back, cast, raising, receiver, usual_upcast, without_cast, written_above
from normlint.fixes.document import Changes
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.pieces import pieces

_FP32: Final = re.compile(r"\bfloat32\b|\.float\(\)")
_COMPLEX: Final = re.compile(r"\bcomplex(?!ity)", re.IGNORECASE)  # numbers, which no float holds

# --- NRM201, NRM206 --------------------------------------------------------------------------------------------------


def upcast(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The input in fp32 before it is squared, and the product cast back where nothing does it yet."""
    document = tree.document
    entry = entry_of(document, several)
    backs = cast_back(document, [c for c in several if not c.output.wide and lacks(c)], entry)
    return _upcast(several, tree, entry, backs) if backs is not None else None


def _upcast(several: tuple[Computation, ...], tree: Tree, entry: Entry, more: Changes) -> Fix | None:
    document, up, first = tree.document, usual_upcast(tree), next(iter(entry.values()), None)
    centred = all(c.statistic.spelled != VARIANCE_AS_DIFFERENCE for c in several)  # which comes first
    if first is None or not centred or _COMPLEX.search(document.whole(first).code):
        return None
    asked = any(c.possible <= HALVES for c in several)  # halves by name, on this path: somebody meant that
    safety = Applicability.UNSAFE if asked else Applicability.SAFE
    message = f"Upcast before the square: `{raising(document, first, up)}`"
    return document.fix(message, casting(document, entry, up) | more, safety)


# --- NRM202 ----------------------------------------------------------------------------------------------------------


def earlier(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The upcast moved from behind the square to the input."""
    document, gone = tree.document, Changes()
    for c in several:
        late = _late_span(c)
        gone |= (without_cast(document, document.at(late)) or {}) if late != c.statistic.span else {}
    return _upcast(several, tree, entry_of(document, several), gone)


def _late_span(c: Computation) -> Span:
    """The late cast, or the reduction that casts what it is given."""
    inner = [s for f in c.statistic.inner.factors for s in f.steps]
    squared = max((n for n, s in enumerate(inner) if s.op == "square"), default=-1)
    shared = {s.span for s in shared_casts(c)}
    own = [s for s in (*inner[squared + 1 :], *c.trail) if s.op == "cast" and s.span not in shared]
    return next((s.span for s in own if s.dtype is not None and s.dtype.wide), c.statistic.span)


# --- NRM203, NRM205 --------------------------------------------------------------------------------------------------


def downcast(norm: Norm, several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The output cast back to the dtype that came in."""
    wanted = _is_wanted_wide(tree.text, norm.owner.name.rpartition(".")[0] or norm.owner.name)
    message = "Cast the output back to the input's dtype"
    ways = ((message, cast_back(tree.document, several, late=late) or {}) for late in (False, True))
    return Trial(tree, norm, "NRM203").first(ways, Applicability.UNSAFE if wanted else Applicability.SAFE)


def _is_wanted_wide(text: str, name: str) -> bool:
    """Does another class or function of the text call this one, and speak of fp32? It may count on what comes out."""
    others = (text[slice(*p.span)] for p in pieces(text) if p.kind in ("class", "def") and name not in p.names)
    return any(re.search(rf"\b{name}\(", other) and _FP32.search(other) for other in others)


def widen(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The statistic left in fp32, and the product cast back where nothing does it yet."""
    document = tree.document
    changes = without_cast(document, document.at(span))
    backs = cast_back(document, [c for c in several if lacks(c)])
    if changes is None or backs is None or any(c.partial for c in several):
        return None
    return document.fix("Leave the statistic in fp32 until the product", backs | changes, Applicability.SAFE)


def follow(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The product in the dtype that came in, whatever it was."""
    document = tree.document
    node = document.at(span)
    if receiver(document, node) is None or not all(span in {s.span for s in shared_casts(c)} for c in several):
        return None
    found = back(document, node, tuple(dict.fromkeys(name for c in several for name in inputs_of(c))))
    if found is None:
        return None
    line = written_above([(found.line_at, found.line)]) if found.line_at is not None else {}
    changes = {**line, node: lambda now: cast(now.func.value, found.suffix)}
    return document.fix(f"Cast to the input's dtype: `{found.suffix}`", changes, Applicability.UNSAFE)
