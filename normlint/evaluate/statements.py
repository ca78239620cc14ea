"""Evaluate statements symbolically: bind names, take one branch, run loops, and note in-place changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from normlint.evaluate import algebra, containers, functional, subscripts
from normlint.evaluate import syntax as s
from normlint.evaluate.attributes import receiver_of, set_attribute, set_within
from normlint.evaluate.binding import Args, spread
from normlint.evaluate.context import EXCEPTION, Abandon
from normlint.evaluate.dims import without
from normlint.evaluate.monomial import Mono, Param
from normlint.evaluate.objects import Env, FunctionRef, Instance
from normlint.evaluate.ops import pieces
from normlint.evaluate.ops.casts import cast
from normlint.evaluate.ops.table import Given
from normlint.evaluate.ops.tensors import init_of
from normlint.evaluate.value import Constant, Defined, Dict, Opaque, Path, Pieces, Product, Shape, Tup, Value, scalar
from normlint.evaluate.walk import extent, walk
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


@dataclass(frozen=True, slots=True)
class Returned:
    value: Value


@dataclass(frozen=True, slots=True)
class Jumped:
    """The outcome of break or continue, after which the rest of the loop's body isn't run."""


MOST_ROUNDS = 8  # iterations of a loop over known items
Outcome: TypeAlias = Returned | Jumped | None


def execute(m: Machine, env: Env, block: s.Block) -> Outcome:
    ctx = m.ctx
    for stmt in block:
        ctx.tick()
        asked = len(ctx.open)
        outcome = _EXECUTE[type(stmt)](m, env, stmt)
        ctx.fork(asked, stmt.span, stmt.span)
        if outcome is not None:
            return outcome
    return None


def _assign(m: Machine, env: Env, stmt: s.Assign) -> Outcome:
    value = m.eval(env, stmt.value)
    m.flow(value, stmt.value.span, parts=stmt.value.items if isinstance(stmt.value, s.Sequence) else ())
    if isinstance(stmt.value, s.Lambda) and (ref := value.defined(FunctionRef)) is not None:
        ref.qualname = getattr(stmt.targets[0], "id", ref.qualname)
    for target in stmt.targets:
        bind_target(m, env, target, value)
    return None


def bind_target(m: Machine, env: Env, target: s.Expr, value: Value) -> None:
    if isinstance(value, Product) and value.mono.large:
        value = replace(value, mono=algebra.opaque("deep", (), target.span, pure=False, data=True).mono)
    match target:
        case s.Name(id=name):
            env.names[name] = value
            m.carry(name, value)
        case s.Attribute(base=base, name=name):
            owner = m.eval(env, base)
            if (instance := owner.defined(Instance)) is not None:
                set_attribute(instance, name, value)
                m.carry(name, value)
            elif isinstance(owner, Opaque):
                set_within(m, owner, name, value)
        case s.Sequence(items=items):
            for item, part in zip(items, _unpacked(m, value, items, target.span), strict=True):
                bind_target(m, env, item, part)
        case s.Starred(value=inner):
            bind_target(m, env, inner, value)
        case s.Subscript(base=base):
            _store_item(m, env, target, value)


def _store_item(m: Machine, env: Env, target: s.Subscript, value: Value) -> None:
    """Assign `x[...] = value`: change a list or dict, or make the values of a tensor unknown."""
    held, span = m.eval(env, target.base), target.span
    if isinstance(held, Tup | Dict):
        key = m.eval(env, target.index[0]) if len(target.index) == 1 else None
        rebind(m, env, target.base, containers.store(held, key, value))
    if isinstance(held, Product):
        if held.alias:
            m.ctx.note("mutation", span, held.alias)
        own = held.param
        if own is not None and own.name and all(map(subscripts.is_full, target.index)):
            share(m, own, init_of(value.number), None)
            return
        changed = replace(algebra.opaque("stored", (), span, pure=False, data=True), dtype=held.dtype)
        rebind(m, env, target.base, changed)


def share(m: Machine, old: Param, init: str, first: Mono | None) -> None:
    """Update the attributes that hold a parameter which was filled through another name, a view or a loop."""
    instance = receiver_of(m)
    attrs = instance.attrs if instance is not None else {}
    for name, value in attrs.items():
        own = value.param
        same = own is not None and bool(own.name) and (own.span, own.name) == (old.span, old.name)
        if isinstance(value, Product) and own is not None and same:
            attrs[name] = value.with_atom(replace(own, init=init, first=first))


def rebind(m: Machine, env: Env, target: s.Expr, value: Value) -> None:
    """Assign a new value to `target` if it is a name or an attribute."""
    if isinstance(target, s.Name | s.Attribute):
        bind_target(m, env, target, value)


def _unpacked(m: Machine, value: Value, items: tuple[s.Expr, ...], span: Span) -> list[Value]:
    """Return the values that unpacking assigns to the targets `items`."""
    star = next((i for i, item in enumerate(items) if isinstance(item, s.Starred)), None)
    if isinstance(value, Tup) and (places := spread([i == star for i in range(len(items))], len(value.items))):
        return [value.items[at] if isinstance(at, int) else Tup(value.items[at]) for at in places]
    if isinstance(value, Shape) and value.start is value.stop is None:
        return _lengths(m, value, items, star)
    if isinstance(value, Product) and value.tensor:
        dims = without(m.ctx.dims(value), (0,))
        opaque = (algebra.opaque("item", (value.mono, i), span) for i in range(len(items)))
        return [replace(one, dtype=value.dtype, shape=dims) for one in opaque]
    return [algebra.opaque("item", (i,), item.span, pure=False, data=True) for i, item in enumerate(items)]


def _lengths(m: Machine, shape: Shape, items: tuple[s.Expr, ...], star: int | None) -> list[Value]:
    count = len(items)
    if star is None:
        m.ctx.learn_rank(shape.of, count)
        for item, i in zip(items, range(-count, 0), strict=True):
            m.ctx.shapes.name(m.ctx.shapes.axis(m.ctx.dims(shape.of), i), item.id if isinstance(item, s.Name) else "")
        return [subscripts.size(m, shape, i - count) for i in range(count)]
    head: list[Value] = [subscripts.size(m, shape, i) for i in range(star)]
    tail = [subscripts.size(m, shape, i - count) for i in range(star + 1, count)]
    return [*head, replace(shape, start=star, stop=star + 1 - count or None), *tail]


def _augment(m: Machine, env: Env, stmt: s.Augment) -> Outcome:
    from normlint.evaluate.expressions import binary

    old = m.eval(env, stmt.target)
    value = binary(m, stmt.op, old, m.eval(env, stmt.value), stmt.span)
    if isinstance(old, Product) and old.tensor:
        value = mutated(m, old, value, stmt.span)
    m.flow(value, stmt.span)
    rebind(m, env, stmt.target, value)
    return None


def mutated(m: Machine, old: Product, value: Value, span: Span) -> Value:
    """Return the result of an in-place operation with the memory and dtype of the changed tensor."""
    if old.alias:
        m.ctx.note("mutation", span, old.alias)
    if old.layout:
        m.ctx.note("view changed", span)  # and with it what it is a view of
    if not isinstance(value, Product):
        return value
    kept = value if value.dtype is old.dtype else cast(value, old.dtype, span)
    return replace(kept, alias=old.alias)


def _evaluate(m: Machine, env: Env, stmt: s.Evaluate) -> Outcome:
    value = m.eval(env, stmt.value)
    m.flow(value, stmt.span)
    return None


def _return(m: Machine, env: Env, stmt: s.Return) -> Outcome:
    value = m.eval(env, stmt.value) if stmt.value is not None else Constant(None)
    if not m.ctx.grad:
        m.flow(value, stmt.span)  # before the gradient may be on again outside the function
    for item in value.items if isinstance(value, Tup) else ():
        if isinstance(item, Product) and item.alias and not item.mono.has_stat:
            m.ctx.note("handed back", stmt.span, item.alias)
    return Returned(value)


def _raise(m: Machine, env: Env, stmt: s.Raise) -> Outcome:
    raise Abandon


def _declare(m: Machine, env: Env, stmt: s.Declare) -> Outcome:
    """Ignore `global` and `nonlocal`, so that assignments stay in this scope."""
    return None


def _jump(m: Machine, env: Env, stmt: s.Jump) -> Outcome:
    return Jumped()


_DEBUG = ("debug", "verbose", "logg", "print", "__debug__")


def _if(m: Machine, env: Env, stmt: s.If) -> Outcome:
    known = dict(m.ctx.possible), len(m.ctx.decisions)
    asked = len(m.ctx.open)
    taken = m.truth(env, stmt.test, _preferred_branch(m, stmt))
    m.ctx.fork(asked, extent(stmt.orelse if taken else stmt.body), stmt.span)
    if "dtype" in m.module.source(stmt.test.span) and known[0] == m.ctx.possible and known[1] < len(m.ctx.decisions):
        m.ctx.vague = True
    quiet = m.ctx.quiet
    m.ctx.quiet = quiet or _is_quiet(m, stmt)
    outcome = execute(m, env, stmt.body if taken else stmt.orelse)
    m.ctx.quiet = quiet
    return outcome


def _is_quiet(m: Machine, stmt: s.If) -> bool:
    """Return whether a test is for debugging, or for a name that its own block sets, so that the block runs once."""
    test = m.module.source(stmt.test.span)
    targets = (target for one in stmt.body if isinstance(one, s.Assign) for target in one.targets)
    once = any(re.search(rf"\b{re.escape(m.module.source(t.span))}(?!\w)", test) for t in targets)
    return once or any(word in test.lower() for word in _DEBUG)


def _preferred_branch(m: Machine, stmt: s.If) -> bool | None:
    """Return which branch to try first: the one with a reduction, or the one that goes on; None for either."""
    body, orelse = m.marked(stmt.body), m.marked(stmt.orelse)
    if body != orelse:
        return body
    if stmt.body and (isinstance(stmt.body[-1], s.Raise) or (not stmt.orelse and _is_early(stmt.body))):
        return False
    return True if stmt.orelse and isinstance(stmt.orelse[-1], s.Raise) else None


def _is_early(body: s.Block) -> bool:
    """Return whether a block does nothing but return a name, or nothing."""
    return len(body) == 1 and isinstance(body[0], s.Return) and isinstance(body[0].value, s.Name | None)


def _loop(m: Machine, env: Env, stmt: s.Loop) -> Outcome:
    """Run a loop's body for each of a few known items, else once with an unknown item."""
    subject = m.eval(env, stmt.subject)
    items = functional.items_of(m, subject) if stmt.target is not None else None
    if items and len(items) <= MOST_ROUNDS:
        return _loop_over_items(m, env, stmt, items)
    if items == ():
        return _loop_over_nothing(m, env, stmt)
    one = pieces.each(m.ctx, subject, stmt.span) if stmt.target is not None else None
    if one is not None:
        return _loop_over_parts(m, env, stmt, one)
    before = {name: value for name, value in env.names.items() if isinstance(value, Tup | Dict)}
    if stmt.target is not None:
        item: Value = algebra.opaque("item", (), stmt.target.span, pure=False, data=True)
        if isinstance(subject, Opaque) and subject.text == "range":
            item = scalar(f"index at {stmt.target.span.start}")
        bind_target(m, env, stmt.target, item)
    outcome = execute(m, env, stmt.body)
    env.names.update((n, Opaque("collected")) for n, v in before.items() if env.names.get(n) is not v)
    if isinstance(outcome, Returned):
        return outcome
    return execute(m, env, stmt.orelse)


