"""Calls: torch operations by the table, the text's own functions by running them, all else opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from normlint.evaluate import algebra, builtins, modules
from normlint.evaluate import syntax as s
from normlint.evaluate.objects import ClassRef, Env, FunctionRef, Instance, Partial
from normlint.evaluate.ops import OPS, Given, bind, op_name
from normlint.evaluate.statements import Outcome, Returned, mutated, rebind
from normlint.evaluate.value import (
    Constant,
    Defined,
    Method,
    Opaque,
    Path,
    Product,
    Tup,
    Value,
)
from normlint.text.finding import Span

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

Arguments: TypeAlias = "tuple[tuple[Given, ...], dict[str, Given]]"


def evaluate_call(m: Machine, env: Env, node: s.Call) -> Value:
    """A call as it is written; in-place methods give their receiver's name the new value."""
    m.ctx.called.add(node.span)
    func = m.eval(env, node.func)
    special = builtins.special(m, env, func, node)
    if special is not None:
        return special
    args = arguments(m, env, node)
    if isinstance(func, Method) and _in_place(func.name):
        return _mutate(m, env, node, func, args)
    return call(m, func, args, node.span)


def arguments(m: Machine, env: Env, node: s.Call) -> Arguments:
    positional: list[Given] = []
    keywords: dict[str, Given] = {}
    for arg in node.args:
        value = m.eval(env, arg.value)
        if arg.star == "*":
            parts = value.items if isinstance(value, Tup) else (value,)
            positional.extend(Given(part, arg.value.span) for part in parts)
        elif arg.name:
            keywords[arg.name] = Given(value, arg.value.span)
        elif not arg.star:
            positional.append(Given(value, arg.value.span))
    return tuple(positional), keywords


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name.rstrip("_") in OPS


def _mutate(m: Machine, env: Env, node: s.Call, func: Method, args: Arguments) -> Value:
    value = _operate(m, func.name.rstrip("_"), (Given(func.receiver, node.func.span), *args[0]), args[1], node.span)
    value = mutated(m, func.receiver, value, node.span)
    if isinstance(node.func, s.Attribute):
        m.flow(value, node.span)
        owner = _owner_of(node.func.base)
        if isinstance(owner, s.Attribute) and owner.name == "data":
            builtins.refill(m, env, owner, func.name, [])
        else:
            rebind(m, env, owner, value)
    return value


def _owner_of(target: s.Expr) -> s.Expr:
    """The name at the head of a chain of in-place calls: s of `s.add_(eps).rsqrt_()`."""
    while isinstance(target, s.Call) and isinstance(target.func, s.Attribute) and _in_place(target.func.name):
        target = target.func.base
    return target


def call(m: Machine, func: Value, args: Arguments, span: Span) -> Value:
    positional, keywords = args
    match func:
        case Method(receiver=receiver, name=name):
            given = Given(receiver, receiver.span)
            if name in OPS:
                return _operate(m, name, (given, *positional), keywords, span)
            return builtins.tensor_method(m, receiver, name, positional, span) or _unknown(
                m, name, ((given, *positional), keywords), span
            )
        case Path(dotted=dotted):
            name = op_name(dotted) or ""
            if dotted.startswith("numpy.") and any(isinstance(g.value, Product) and g.value.tensor for g in positional):
                return algebra.opaque(dotted, (), span, pure=False, data=True)
            if name:
                return _operate(m, name, positional, keywords, span)
            return modules.construct(m, dotted, args, span) or _unknown(m, dotted, args, span)
        case Defined(ref=FunctionRef() as ref):
            return call_function(m, ref, args, span)
        case Defined(ref=Partial() as partial):
            return call(m, partial.func, ((*partial.positional, *positional), {**partial.keywords, **keywords}), span)
        case Defined(ref=ClassRef() as cls):
            return modules.made(m, cls, args, span)
        case Defined(ref=Instance()) | Opaque():
            return modules.called(m, func, args, span)
    return _unknown(m, "call", args, span)


