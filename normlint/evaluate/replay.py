"""Paths by replay: run straight through, then again with one more decision flipped, until nothing is new."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate.context import ENOUGH_IN_VAIN, ENOUGH_STEPS, MAX_SPENT, Abandon, Context, Exhausted
from normlint.evaluate.dtypes import DType
from normlint.evaluate.machine import Frame, Machine
from normlint.evaluate.module import Module
from normlint.evaluate.monomial import Input, Param
from normlint.evaluate.objects import ClassRef, FunctionRef, Instance
from normlint.evaluate.ops.table import Given
from normlint.evaluate.prospects import meets, pressing, prospects
from normlint.evaluate.value import (
    Defined,
    Opaque,
    Product,
    Tup,
    Value,
    of_atom,
    scalar,
)
from normlint.text.finding import Span

MAX_PATHS = 32


@dataclass(frozen=True)
class Entry:
    """Where evaluation begins: a method of a class, a function, or the statements of the unit itself."""

    qualname: str
    span: Span
    function: FunctionRef | None
    cls: ClassRef | None = None
    block: s.Block = ()
    called: bool = False  # somebody in the text calls it: its inputs are judged there
    vector: bool = False  # vmapped: its inputs have one axis
    spare: bool = False  # only of interest where no other entry gets there


@dataclass(frozen=True)
class Path:
    """One replay: what flowed, what was noted, and what came back."""

    context: Context
    attrs: dict[str, Value]
    result: Value | None


def replay(module: Module, entry: Entry) -> Iterator[Path]:
    """Every path through the entry that can tell something new, the straight one first; at most MAX_PATHS."""
    plans = _Plans()
    steps = 0
    for number in range(MAX_PATHS):
        enough = ENOUGH_STEPS if plans.met or plans.pressing else ENOUGH_IN_VAIN
        plan = plans.following()
        if plan is None or steps > enough or module.spent > (2 if number == 0 else 1) * MAX_SPENT:
            return
        context = Context(plan, DType.UNKNOWN if entry.called else DType.INPUT)
        path = _run(Machine(module, context), entry)
        steps += context.steps
        module.spent += context.steps
        if path is not None:
            yield path
        plans.met |= any(map(meets, context.flows))
        hopeful = context.decisions.keys() if path is None else prospects(module, context, met=plans.met)
        plans.extend(plan, context.decisions, hopeful, pressing(module, context))


_Plan: TypeAlias = "dict[str, bool]"  # what is decided in advance


@dataclass
class _Plans:
    """The plans that are left; `met`: has a statistic met its input on some path?"""

    pressing: list[_Plan] = field(default_factory=lambda: [{}])  # they lead to a reduction that was passed by
    waiting: list[_Plan] = field(default_factory=list)
    met: bool = False
    _seen: set[frozenset[tuple[str, bool]]] = field(default_factory=set)

    def following(self) -> _Plan | None:
        """The next plan."""
        plans = self.pressing or self.waiting
        return plans.pop(0) if plans else None

    def extend(self, plan: _Plan, decisions: _Plan, hopeful: AbstractSet[str], pressing: AbstractSet[str]) -> None:
        """The plan with one more decision turned over, each in turn."""
        for key, outcome in decisions.items():
            flipped = plan | {key: not outcome}
            mark = frozenset(flipped.items())
            if key not in plan and mark not in self._seen:
                self._seen.add(mark)
                if key in pressing:
                    self.pressing.append(flipped)
                elif key in hopeful:
                    self.waiting.append(flipped)


def _run(m: Machine, entry: Entry) -> Path | None:
    m.frames.append(Frame(None, entry.qualname, entry.span))
    m.ctx.grad = True
    try:
        instance = _construct(m, entry.cls) if entry.cls else Instance(None)
        del m.ctx.flows[:], m.ctx.notes[:]
        result = _enter(m, entry, instance)
    except Exhausted:
        return Path(m.ctx, {}, None)
    except Abandon:
        return None
    _mark_returned(m, entry, result)
    return Path(m.ctx, dict(instance.attrs), result)


def _enter(m: Machine, entry: Entry, instance: Instance) -> Value | None:
    if entry.function is None:
        m.frames[-1] = Frame(None, "<module>", entry.span)
        m.run(m.globals, entry.block)
        _call_waiting(m, entry)
        return None
    receiver = Defined(instance, "self")
    ref = entry.function
    if ref.kind != "static" and (entry.cls or _is_bare_method(ref)):
        ref = replace_receiver(ref, receiver)
    arguments = _symbolic(m, ref, bool(ref.receiver))
    for given in arguments[1].values():
        if entry.vector and isinstance(given.value, Product) and given.value.tensor:
            m.ctx.learn_rank(given.value, 1)
    result = m.call(Defined(ref), arguments, entry.span)
    _call_waiting(m, entry)
    return result


def _call_waiting(m: Machine, entry: Entry) -> None:
    """Functions that the entry defined and gave away: evaluated with symbols, like an entry of their own."""
    for ref in m.waiting[:8]:
        bare = _is_bare_method(ref)
        inner = replace_receiver(ref, Defined(Instance(None), "self")) if bare else ref
        m.call(Defined(inner), _symbolic(m, inner, bare), entry.span)


def replace_receiver(ref: FunctionRef, receiver: Value) -> FunctionRef:
    return FunctionRef(ref.node, ref.env, ref.qualname, ref.owner, receiver)


def _is_bare_method(ref: FunctionRef) -> bool:
    return bool(ref.node.params) and ref.node.params[0].name == "self"


def _construct(m: Machine, cls: ClassRef) -> Instance:
    """Run `__init__` with a symbol for every parameter."""
    from normlint.evaluate.attributes import of_instance

    instance = Instance(cls)
    init = of_instance(m, instance, "__init__", cls.node.span)
    if isinstance(init, Defined) and isinstance(init.ref, FunctionRef):
        args = {p.name: Given(symbol(m, p), p.span) for p in init.ref.node.params[1:] if not p.star}
        m.call(init, ((), args), cls.node.span)
    return instance


def symbol(m: Machine, param: s.Parameter) -> Value:
    """What a constructor's parameter stands for: a number or a flag, with its default."""
    default = param.default
    if isinstance(param.annotation, s.Name):
        config = m.lookup(m.globals, param.annotation.id)
        if isinstance(config, Defined) and isinstance(config.ref, ClassRef):
            m.ctx.configs[param.name] = config
    if isinstance(default, s.Literal) and isinstance(default.value, bool | int | float):
        return scalar(param.name, float(default.value), param.span)
    if isinstance(default, s.Unary | s.Binary | s.Name | s.Attribute):
        value = m.eval(m.globals, default)
        if isinstance(value, Product) and value.number is not None:
            return scalar(param.name, value.number, param.span)
    return scalar(param.name, None, param.span)


