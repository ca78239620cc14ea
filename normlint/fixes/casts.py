"""Repairs of NRM201 to NRM206: a cast put in, taken out or moved, in the spelling that the text already uses."""

from __future__ import annotations

import re
from typing import Final

import libcst as cst

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
from normlint.fixes.document import Changes, Document
from normlint.fixes.tree import Tree
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.pieces import pieces

_FP32: Final = re.compile(r"\bfloat32\b|\.float\(\)")
_COMPLEX: Final = re.compile(r"\bcomplex(?!ity)", re.IGNORECASE)  # numbers, which no float holds

# --- NRM201, NRM206 --------------------------------------------------------------------------------------------------


def upcast(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The input in fp32 before it is squared, and the product cast back where nothing does it yet."""
    document = tree.document
    if any(c.statistic.spelled == VARIANCE_AS_DIFFERENCE or _in_its_own(document, c) for c in several):
        return None  # first it must be centred; and what says its dtype takes that, whatever comes in
    entry, up = entry_of(document, several), usual_upcast(tree)
    if not entry.nodes or _COMPLEX.search(document.whole(entry.nodes[0]).code):
        return None
    return _upcast(document, several, entry, up, _entered(document, several, entry, up))


def _in_its_own(document: Document, c: Computation) -> bool:
    call = document.at(c.statistic.span, cst.Call)
    return call is not None and any(a.keyword and a.keyword.value == "dtype" for a in call.args)


def _upcast(
    document: Document, several: tuple[Computation, ...], entry: Entry, up: str, changes: Changes | None
) -> Fix:
    asked = any(c.possible <= HALVES for c in several)  # halves by name, on this path: somebody meant that
    message = f"Upcast before the square: `{raising(document, entry.nodes[0], up)}`"
    return document.fix(message, changes or {}, Applicability.UNSAFE if asked else Applicability.SAFE)


def _entered(document: Document, several: tuple[Computation, ...], entry: Entry, up: str) -> Changes | None:
    """Each place cast, and the product cast back where nothing does it yet; None where it isn't clear to what."""
    backs = cast_back(document, [c for c in several if not c.output.wide and lacks(document, c)], entry)
    return casting(document, entry, up) | backs if backs is not None else None


# --- NRM202 ----------------------------------------------------------------------------------------------------------


def earlier(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The upcast moved from behind the square to the input."""
    document = tree.document
    entry = entry_of(document, several)
    if not entry.nodes or any(c.statistic.spelled == VARIANCE_AS_DIFFERENCE for c in several):
        return None  # one pass must be centred first
    gone, up = Changes(), usual_upcast(tree)
    for c in several:
        late = _late_span(c)
        gone |= (without_cast(document, document.at(late)) or {}) if late != c.statistic.span else {}
    return _upcast(document, several, entry, up, casting(document, entry, up) | gone)


def _late_span(c: Computation) -> Span:
    """The late cast, or the reduction that casts what it is given."""
    inner = [s for f in c.statistic.inner.factors for s in f.steps]
    squared = max((n for n, s in enumerate(inner) if s.op == "square"), default=-1)
    shared = {s.span for s in shared_casts(c)}
    own = [s for s in (*inner[squared + 1 :], *c.trail) if s.op == "cast" and s.span not in shared]
    return next((s.span for s in own if s.dtype is not None and s.dtype.wide), c.statistic.span)


# --- NRM203, NRM205 --------------------------------------------------------------------------------------------------


def downcast(norm: Norm, several: tuple[Computation, ...], tree: Tree) -> Fix:
    """The output cast back to the dtype that came in."""
    wanted = _is_wanted_wide(tree.text, norm.owner.name.rpartition(".")[0] or norm.owner.name)
    trust = Applicability.UNSAFE if wanted else Applicability.SAFE
    changes = cast_back(tree.document, several)
    return tree.document.fix("Cast the output back to the input's dtype", changes or {}, trust)


def _is_wanted_wide(text: str, name: str) -> bool:
    """Does another class or function of the text call this one, and speak of fp32? It may count on what comes out."""
    others = (text[slice(*p.span)] for p in pieces(text) if p.kind in ("class", "def") and name not in p.names)
    return any(re.search(rf"\b{name}\(", other) and _FP32.search(other) for other in others)


def widen(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The statistic left in fp32, and the product cast back where nothing does it yet."""
    document = tree.document
    changes = without_cast(document, document.at(span))
    backs = cast_back(document, [c for c in several if lacks(document, c)])
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