def _loop_over_nothing(m: Machine, env: Env, stmt: s.Loop) -> Outcome:
    """Evaluate the body of a loop over nothing, for the norms in it, and undo its assignments."""
    before = dict(env.names)
    execute(m, env, stmt.body)
    env.names.clear()
    env.names.update(before)
    return execute(m, env, stmt.orelse)


def _rebound_names(body: s.Block) -> set[str]:
    """Return the names that a loop's body may rebind or append to; none if it may leave the loop."""
    nodes = [*walk(body)]
    if any(isinstance(n, s.Return | s.Jump) for n in nodes):
        return set()
    targets = [t for n in nodes if isinstance(n, s.Assign) for t in n.targets]
    targets += [n.target for n in nodes if isinstance(n, s.Augment)]
    lists = [n.func.base for n in nodes if isinstance(n, s.Call) and isinstance(n.func, s.Attribute)]
    return {t.id for t in (*targets, *lists) if isinstance(t, s.Name)}


def _loop_over_parts(m: Machine, env: Env, stmt: s.Loop, one: Value) -> Outcome:
    """Run a loop's body once for all parts of a tensor: added values become sums, appended values lists of parts."""
    assert stmt.target is not None
    bind_target(m, env, stmt.target, one)
    given = {n.id for n in walk(stmt.target) if isinstance(n, s.Name)}  # anew in each round
    own = _rebound_names(stmt.body) - given
    before = {name: value for name, value in env.names.items() if name in own and isinstance(value, Product | Tup)}
    sums = {name: value for name, value in before.items() if isinstance(value, Product)}
    marks = {name: functional.so_far(value, stmt.span, name) for name, value in sums.items()}
    env.names.update(marks)
    outcome = execute(m, env, stmt.body)
    for name, value in before.items():
        after = env.names[name]
        if name in marks and after is marks[name]:
            env.names[name] = value
        elif isinstance(value, Product) and name in marks:
            total = functional.added_up(m, value, after, marks[name], one, stmt.span)
            env.names[name] = total or algebra.opaque("item", (), stmt.span, pure=False, data=True)
        elif isinstance(value, Tup) and after is not value:
            new = after.items[len(value.items) :] if isinstance(after, Tup) else ()
            env.names[name] = Pieces(new[0]) if len(new) == 1 and not value.items else Opaque("collected")
    return outcome if isinstance(outcome, Returned) else execute(m, env, stmt.orelse)


