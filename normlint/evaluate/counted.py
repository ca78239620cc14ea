"""Recognize the mean of the elements that aren't zero: a sum divided by their number."""

from __future__ import annotations

from normlint.evaluate.monomial import Abs, Apply, Centred, Mono, Size, Stat, mono_of
from normlint.evaluate.value import Product
from normlint.text.frozen import replace


def nonzero(condition: Product) -> Mono | None:
    """Return the tensor x if the condition is `x != 0`, else None."""
    atom = condition.sole.atom if condition.sole else None
    args = atom.args if isinstance(atom, Apply) and atom.name in ("ne", "not_equal") else ()
    asked, of = args[::-1] if len(args) == 2 else (None, None)
    return of if isinstance(asked, Mono) and asked.coef == 0 and isinstance(of, Mono) else None


def mean_of_nonzero(left: Product, right: Product) -> Mono | None:
    """Return a sum divided by the number of nonzero elements along its axes as a mean; None for any other quotient."""
    size = right.atom
    counted = size.of.factors[0].atom if isinstance(size, Size) and size.of.factors else None
    sums = [f for f in left.mono.factors if isinstance(f.atom, Stat)]
    if not isinstance(counted, Apply) or counted.name != "nonzero" or len(sums) != 1 or sums[0].power != 1:
        return None
    stat = sums[0].atom
    assert isinstance(stat, Stat)
    if stat.reduce != "sum" or counted.args != (_element(stat.inner), stat.axes, stat.keepdim, stat.layout):
        return None
    mean = replace(sums[0], atom=replace(stat, reduce="mean"))
    return Mono(left.mono.coef, tuple(mean if f is sums[0] else f for f in left.mono.factors))


def _element(summed: Mono) -> Mono | None:
    """Return the tensor whose values, powers, absolute values or deviations are summed; None if there are several."""
    atom = summed.only
    if isinstance(atom, Abs):
        return _element(atom.inner)
    if isinstance(atom, Centred):
        return atom.base
    return mono_of(atom) if atom is not None else None
