"""Which decisions may lead to a norm, as long as no statistic met its own input.

Most of what reduces is a loss or a count. A test whose blocks hold no reduction and name nothing that held a statistic,
or that a statistic met, cannot change that, however it turns out. A doubt is a yes.
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
    """The product has a statistic beside its own input, or is what a caller may multiply by it."""
    return _meets(flow.product.mono, flow.returned)


def _meets(mono: Mono, returned: bool) -> bool:
    for f in mono.factors:
        if isinstance(f.atom, Shifted) and (f.atom.inner.has_stat or _meets(f.atom.inner, returned)):
            return True
        if bears_stat(f.atom) and ((returned and f.power != 1) or _beside(f, mono)):
            return True
    return False


def _beside(factor: Factor, mono: Mono) -> bool:
    others = {a for f in mono.factors if f is not factor for a in _bare(f.atom)}
    return any(
        a in others for stat in stats_of(Mono(1.0, (factor,))) for f in stat.inner.factors for a in _bare(f.atom)
    )


def _bare(atom: Atom) -> Iterator[Atom]:
    """An atom, and what it was centred from."""
    yield atom
    if isinstance(atom, Centred | Abs):
        for f in (atom.base if isinstance(atom, Centred) else atom.inner).factors:
            yield from _bare(f.atom)


def toward_norms(module: Module, context: Context, *, met: bool) -> AbstractSet[str]:
    """The keys of decisions whose other outcome may lead to a norm; once a statistic `met` its input, also flags."""
    reach = reach_of(module.text)
    if _missed_reduction(reach, context):
        return context.decisions.keys()
    names = context.carriers | _met(reach, context)
    if met:
        names = reach.upstream(names, context.entered) - _COMMON
    branches = {key for fork in context.forks if fork.other != fork.whole for key in fork.keys}
    apart = set(context.decisions) - branches if met else set()  # a flag that is kept may decide anything
    return apart.union(key for fork in context.forks if _leads_to_norm(reach, fork, names) for key in fork.keys)


def toward_reductions(module: Module, context: Context) -> AbstractSet[str]:
    """The keys of decisions whose other outcome runs a reduction."""
    reach = reach_of(module.text)
    return {key for fork in context.forks if reach.touches(fork.other) for key in fork.keys}


def _met(reach: Reach, context: Context) -> set[str]:
    """What is named where a statistic was made that met something, and where it met it."""
    spans: set[Span] = set()
    for flow in context.flows:
        spans.add(flow.span)
        spans.update(span for stat in stats_of(flow.product.mono) for span in (stat.span, stat.inner_span))
    return {word for span in spans for word in reach.words(span)} - _COMMON


def _missed_reduction(reach: Reach, context: Context) -> bool:
    """A reduction that was passed by, though no decision of this path could have led to it."""
    passed = set(_passed(reach, context))
    for fork in context.forks:
        passed.difference_update(reach.marks(fork.other))
    return bool(passed)


def _passed(reach: Reach, context: Context) -> Iterator[int]:
    """Reductions in the functions that were run, which were not."""
    marks = {mark for span in context.entered for mark in reach.marks(span)}
    called = Covered(context.called)
    return (mark for mark in marks if mark not in called)


def _leads_to_norm(reach: Reach, fork: Fork, names: AbstractSet[str]) -> bool:
    """The other way has a reduction, or either way handles a statistic."""
    return reach.touches(fork.other) or not names.isdisjoint(reach.words(fork.whole))
