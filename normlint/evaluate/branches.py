"""Select the decisions whose other outcome may lead to a norm.

Most functions with a reduction compute a loss or a count. A test can't lead to a norm if its blocks contain no
reduction and no name that held a statistic or a value that was combined with one. If in doubt, a decision is selected.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from normlint.evaluate.context import Context, Flow, Fork
from normlint.evaluate.module import Module
from normlint.evaluate.monomial import Abs, Atom, Centred, Factor, Mono, Shifted, bears_stat, stats_of
from normlint.evaluate.reach import Reach, reach_of
from normlint.text.finding import Covered, Span

_COMMON = frozenset(("self", "torch"))


def meets(flow: Flow) -> bool:
    """Return whether a product has a statistic and its input, or is a returned statistic that a caller may apply."""
    return _meets(flow.product.mono, flow.returned)


def _meets(mono: Mono, returned: bool) -> bool:
    for f in mono.factors:
        if isinstance(f.atom, Shifted) and (f.atom.inner.has_stat or _meets(f.atom.inner, returned)):
            return True
        if bears_stat(f.atom) and ((returned and f.power != 1) or _has_its_input(f, mono)):
            return True
    return False


def _has_its_input(factor: Factor, mono: Mono) -> bool:
    others = {a for f in mono.factors if f is not factor for a in _uncentred(f.atom)}
    return any(
        a in others for stat in stats_of(Mono(1.0, (factor,))) for f in stat.inner.factors for a in _uncentred(f.atom)
    )


def _uncentred(atom: Atom) -> Iterator[Atom]:
    """Yield an atom and the atoms that it was centred from or is the absolute value of."""
    yield atom
    if isinstance(atom, Centred | Abs):
        for f in (atom.base if isinstance(atom, Centred) else atom.inner).factors:
            yield from _uncentred(f.atom)


def toward_norms(module: Module, context: Context, *, met: bool) -> AbstractSet[str]:
    """Return the decisions whose other outcome may lead to a norm; once a statistic `met` its input, also flags."""
    reach = reach_of(module.text)
    if _missed_reduction(reach, context):
        return context.decisions.keys()
    names = context.carriers | _names_at_statistics(reach, context)
    if met:
        names = reach.upstream(names, context.entered) - _COMMON
    branches = {key for fork in context.forks if fork.other != fork.whole for key in fork.keys}
    apart = set(context.decisions) - branches if met else set()  # a stored flag may decide anything
    return apart.union(key for fork in context.forks if _leads_to_norm(reach, fork, names) for key in fork.keys)


def toward_reductions(module: Module, context: Context) -> AbstractSet[str]:
    """Return the decisions whose other outcome runs a reduction."""
    reach = reach_of(module.text)
    return {key for fork in context.forks if reach.touches(fork.other) for key in fork.keys}


def _names_at_statistics(reach: Reach, context: Context) -> set[str]:
    """Return the names where a recorded statistic was computed and where it was combined with another value."""
    spans: set[Span] = set()
    for flow in context.flows:
        spans.add(flow.span)
        spans.update(span for stat in stats_of(flow.product.mono) for span in (stat.span, stat.inner_span))
    return {word for span in spans for word in reach.words(span)} - _COMMON


def _missed_reduction(reach: Reach, context: Context) -> bool:
    """Return whether a reduction was missed that no other outcome of this path's decisions runs."""
    called = Covered(context.called)
    missed = {mark for span in context.entered for mark in reach.marks(span) if mark not in called}
    return bool(missed.difference(*(reach.marks(fork.other) for fork in context.forks)))


def _leads_to_norm(reach: Reach, fork: Fork, names: AbstractSet[str]) -> bool:
    """Return whether the other outcome has a reduction, or either outcome one of the names."""
    return reach.touches(fork.other) or not names.isdisjoint(reach.words(fork.whole))