def _operate(m: Machine, name: str, positional: tuple[Given, ...], keywords: dict[str, Given], span: Span) -> Value:
    """One row of the table; where it doesn't follow, the result is opaque but keeps the dtype it had."""
    for given in (*positional, *keywords.values()):
        m.flow(given.value, given.span)
    m.ctx.ran.add(span)
    value = OPS[name].run(m.ctx, bind(name, span, positional, keywords))
    if value is not None:
        return value.at(span) if isinstance(value, Product) else value
    return opaque_result(name, positional, span)


def opaque_result(name: str, positional: tuple[Given, ...], span: Span) -> Product:
    products = tuple(g.value for g in positional if isinstance(g.value, Product))
    return algebra.apply(name, products, span) if products else algebra.opaque(name, (), span, pure=False)


def _unknown(m: Machine, name: str, args: Arguments, span: Span) -> Value:
    """Something outside the text: its arguments go in, an unknown tensor comes out."""
    for given in (*args[0], *args[1].values()):
        m.flow(given.value, given.span)
    return algebra.unknown(name, [g.value for g in (*args[0], *args[1].values())], span)


# --- the text's own functions ----------------------------------------------------------------------------------------


def call_function(m: Machine, ref: FunctionRef, args: Arguments, span: Span) -> Value:
    from normlint.evaluate.machine import MAX_FRAMES

    recursive = sum(frame.node is ref.node for frame in m.frames) > 0
    if recursive or len(m.frames) > MAX_FRAMES:
        return _unknown(m, ref.qualname, args, span)
    grad = m.ctx.grad
    env = enter(m, ref, args)
    try:
        if isinstance(ref.node, s.Lambda):
            return m.eval(env, ref.node.body)
        return given_back(m, ref.node, m.run(env, ref.node.body))
    finally:
        m.ctx.grad = grad
        m.frames.pop()


def enter(m: Machine, ref: FunctionRef, args: Arguments) -> Env:
    """The function's frame, with its parameters bound; who calls it takes the frame away again."""
    from normlint.evaluate.machine import Frame

    m.waiting = [w for w in m.waiting if w.node is not ref.node]
    env = Env(parent=ref.env)
    bind_parameters(m, ref, env, args)
    for name, value in env.names.items():
        m.carry(name, value)
    m.ctx.entered.add(ref.node.span)
    head = ref.node.head if isinstance(ref.node, s.Function) else ref.node.span
    m.frames.append(Frame(ref.node, ref.qualname, head, ref.owner, ref.receiver))
    m.ctx.grad = m.ctx.grad and not _without_grad(m, ref)
    return env


def given_back(m: Machine, node: s.Function, outcome: Outcome) -> Value:
    """What the function's statements came to."""
    if not isinstance(outcome, Returned):
        return Constant(None)
    m.flow(outcome.value, outcome.value.span if isinstance(outcome.value, Product) else node.span)
    return outcome.value


def _without_grad(m: Machine, ref: FunctionRef) -> bool:
    """Decorated with torch.no_grad or torch.inference_mode."""
    heads = (d.func if isinstance(d, s.Call) else d for d in getattr(ref.node, "decorators", ()))
    return any(m.module.source(h.span).endswith(("no_grad", "inference_mode")) for h in heads)


def bind_parameters(m: Machine, ref: FunctionRef, env: Env, args: Arguments) -> None:
    positional, keywords = args
    given = [g.value for g in positional]
    if ref.receiver is not None:
        given.insert(0, ref.receiver)
    for param in ref.node.params:
        if param.star:
            env.names[param.name] = Tup(tuple(given)) if param.star == "*" else Opaque("kwargs")
            given = given if param.star == "**" else []
        elif given and not param.keyword:
            env.names[param.name] = given.pop(0)
        elif param.name in keywords:
            env.names[param.name] = keywords[param.name].value
        elif param.default is not None:
            env.names[param.name] = m.eval(ref.env or m.globals, param.default)
        else:
            env.names[param.name] = algebra.opaque(param.name, (), param.span, pure=False, data=True)