def _loop_over_items(m: Machine, env: Env, stmt: s.Loop, items: tuple[Value, ...]) -> Outcome:
    """Run a loop's body for each item in turn, until a jump or a return."""
    for item in items:
        if stmt.target is not None:
            bind_target(m, env, stmt.target, item)
        outcome = execute(m, env, stmt.body)
        if isinstance(outcome, Returned):
            return outcome
        if outcome is not None:
            break
    return execute(m, env, stmt.orelse)


def _with(m: Machine, env: Env, stmt: s.With) -> Outcome:
    with ExitStack() as stack:
        for context, target in stmt.items:
            manager = context.func if isinstance(context, s.Call) else context
            path = m.eval(env, manager)
            if isinstance(context, s.Call):
                m.eval(env, context)
            mode = _grad_mode(m, env, path, context)
            if mode is not None:
                stack.enter_context(m.ctx.grad_mode(mode))
            if target is not None:
                bind_target(m, env, target, Opaque("context"))
        return execute(m, env, stmt.body)


def _grad_mode(m: Machine, env: Env, path: Value, context: s.Expr) -> bool | None:
    """Return whether a context turns gradients on or off; None if neither."""
    if not isinstance(path, Path):
        return None
    if path.dotted == "torch.set_grad_enabled" and isinstance(context, s.Call) and context.args:
        value = m.eval(env, context.args[0].value)
        return value.value is not False if isinstance(value, Constant) else None
    return {"torch.no_grad": False, "torch.inference_mode": False, "torch.enable_grad": True}.get(path.dotted)


