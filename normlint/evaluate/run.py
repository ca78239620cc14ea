"""Evaluate an entry along one path, from its beginning or from a checkpoint of another run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate import torch_norms
from normlint.evaluate.attributes import of_instance
from normlint.evaluate.calls import call, enter, given_back
from normlint.evaluate.context import Abandon, Context, Exhausted
from normlint.evaluate.dtypes import DType
from normlint.evaluate.entry import Entry, is_bare_method, made_with, symbolic
from normlint.evaluate.machine import Frame, Machine
from normlint.evaluate.module import Module
from normlint.evaluate.objects import Env, FunctionRef, Instance
from normlint.evaluate.spelling import NOTE
from normlint.evaluate.value import Defined, Product, Tup, Value, scalar
from normlint.text.frozen import dataclass

Plan: TypeAlias = "dict[str, bool]"  # decisions that are fixed in advance
_MOST_WAITING = 8
_COPIED = 50  # items that are copied in the time of one step


@dataclass(frozen=True)
class Path:
    """The outcome of a run: its context, the attributes of the instance, and the result."""

    context: Context
    attrs: dict[str, Value]
    result: Value | None
    cut: bool = False  # the path was too long


Held: TypeAlias = "tuple[tuple[dict[str, Value], dict[str, Value]], ...]"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state before statement number `at` of `block`, of the constructor (`making`) or of the entry.

    Since values are immutable, it is enough to copy the dicts that hold them.
    """

    making: bool
    block: s.Block
    at: int
    env: Env
    instance: Instance
    made_in: Env  # the constructor's scope, which closures still see
    machine: Machine
    held: Held  # the dicts of names and attributes, with their copies

    @property
    def decided(self) -> int:
        """The number of decisions before the checkpoint."""
        return len(self.machine.ctx.decisions)

    def restored(self, plan: Plan) -> Machine:
        """Restore the state and return a machine with another plan."""
        for holder, copy in self.held:
            holder.clear()
            holder.update(copy)
        return self.machine.copy(self.machine.ctx.copy(plan))


Trail: TypeAlias = "tuple[Checkpoint, ...]"  # of a run: the last checkpoint before each of its decisions


