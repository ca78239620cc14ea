"""Describe a norm on one line: as a sentence, and as the spine, its computation in the order of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from math import isnan

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import ALL, TRAILING, Apply, Atom, Input, Mono, Scalar, Stat
from normlint.evaluate.truth import describe
from normlint.norm.norm import HALF, Computation, Count, Eps, Gain

_PLACE = re.compile(r"@\d+")
_ROOTS = ("norm", "std")  # steps that take a root
_INTERNAL = re.compile(r"\b(?:Mono|Product|Tup|Factor|Stat|Shape|Opaque|Constant)\(")
_KINDS = {"rms": "RMSNorm", "layer": "LayerNorm", "l2": "L2 norm"}
_ROOTED = {
    Fraction(1): "multiplied by the mean square (expected: divided by its root)",
    HALF: "multiplied by the root (expected: divided by it)",
    Fraction(-1): "divided without a root (expected: by the root)",
    -HALF * HALF: "root taken twice (expected: once)",
}
_SHOWN = ("sqrt", "rsqrt", "recip", "pow", "eps", "unknown", *_ROOTS)


def sentence(c: Computation, *, grouped: bool = False) -> str:
    """Return a norm in words, with mistakes in capitals: `RMSNorm over the last axis, eps 1e-6 under the root, …`."""
    return f"{'Group or instance norm' if grouped else _KINDS.get(c.kind, c.kind)} {', '.join(_clauses(c))}"


def _clauses(c: Computation) -> Iterator[str]:
    yield _over(c)
    if c.kind == "rms" and c.statistic.reduce == "sum" and not (c.counts or c.others or c.unread or c.fused):
        yield "of the SUM of squares (expected: their mean)"
    if c.degree == 1 and c.kind == "rms":
        yield "of the VALUES (expected: their squares)"
    if c.kind == "layer" and c.centred != (True, True):
        yield "centred in the STATISTIC ALONE" if c.centred[0] else "centred in the INPUT ALONE"
    if any(c.centred) and not c.statistic.biased:
        yield "UNBIASED variance (expected: divided by the count)"
    if c.power in _ROOTED and "power" not in c.unread:
        yield _ROOTED[c.power]
    if not c.fused and "eps" not in c.unread:
        yield " and ".join(_eps(c, e) for e in c.eps) or ("no eps" if c.kind == "l2" else "NO eps")
    if c.statistic.accumulate.wide or c.fused:
        yield "fp32 statistics"
    elif c.sees_half and c.statistic.accumulate in (DType.INPUT, DType.FP16, DType.BF16):
        yield "statistics in the input's dtype"
    yield from (f"gain {_offset(g)}`{g.param.label}`{_power(g)}" for g in c.gains)
    yield from (f"times `{a.name}`" for a in c.others if isinstance(a, Input))
    if c.shift is not None:
        yield f"shift `{_shown(_words(c.shift)) or 'tensor'}`"
    if any(step.op == "detach" for step in c.trail):
        yield "WITHOUT the statistic's gradient"


def _power(g: Gain) -> str:
    return "" if g.power == 1 else f" to the power of {g.power}"


def _over(c: Computation) -> str:
    axes = c.statistic.axes
    if axes == ALL:
        wrong = c.over_everything and not c.placing.single and c.kind != "l2"
        return "over ALL axes (expected: the last)" if wrong else "over all axes"
    if axes == TRAILING:
        return "over normalized_shape"
    if not isinstance(axes, tuple):
        return "over axes that aren't known"
    if c.placing.over_tokens and c.kind != "l2":
        return f"over AXIS {_axes(c.statistic)}, the tokens (expected: the last)"
    if axes == (-1,):
        return "over the last axis"
    return f"over {'axis' if len(axes) == 1 else 'axes'} {_axes(c.statistic)}"


def _eps(c: Computation, e: Eps) -> str:
    number = e.value if e.value is not None else e.default
    named = f"eps {number:g}" if number is not None else "an eps"
    if number is None and e.name:
        named = f"eps `{_shown(e.name)}`"
    if e.power == 1 or e.how != "add":
        return f"{named} {'under the root' if e.power == 1 else 'as a floor'}"
    return f"{named} {'OUTSIDE the root (expected: under it)' if c.explicit_square else 'beside the root'}"


def spine(c: Computation) -> str:
    """Return a norm in code order: `mean[-1] keepdim | eps → sqrt → recip → input(x) → scale(weight)`."""
    steps = ["sqrt" if s.op in _ROOTS else s.op for s in c.trail if s.op in _SHOWN]
    steps += [s.op for s in c.trail if s.op in ("detach", "item")]
    steps.append(f"input({_input(c.input)})")
    steps += [f"scale({_offset(g)}{g.param.label})" for g in c.gains]
    steps += [f"count({n.text}^{n.power})" for n in c.counts if not _plain_mean(c, n)]
    steps += [f"times({_atom(a)})" for a in c.others]
    if c.shift is not None:
        steps.append(f"shift({_shown(_words(c.shift)) or 'tensor'})")
    return f"{_head(c)} | {' → '.join(steps)}"


def _offset(g: Gain) -> str:
    return "" if not g.offset else "? + " if isnan(g.offset) else f"{g.offset:g} + "


def _plain_mean(c: Computation, n: Count) -> bool:
    """Return whether a count divides a sum, which then reads as a mean."""
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
    return _shown(_words(mono), 40)


def _shown(words: str, most: int = 30) -> str:
    """Shorten text that is long or has internals in it, and close its brackets."""
    internal = _INTERNAL.search(words)
    cut = words[: min(most, internal.start() if internal else most)]
    return cut if len(cut) == len(words) else f"{cut}…{')' * (cut.count('(') - cut.count(')'))}"


def _words(mono: Mono) -> str:
    """Return the words for a product, without the offsets that distinguish opaque values."""
    return _PLACE.sub("", describe(mono))


def _atom(atom: Atom) -> str:
    if isinstance(atom, Apply):
        return _shown(_PLACE.sub("", atom.name))
    return atom.name if isinstance(atom, Scalar | Input) else type(atom).__name__.lower()