def _try(m: Machine, env: Env, stmt: s.Try) -> Outcome:
    """Run the body of a `try`, or on another path its first handler."""
    failed = bool(stmt.handlers) and m.ctx.decide(f"{EXCEPTION} {stmt.span.start}")
    outcome = execute(m, env, stmt.handlers[0].body if failed else stmt.body)
    if outcome is None and not failed:
        outcome = execute(m, env, stmt.orelse)
    return execute(m, env, stmt.final) or outcome


def _match(m: Machine, env: Env, stmt: s.Match) -> Outcome:
    m.eval(env, stmt.subject)
    last = len(stmt.cases) - 1
    for i, (pattern, _, body) in enumerate(stmt.cases):
        if i == last or m.ctx.decide(f"case {i} at {stmt.span.start}"):
            env.names.update({n: algebra.opaque(n, (), stmt.span, pure=False, data=True) for n in pattern.names})
            return execute(m, env, body)
    return None


def _define(m: Machine, env: Env, stmt: s.Function | s.Class) -> Outcome:
    prefix = "" if m.frame.qualname == "<module>" else f"{m.frame.qualname}."
    value = m.define(stmt, env, prefix)
    env.names[stmt.name] = value
    if (ref := value.defined(FunctionRef)) is not None and m.marked((stmt,)):
        m.waiting.append(ref)
    for decorator in reversed(stmt.decorators) if isinstance(stmt, s.Function) else ():
        made = m.call(m.eval(env, decorator), Args((Given(env.names[stmt.name], stmt.span),)), decorator.span)
        if isinstance(made, Defined):  # as `vmap` and decorators of the text do
            env.names[stmt.name] = made
    return None


def _import(m: Machine, env: Env, stmt: s.Import) -> Outcome:
    env.names.update({name: Path(path) for name, path in stmt.bindings})
    return None


_EXECUTE: dict[type[Any], Callable[[Any, Env, Any], Outcome]] = {
    s.Assign: _assign, s.Augment: _augment, s.Evaluate: _evaluate, s.Return: _return, s.Raise: _raise, s.Jump: _jump,
    s.Declare: _declare, s.If: _if, s.Loop: _loop, s.With: _with, s.Try: _try, s.Match: _match, s.Function: _define,
    s.Class: _define, s.Import: _import,
}  # fmt: skip