class Run:
    """A run of an entry with a plan, from its beginning or from the last checkpoint of another run's trail."""

    def __init__(self, module: Module, entry: Entry, plan: Plan, trail: Trail = ()) -> None:
        self._entry = entry
        self._trail = list(trail)
        if trail:
            self._m = trail[-1].restored(plan)
            self._instance, self._made_in = trail[-1].instance, trail[-1].made_in
        else:
            ctx = Context(plan, DType.UNKNOWN if entry.called else DType.INPUT)
            self._m = Machine(module, ctx, [Frame(None, entry.qualname, entry.span)])
            self._instance, self._made_in = Instance(entry.cls), Env()

    @property
    def context(self) -> Context:
        """The context of the run."""
        return self._m.ctx

    def trail_to(self, number: int) -> Trail:
        """Return the checkpoints before the decision of this number."""
        return tuple(one for one in self._trail if one.decided <= number)

    def path(self) -> Path | None:
        """Run the entry and return the outcome; None if it ends with an exception."""
        since = self._trail[-1] if self._trail else None
        try:
            if since is None or since.making:
                self._construct(since)
                refused = [note for note in self.context.notes if note.kind == NOTE]
                self.context.flows, self.context.notes, self.context.grad = [], refused, True
                since = None
            result = self._run_entry(since)
            with self.context.grad_mode(on=True):
                self._call_waiting()
        except Exhausted:
            return Path(self.context, {}, None, cut=True)
        except Abandon:
            return None
        self._mark_returned(result)
        return Path(self.context, dict(self._instance.attrs), result)

    def _construct(self, since: Checkpoint | None) -> None:
        """Run `__init__` with a symbol for each parameter."""
        if since is not None:
            self._run_statements(since.block, since.env, since.at, making=True)
            return
        m, cls = self._m, self._entry.cls
        init = of_instance(m, self._instance, "__init__", cls.node.span) if cls else None
        if init is not None and (ref := init.defined(FunctionRef)) is not None:
            self._made_in = enter(m, ref, made_with(m, ref))
            self._run_statements(ref.block, self._made_in, 0, making=True)
        elif base := torch_norms.base_of(cls):
            torch_norms.initialise(base, self._instance, torch_norms.symbolic(base), self._entry.span)

    def _run_entry(self, since: Checkpoint | None) -> Value | None:
        if since is not None:
            return self._run_statements(since.block, since.env, since.at)
        m, entry, ref = self._m, self._entry, self._entry.function
        if ref is None:
            m.frames[-1] = Frame(None, "<module>", entry.span)
            return self._run_statements(entry.block, m.globals, 0)
        if ref.kind != "static" and (entry.cls or is_bare_method(ref)):
            ref = ref.received_by(Defined(self._instance, "self"))
        arguments = symbolic(m, ref, bound=bool(ref.receiver))
        for given in arguments.values:
            if entry.vector and isinstance(given.value, Product) and given.value.tensor:
                m.ctx.learn_rank(given.value, 1)
        env = enter(m, ref, arguments)
        self._learn_use(ref, env)
        return self._run_statements(ref.block, env, 0)

    def _learn_use(self, ref: FunctionRef, env: Env) -> None:
        """Record what callers show of the first tensor's shape."""
        use, shapes = self._entry.use, self.context.shapes
        names = [p.name for p in ref.node.params[1:2]]
        x = env.names.get(names[0]) if names and use is not None else None
        if use is None or not isinstance(x, Product) or not x.tensor:
            return
        dims = self.context.dims(x)
        shapes.learn_least(dims, use.least)
        if use.rank is not None:
            shapes.learn_rank(dims, use.rank)
        if self._entry.wide:
            last = shapes.axis(dims, -1)
            shapes.unite(last, scalar(self._entry.wide).mono)
            shapes.learn_features(last)

    def _run_statements(self, block: s.Block, env: Env, at: int, *, making: bool = False) -> Value | None:
        """Run the statements from number `at` on, with a checkpoint before each, and return the result."""
        m = self._m
        node = m.frame.node
        outcome = None
        for number in range(at, len(block)):
            self._add_checkpoint(making, block, number, env)
            outcome = m.run(env, block[number : number + 1])
            if outcome is not None:
                break
        if not isinstance(node, s.Function):
            return None
        value = given_back(m, node, outcome)
        m.frames.pop()
        return value

    def _add_checkpoint(self, making: bool, block: s.Block, at: int, env: Env) -> None:
        """Add a checkpoint, unless copying the state would take longer than the steps since the last one."""
        m = self._m
        if self._trail and (m.ctx.steps - self._trail[-1].machine.ctx.steps) * _COPIED < m.ctx.gathered:
            return
        if self._trail and self._trail[-1].decided == len(m.ctx.decisions):
            self._trail.pop()
        held = _copies([env.names, m.globals.names, self._instance.attrs, self._made_in.names])
        self._trail.append(
            Checkpoint(making, block, at, env, self._instance, self._made_in, m.copy(m.ctx.copy()), held)
        )

    def _call_waiting(self) -> None:
        """Evaluate the nested functions that weren't called, with symbols like an entry."""
        m = self._m
        for ref in m.waiting[:_MOST_WAITING]:
            bare = is_bare_method(ref)
            inner = ref.received_by(Defined(Instance(None), "self")) if bare else ref
            call(m, Defined(inner), symbolic(m, inner, bound=bare), self._entry.span)

    def _mark_returned(self, result: Value | None) -> None:
        """Record the products that the entry returns, also in a tuple, as returned."""
        items = result.items if isinstance(result, Tup) else (result,) if result is not None else ()
        for item in items:
            if isinstance(item, Product):
                self._m.flow(item, item.span, returned=True)


def _copies(holders: list[dict[str, Value]]) -> Held:
    """Return the dicts of names and attributes, also of reachable objects, each with a copy."""
    found: dict[int, tuple[dict[str, Value], dict[str, Value]]] = {}
    while holders:
        holder = holders.pop()
        if id(holder) not in found:
            found[id(holder)] = (holder, holder.copy())
            holders += [attrs for value in holder.values() for attrs in _attributes(value)]
    return tuple(found.values())


def _attributes(value: Value) -> Iterator[dict[str, Value]]:
    """Yield the attributes of an instance, or of each instance in a tuple."""
    if isinstance(value, Tup):
        for item in value.items:
            yield from _attributes(item)
    elif (instance := value.defined(Instance)) is not None:
        yield instance.attrs