_PARAMS = ("weight", "gamma", "scale", "g", "gain", "bias", "beta", "w", "b")
_NUMBERS = ("int", "float", "bool", "str", "Size", "List", "Tuple", "tuple", "list")


def _symbolic(m: Machine, ref: FunctionRef, bound: bool) -> tuple[tuple[Given, ...], dict[str, Given]]:
    """A value for each parameter of an entry."""
    keywords: dict[str, Given] = {}
    params = ref.node.params[1:] if bound else ref.node.params
    for param in params:
        if not param.star:
            keywords[param.name] = Given(_argument(m, param, function=not bound), param.span)
    return (), keywords


def _argument(m: Machine, param: s.Parameter, *, function: bool) -> Value:
    from normlint.evaluate.attributes import SIZES

    low = param.name.lower()
    note = m.module.source(param.annotation.span) if param.annotation else ""
    if low in ("ctx", "xp", "np", "jnp"):
        return Opaque(param.name)
    numeric = any(word in note for word in _NUMBERS) and "Tensor" not in note
    default = param.default.value if isinstance(param.default, s.Literal) else None
    if isinstance(default, str):
        return Opaque(f"{param.name}={default}")
    if "eps" in low or (low in SIZES and low != "features") or numeric or isinstance(default, bool | int | float):
        return symbol(m, param)
    if function and low in _PARAMS:
        return of_atom(Param(param.name, "unknown"), m.ctx.input_dtype, param.span)
    return of_atom(Input(param.name), m.ctx.input_dtype, param.span, alias=param.name)


def _mark_returned(m: Machine, entry: Entry, result: Value | None) -> None:
    """Note that a product is what the entry gives back, also as one of several outputs."""
    items = result.items if isinstance(result, Tup) else (result,) if result is not None else ()
    for item in items:
        if isinstance(item, Product):
            m.flow(item, item.span, returned=True)
