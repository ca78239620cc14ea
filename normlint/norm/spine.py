"""The spine: a norm's computation in the order of the code, on one line, for people and for tests."""

from __future__ import annotations

import re
from math import isnan

from normlint.evaluate.monomial import ALL, TRAILING, Apply, Atom, Mono, Scalar, Stat
from normlint.evaluate.truth import describe
from normlint.norm.norm import Computation, Count, Gain

_PLACE = re.compile(r"@\d+")
_ROOTS = ("norm", "std")  # which hold one
_SHOWN = ("sqrt", "rsqrt", "recip", "pow", "eps", "unknown", *_ROOTS)


def spine(c: Computation) -> str:
    """`mean[-1] keepdim | eps → sqrt → recip → input(x) → scale(weight)`."""
    steps = ["sqrt" if s.op in _ROOTS else s.op for s in c.trail if s.op in _SHOWN]
    steps += [s.op for s in c.trail if s.op in ("detach", "item")]
    steps.append(f"input({_input(c.input)})")
    steps += [f"scale({_offset(g)}{g.param.name or 'tensor'})" for g in c.gains]
    steps += [f"count({n.text}^{n.power})" for n in c.counts if not _plain_mean(c, n)]
    steps += [f"times({_atom(a)})" for a in c.others]
    if c.shift is not None:
        steps.append(f"shift({_words(c.shift)[:30]})")
    return f"{_head(c)} | {' → '.join(steps)}"


def _offset(g: Gain) -> str:
    return "" if not g.offset else "? + " if isnan(g.offset) else f"{g.offset:g} + "


def _plain_mean(c: Computation, n: Count) -> bool:
    """A sum divided by its count reads as a mean."""
    return c.statistic.reduce == "sum" and n.of_features is not False


def _head(c: Computation) -> str:
    stat = c.statistic
    divided = stat.reduce == "sum" and any(n.of_features is not False and n.power > 0 for n in c.counts)
    name = "mean" if stat.reduce == "mean" or divided else "sum"
    if any(c.centred):
        name = "var" if c.centred[0] else name
        name += "" if stat.biased else " unbiased"
    elif c.degree == 1:
        name += "(x)"
    centre = "centre → " if c.centred[1] and not c.centred[0] else ""
    return f"{centre}{name}[{_axes(stat)}]{' keepdim' if stat.keepdim and stat.axes != ALL else ''}"


def _axes(stat: Stat) -> str:
    if stat.axes == ALL:
        return "*"
    if stat.axes == TRAILING:
        return "normalized_shape"
    return ",".join(map(str, stat.axes)) if isinstance(stat.axes, tuple) else "?"


def _input(mono: Mono) -> str:
    return _words(mono)[:40]


def _words(mono: Mono) -> str:
    """Without the places that tell one opaque value from another."""
    return _PLACE.sub("", describe(mono))


def _atom(atom: Atom) -> str:
    if isinstance(atom, Apply):
        return _PLACE.sub("", atom.name)[:30]
    return atom.name if isinstance(atom, Scalar) else type(atom).__name__.lower()
