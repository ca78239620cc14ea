"""Evaluate calls: torch operations by the table, functions of the text by running them, and others as opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING

from normlint.evaluate import algebra, builtins, containers, functional, modules, prelude, spelling
from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args, fit
from normlint.evaluate.expressions import binary
from normlint.evaluate.objects import ClassRef, Env, FunctionRef, Instance, Partial
from normlint.evaluate.ops import OPS, measured, shaping, worlds
from normlint.evaluate.ops.signatures import may_share
from normlint.evaluate.ops.table import Arguments, Given, bind, has_method, key_of, method_key, op_name, row
from normlint.evaluate.shape_notes import learn_shapes
from normlint.evaluate.statements import Outcome, Returned, mutated, rebind
from normlint.evaluate.value import (
    Constant,
    Defined,
    Dict,
    Member,
    Method,
    Opaque,
    Path,
    Pieces,
    Product,
    Shape,
    Tup,
    Value,
    scalar,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


def evaluate_call(m: Machine, env: Env, node: s.Call) -> Value:
    """Evaluate a call; an in-place method also assigns its result to its receiver."""
    m.ctx.called.add(node.span)
    func = spelling.meant(m, m.eval(env, node.func), node)
    special = builtins.special(m, env, func, node)
    if special is not None:
        return special
    args = arguments(m, env, node)
    if isinstance(func, Member) and isinstance(node.func, s.Attribute):
        return containers.call(m, env, node.func.base, func, args)
    if isinstance(func, Method) and _in_place(func.name):
        return _mutate(m, env, node, func, args)
    value = call(m, func, args, node.span)
    out = next((arg.value for arg in node.args if arg.name == "out"), None) if isinstance(func, Method | Path) else None
    return _assign_out(m, env, out, value, node.span) if out is not None else value


def _assign_out(m: Machine, env: Env, out: s.Expr, value: Value, span: Span) -> Value:
    """Assign the result of a call to the target of its `out=` argument, and return it."""
    old = m.eval(env, out)
    new = mutated(m, old, value, span) if isinstance(old, Product) else value
    rebind(m, env, out, new)
    return new


def arguments(m: Machine, env: Env, node: s.Call) -> Arguments:
    """Return the arguments of a call; unknown unpacked ones set `rest` (positional) or `more` (keywords)."""
    positional: list[Given] = []
    loose: list[Given] = []
    keywords: dict[str, Given] = {}
    rest = more = False
    for arg in node.args:
        value = m.eval(env, arg.value)
        given = ((arg.name, value),) if arg.name else value.items if arg.star and isinstance(value, Dict) else ()
        keywords.update((str(name), Given(one, arg.value.span)) for name, one in given)
        if arg.star == "**":
            more = more or not isinstance(value, Dict) or value.more
        elif not arg.name:
            items = (functional.items_of(m, value) or worlds.parts(m.ctx, value)) if arg.star else None
            rest = rest or (arg.star == "*" and items is None)
            parts = (functional.several(value) if arg.star else value,) if items is None else items
            (loose if rest else positional).extend(Given(part, arg.value.span) for part in parts)
    return Args(tuple(positional), keywords, rest, more, tuple(loose))


def _in_place(name: str) -> bool:
    return name.endswith("_") and row(name) != name


def _mutate(m: Machine, env: Env, node: s.Call, func: Method, args: Arguments) -> Value:
    value = _operate(m, func.name, method_key(func.name), args.after(Given(func.receiver, node.func.span)), node.span)
    value = mutated(m, func.receiver, value, node.span)
    if isinstance(node.func, s.Attribute):
        m.flow(value, node.span)
        owner = _receiver_of_chain(node.func.base)
        if isinstance(owner, s.Attribute) and owner.name == "data":
            builtins.refill(m, env, owner, func.name, [])
        else:
            rebind(m, env, owner, value)
    return value


def _receiver_of_chain(target: s.Expr) -> s.Expr:
    """Return the head of a chain of in-place calls, such as s of `s.add_(eps).rsqrt_()`."""
    while isinstance(target, s.Call) and isinstance(target.func, s.Attribute) and _in_place(target.func.name):
        target = target.func.base
    return target


def call(m: Machine, func: Value, args: Arguments, span: Span) -> Value:
    match func:
        case Method(receiver=receiver, name=name) if operator := functional.operator_of(name):
            return _operator(m, receiver, operator, args, span)
        case Method(receiver=receiver, name=name):
            args = args.after(Given(receiver, receiver.span))
            written = prelude.named(f"torch.{name}", span, m.frames[-1].qualname if m.frames else "")
            if written is not None:
                return call(m, written, args, span)
            if row(name) in OPS and has_method(name):
                return _operate(m, name, method_key(name), args, span)
            value = builtins.tensor_method(m, receiver, name, args, span) or _unknown(m, name, args, span)
            return _without_row(m, name, method_key(name), args, span, value)
        case Path(dotted=dotted):
            return _of_path(m, dotted, args, span)
        case Defined(ref=FunctionRef() as ref):
            return call_function(m, ref, args, span)
        case Defined(ref=Partial() as partial):
            return call(m, partial.func, partial.args.joined(args), span)
        case Defined(ref=ClassRef() as cls):
            return modules.made(m, cls, args, span)
        case Defined(ref=Instance()) | Opaque():
            return modules.called(m, func, args, span)
    return _unknown(m, "call", args, span)


def _of_path(m: Machine, dotted: str, args: Arguments, span: Span) -> Value:
    """Return the value of a call of an imported function or class."""
    written = prelude.named(dotted, span, m.frames[-1].qualname if m.frames else "")
    if written is not None:
        return call(m, written, args, span)
    tensors = any(isinstance(g.value, Product) and g.value.tensor for g in args.positional)
    if tensors and dotted.startswith("numpy."):
        return algebra.opaque(dotted, (), span, pure=False, data=True)
    combined = functional.call(m, dotted, args, span)
    if combined is None and (operation := op_name(dotted)):
        return _operate(m, operation, key_of(dotted) or "", args, span)
    value = combined or modules.construct(m, dotted, args, span) or _unknown(m, dotted, args, span)
    return _without_row(m, dotted.rpartition(".")[2], key_of(dotted), args, span, value)


def _without_row(m: Machine, name: str, key: str | None, args: Arguments, span: Span, value: Value) -> Value:
    """Return the result of an operation without a row, with its shape and recipe if it has a signature."""
    if key is None:
        return value
    bound = bind(name, key, span, args)
    return _apart(measured.of_call(m.ctx, bound, shaping.outside(m.ctx, bound, value)), name)


def _apart(value: Value, name: str) -> Value:
    """Return the result of torch's function of this name, with memory of its own unless it may share its tensor's."""
    if isinstance(value, Product) and value.alias and not may_share(name):
        return replace(value, alias="")
    return value


def _operator(m: Machine, receiver: Product, operator: tuple[str, bool], args: Arguments, span: Span) -> Value:
    """Return the value of `x.__mul__(y)` as that of `x * y`."""
    sign, swapped = operator
    if len(args.positional) != 1:
        return _unknown(m, sign, args.after(Given(receiver, receiver.span)), span)
    pair: tuple[Value, Value] = (receiver, args.positional[0].value)
    return binary(m, sign, *(pair[::-1] if swapped else pair), span)


def _operate(m: Machine, name: str, key: str, args: Arguments, span: Span) -> Value:
    """Evaluate a row of the table; if it returns None, the result is opaque with the operands' dtype."""
    for given in args.values:
        m.flow(given.value, given.span)
    m.ctx.ran.add(span)
    called = key.rpartition(".")[2] if "." in key else name
    bound = bind(row(name), key, span, args)
    if bound.unexpected:
        bound = bind(row(name), key, span, spelling.corrected(m, key, bound, args, span))
    if bound.surplus and not (args.rest or args.more):
        spelling.too_many(m, key, args, bound.surplus)
    value = OPS[bound.name](m.ctx, bound)
    if value is None:
        passed = (v for g in args.positional for v in (g.value.items if isinstance(g.value, Tup) else (g.value,)))
        products = tuple(v for v in passed if isinstance(v, Product))
        data = any(isinstance(p, Product) and p.mono.has_data for g in args.values for p in worlds.inside(g.value))
        unread = algebra.opaque(bound.name, (), span, pure=False, data=data)
        value = algebra.apply(bound.name, products, span) if products else unread
    shaped = shaping.shaped(m.ctx, bound, value.at(span) if isinstance(value, Product) else value)
    return _apart(measured.of_call(m.ctx, bound, shaped), called)


