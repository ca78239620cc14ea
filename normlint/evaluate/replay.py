"""Enumerate paths: evaluate an entry with default decisions, then again with one more flipped, until nothing is new."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from normlint.evaluate.branches import meets, toward_norms, toward_reductions
from normlint.evaluate.context import ENOUGH_IN_VAIN, ENOUGH_ONCE_MET, ENOUGH_STEPS, MAX_SPENT, Context
from normlint.evaluate.entry import Entry
from normlint.evaluate.module import Module
from normlint.evaluate.run import Path, Plan, Run, Trail

MAX_PATHS = 32


def replay(module: Module, entry: Entry) -> Iterator[Path]:
    """Yield the paths of an entry that may show something new, beginning with the default one; at most MAX_PATHS."""
    branches = _Branches()
    steps = 0
    for number in range(MAX_PATHS):
        enough = ENOUGH_STEPS if branches.passed_by else ENOUGH_ONCE_MET if branches.met else ENOUGH_IN_VAIN
        branch = branches.following()
        if branch is None or steps > enough:
            return
        if module.spent > (2 if number == 0 else 1) * MAX_SPENT:
            module.unread.setdefault(entry.qualname, entry.span)
            return
        run = Run(module, entry, *branch)
        path = run.path()
        context = run.context
        steps += context.steps  # also those before the checkpoint, so that the limit doesn't depend on checkpoints
        module.spent += context.steps
        if path is not None:
            if path.cut:
                module.unread.setdefault(entry.qualname, entry.span)
            yield path
        branches.met |= any(map(meets, context.flows))
        decided = context.decisions.keys()
        to_norms = toward_norms(module, context, met=branches.met) if decided and path is not None else decided
        to_reductions = toward_reductions(module, context) if decided else decided
        branches.extend(branch[0], run, to_norms, to_reductions, path is None)


@dataclass
class _Branches:
    """The waiting runs as (plan, trail) pairs; `met`: a statistic met its input on some path."""

    passed_by: list[tuple[Plan, Trail]] = field(default_factory=lambda: [({}, ())])  # to a missed reduction
    waiting: list[tuple[Plan, Trail]] = field(default_factory=list)
    doubtful: list[tuple[Plan, Trail]] = field(default_factory=list)  # of paths that ended with an exception
    met: bool = False
    _seen: set[frozenset[tuple[str, bool]]] = field(default_factory=set)
    _shown: set[object] = field(default_factory=set)  # findings of all runs
    _asked: set[str] = field(default_factory=set)  # decisions of all runs

    def following(self) -> tuple[Plan, Trail] | None:
        """Remove and return the next run; None if there is none."""
        branches = self.passed_by or self.waiting or self.doubtful
        return branches.pop(0) if branches else None

    def extend(self, plan: Plan, run: Run, norms: AbstractSet[str], reductions: AbstractSet[str], ended: bool) -> None:
        """Add the plan with each further decision flipped, after a run that showed nothing new only new decisions.

        If the path ended with an exception, its last decision led there and is the first to be flipped.
        """
        decisions = run.context.decisions
        shown = set(_shown(run.context))
        old = set() if ended or not shown <= self._shown else self._asked.copy()
        self._shown |= shown
        self._asked |= decisions.keys()
        for number, (key, outcome) in enumerate(decisions.items()):
            flipped = plan | {key: not outcome}
            mark = frozenset(flipped.items())
            if key not in plan and key not in old and mark not in self._seen:
                self._seen.add(mark)
                branches = self.passed_by if key in reductions else self.waiting if key in norms else None
                if ended:
                    branches = self.passed_by if number == len(decisions) - 1 else self.doubtful
                if branches is not None and len(branches) < MAX_PATHS:  # no more will ever be followed
                    branches.append((flipped, run.trail_to(number)))


def _shown(context: Context) -> Iterator[object]:
    """Yield a run's findings: its recorded products, in all that distinguishes norms, and the names of statistics."""
    for flow in context.flows:
        p = flow.product
        yield p.mono, p.dtype, p.layout, tuple((f.steps, f.span) for f in p.mono.factors), flow.returned
    yield from context.carriers