def _unknown(m: Machine, name: str, args: Arguments, span: Span) -> Value:
    """Return the unknown result of a function outside the text."""
    for given in args.values:
        m.flow(given.value, given.span)
    return algebra.unknown(name, [g.value for g in (*args.values, *args.loose)], span)


# --- functions of the text -------------------------------------------------------------------------------------------


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
    """Push the frame of a call and return its scope with the parameters bound; the caller pops the frame."""
    from normlint.evaluate.machine import Frame

    m.waiting = [w for w in m.waiting if w.node is not ref.node]
    env = Env(parent=ref.env)
    bind_parameters(m, ref, env, args)
    for name, value in env.names.items():
        m.carry(name, value)
    learn_shapes(m, ref, env.names)
    m.ctx.entered.add(ref.node.span)
    head = ref.node.head if isinstance(ref.node, s.Function) else ref.node.span
    m.frames.append(Frame(ref.node, ref.qualname, head, ref.owner, ref.receiver))
    m.ctx.grad = m.ctx.grad and not _without_grad(m, ref)
    return env


def given_back(m: Machine, node: s.Function, outcome: Outcome) -> Value:
    """Return the value that a function's body returned, and record it as a possible norm."""
    if not isinstance(outcome, Returned):
        return Constant(None)
    if isinstance(outcome.value, Tup):
        m.ctx.returned_tuples.append(outcome.value)
    m.flow(outcome.value, outcome.value.span if isinstance(outcome.value, Product) else node.span)
    return outcome.value


def _without_grad(m: Machine, ref: FunctionRef) -> bool:
    """Return whether a function is decorated with torch.no_grad or torch.inference_mode."""
    heads = (d.func if isinstance(d, s.Call) else d for d in getattr(ref.node, "decorators", ()))
    return any(m.module.source(h.span).endswith(("no_grad", "inference_mode")) for h in heads)


def bind_parameters(m: Machine, ref: FunctionRef, env: Env, args: Arguments) -> None:
    """Bind each parameter to its argument or default, or to an unknown value if it isn't known which applies."""
    if ref.receiver is not None:
        args = args.after(Given(ref.receiver, ref.node.span))
    found = fit(ref.node.params, args)
    spelling.refused(m, ref, args, found)
    for param in ref.node.params:
        name = param.name
        if param.star:
            whole = name not in found.unknown
            held = Tup(tuple(g.value for g in found.star)) if whole else _star_argument(args)
            extra = tuple((key, g.value) for key, g in found.extra.items())
            env.names[name] = held if param.star == "*" else Dict(extra, more=not whole)
        elif name in found.values:
            env.names[name] = found.values[name].value
        else:
            default = None if param.default is None else m.eval(ref.env or m.globals, param.default)
            env.names[name] = _unknown_argument(param, default) if name in found.unknown or default is None else default


def _star_argument(args: Arguments) -> Value:
    """Return the value of `*args`: the shape or parts of a tensor that are passed alone, else an opaque one."""
    one = args.loose[0].value if len(args.loose) == 1 and not args.positional else None
    return one if isinstance(one, Shape | Pieces) else Opaque("args")


def _unknown_argument(param: s.Parameter, default: Value | None) -> Value:
    """Return an unknown value for a parameter: a number if its default is one, else a tensor."""
    if default is not None and default.number is not None:
        return scalar(param.name, None, param.span)
    return algebra.opaque(param.name, (), param.span, pure=False, data=True)
