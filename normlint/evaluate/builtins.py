"""Evaluate calls of Python's built-ins, and calls that fill a parameter or need their arguments unevaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from normlint.evaluate import containers, functional, subscripts
from normlint.evaluate import syntax as s
from normlint.evaluate.attributes import get, receiver_of, set_attribute
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import ONCE, Apply, Factor, Layout, Mono, Size, mono_of
from normlint.evaluate.objects import Env, Instance, Partial, Super
from normlint.evaluate.ops import pieces
from normlint.evaluate.ops.casts import item
from normlint.evaluate.ops.reductions import axes_of
from normlint.evaluate.ops.table import Arguments, Bound, Given, bind, method_key
from normlint.evaluate.ops.tensors import init_of
from normlint.evaluate.statements import rebind, share
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    AxesOf,
    Constant,
    Defined,
    Dict,
    Dtype,
    Opaque,
    Path,
    Product,
    Shape,
    Tup,
    Value,
    number,
    scalar,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


def special(m: Machine, env: Env, func: Value, node: s.Call) -> Value | None:
    """Return the value of a built-in's call, or of one that needs its arguments as they are written; else None."""
    if not isinstance(func, Path):
        return _fill(m, env, node) if isinstance(node.func, s.Attribute) else None
    if func.dotted.startswith("torch.nn.init."):
        return _initialise(m, env, func.dotted.rsplit(".", 1)[-1], node)
    if (of_values := _OF_VALUES.get(func.dotted)) is not None:
        return of_values(m, _args(m, env, node), node)
    of_arguments = _OF_ARGUMENTS.get(func.dotted)
    return _of_arguments(m, env, of_arguments, node) if of_arguments else None


# --- values ----------------------------------------------------------------------------------------------------------


def _args(m: Machine, env: Env, node: s.Call) -> list[Value]:
    found: list[Value] = []
    for arg in node.args:
        value = m.eval(env, arg.value)
        m.flow(value, arg.value.span)
        found.extend(value.items if arg.star == "*" and isinstance(value, Tup) else (value,))
    return found


def _print(m: Machine, args: list[Value], node: s.Call) -> Value:
    files = [m.module.source(arg.value.span) for arg in node.args if arg.name == "file"]
    if all(file.startswith("sys.") for file in files):  # any other file is a log of the program
        m.ctx.note("print", node.span, "words" if all(isinstance(value, Constant) for value in args) else "")
    return Constant(None)


def _len(m: Machine, args: list[Value], node: s.Call) -> Value:
    value = args[0] if args else Opaque("")
    if isinstance(value, Tup):
        return number(float(len(value.items)))
    if isinstance(value, Shape) and value.start is value.stop is None:
        return m.ctx.ask_rank(value.of, f"rank of {describe(value.of)}")
    if isinstance(value, Product) and value.tensor:
        whole, axis = pieces.count_of(value) or (value.mono, 0)
        return subscripts.size(m, Shape(replace(value, mono=whole, shape=None if axis else value.shape)), axis)
    return scalar(f"len of {describe(value)}")


def _number(m: Machine, args: list[Value], node: s.Call) -> Value:
    """Evaluate float(x), int(x) and round(x): a number as itself, a tensor as a number without gradient."""
    value = args[0] if args else Opaque("")
    if isinstance(value, Product) and value.tensor:
        return item(m.ctx, Bound("item", node.span, {"input": Given(value, node.span)})) or value
    if isinstance(value, Constant) and isinstance(value.value, str):
        return Opaque(value.value)
    return value


def _tuple(m: Machine, args: list[Value], node: s.Call) -> Value:
    return functional.several(args[0]) if args else Tup(())


def _list(m: Machine, args: list[Value], node: s.Call) -> Value:
    """Evaluate `list(…)` like a tuple; a list of axes is unknown, since it may be changed later."""
    return Opaque("list") if args and isinstance(args[0], AxesOf) else _tuple(m, args, node)


def _range(m: Machine, args: list[Value], node: s.Call) -> Value:
    """Evaluate `range(…)` as a tuple if it is constant, and as the last axes if it counts from the end."""
    numbers = [a.whole for a in args if a.whole is not None]
    if len(numbers) == len(args) in (1, 2, 3) and max(map(abs, numbers)) < 64 and numbers[2:] != [0]:
        return Tup(tuple(number(float(i)) for i in range(*numbers)))
    first = args[0] if args else None
    if len(args) == 1 and isinstance(first, Product) and describe(first) in m.ctx.asked:
        return AxesOf(m.ctx.asked[describe(first)])
    from_end = isinstance(first, Product) and len(args) > 1 and (first.mono.coef < 0 or first.number == -1)
    return AxesOf() if from_end or _is_tail(args) else Opaque("range")


def _is_tail(args: list[Value]) -> bool:
    """Return whether a range ends where it starts from, less a length: `range(x.ndim - len(shape), x.ndim)`."""
    match args:
        case [Product(sole=Factor(atom=Apply(name="-", args=(Mono() as whole, *_)))), Product(mono=end)]:
            return whole == end
    return False


def _getattr(m: Machine, args: list[Value], node: s.Call) -> Value:
    if len(args) < 2 or not isinstance(args[1], Constant):
        return Opaque("getattr")
    return get(m, args[0], str(args[1].value), node.span)


def _setattr(m: Machine, args: list[Value], node: s.Call) -> Value:
    target = args[0].defined(Instance) if len(args) == 3 else None
    if target is not None and isinstance(args[1], Constant):
        set_attribute(target, str(args[1].value), args[2])
    return Constant(None)


def _hasattr(m: Machine, args: list[Value], node: s.Call) -> Value:
    owner = args[0].defined(Instance) if len(args) == 2 else None
    if owner is not None and isinstance(args[1], Constant):
        return Constant(args[1].value in owner.attrs)
    return Opaque(m.module.source(node.span))


def _type(m: Machine, args: list[Value], node: s.Call) -> Value:
    instance = args[0].defined(Instance) if len(args) == 1 else None
    return Opaque("type") if instance is None or instance.cls is None else Defined(instance.cls, "type")


def _super(m: Machine, args: list[Value], node: s.Call) -> Value:
    receiver, owner = receiver_of(m), m.frame.owner
    if receiver is not None and owner is not None:
        return Defined(Super(receiver, owner), "super()")
    return Opaque("super()")


def _isinstance(m: Machine, args: list[Value], node: s.Call) -> Value:
    if args and isinstance(args[0], Tup):
        return Constant(False) if "int" in m.module.source(node.span) else Opaque(m.module.source(node.span))
    return Opaque(" ".join(map(describe, args)))


_OF_VALUES: dict[str, Callable[[Machine, list[Value], s.Call], Value]] = {
    "builtins.print": _print,
    "builtins.len": _len,
    **dict.fromkeys(("builtins.float", "builtins.int", "builtins.round"), _number),
    **dict.fromkeys(("builtins.tuple", "torch.Size"), _tuple),
    "builtins.list": _list,
    "builtins.range": _range,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.hasattr": _hasattr,
    "builtins.isinstance": _isinstance,
    "builtins.super": _super,
    "builtins.vars": lambda m, args, node: get(m, args[0], "__dict__", node.span) if args else Opaque("vars"),
    "builtins.type": _type,
    "typing.cast": lambda _, args, __: args[-1],
    "torch.finfo": lambda *_: scalar("finfo"),
    # The dtype of autocast, which may be any of an input's.
    **dict.fromkeys(("torch.get_autocast_dtype", "torch.get_autocast_gpu_dtype"), lambda *_: Dtype(DType.INPUT)),
}


# --- functions of bound arguments ------------------------------------------------------------------------------------


def _of_arguments(m: Machine, env: Env, run: OfArguments, node: s.Call) -> Value:
    from normlint.evaluate.calls import arguments

    args = arguments(m, env, node)
    first = args.positional[0].value if args.positional else None
    return run(m, first, replace(args, positional=args.positional[1:]), node.span)


def _checkpoint(m: Machine, first: Value | None, args: Arguments, span: Span) -> Value:
    """Evaluate checkpoint(function, *args) as a call of the function."""
    kept = {k: v for k, v in args.keywords.items() if k not in ("use_reentrant", "determinism_check", "context_fn")}
    return m.call(first, replace(args, keywords=kept), span) if first is not None else Opaque("checkpoint")


def _dict(m: Machine, first: Value | None, args: Arguments, span: Span) -> Value:
    """Evaluate dict(dim=-1, keepdim=True), also with another dict or pairs."""
    held: Value | None = first or Dict()
    if isinstance(first, Tup):
        pairs = [pair.items for pair in first.items if isinstance(pair, Tup) and len(pair.items) == 2]
        held = containers.made(pairs) if len(pairs) == len(first.items) else None
    if not isinstance(held, Dict):
        return Opaque("dict")
    return containers.stored(held, {name: given.value for name, given in args.keywords.items()}, more=args.more)


def _partial(m: Machine, first: Value | None, args: Arguments, span: Span) -> Value:
    return Defined(Partial(first, args), "partial") if first is not None else Opaque("partial")


OfArguments: TypeAlias = "Callable[[Machine, Value | None, Arguments, Span], Value]"
_OF_ARGUMENTS: dict[str, OfArguments] = {
    "builtins.dict": _dict,
    "functools.partial": _partial,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
}


# --- filling parameters ----------------------------------------------------------------------------------------------

_FILLS = {"ones_": "ones", "zeros_": "zeros", "zero_": "zeros"}
_RANDOM = ("normal_", "trunc_normal_")  # random around a mean, by default 0
_OTHER_FILLS = ("uniform_", "copy_", "random_")


def _fill(m: Machine, env: Env, node: s.Call) -> Value | None:
    """Evaluate `self.weight.data.fill_(1.0)`, `self.weight.zero_()` and the like; None for any other method."""
    assert isinstance(node.func, s.Attribute)
    name = node.func.name
    if name not in ("fill_", "zero_", *_RANDOM, *_OTHER_FILLS):
        return None
    return refill(m, env, node.func.base, name, node.args)


def _initialise(m: Machine, env: Env, name: str, node: s.Call) -> Value:
    """Evaluate `nn.init.ones_(self.weight)` and the like."""
    if not node.args:
        return Opaque(name)
    return refill(m, env, node.args[0].value, name, node.args[1:]) or Opaque(name)


def refill(m: Machine, env: Env, target: s.Expr, name: str, rest: Sequence[s.Argument]) -> Value | None:
    """Set the initial value of the parameter that `target` names, and return it; None if `target` is no parameter."""
    while isinstance(target, s.Attribute) and target.name == "data":
        target = target.base
    value = m.eval(env, target)
    param = value.param
    if not isinstance(value, Product) or param is None:
        return None
    init = _FILLS.get(name) or _filled_with(m, env, name, rest)
    held = m.eval(env, rest[0].value).length if name == "fill_" and rest else None
    if not param.name:
        m.ctx.recipes[param.span] = None  # its numbers are no longer those of its recipe
    filled = value.with_atom(replace(param, init=init, first=held))
    rebind(m, env, target, filled)
    share(m, param, init, held)
    return filled


def _filled_with(m: Machine, env: Env, name: str, rest: Sequence[s.Argument]) -> str:
    """Return the kind of values after `fill_(value)`, `normal_(mean)` or any other filling method."""
    given = next((a for a in rest if a.name in ("", "mean", "val", "value")), None)
    value = m.eval(env, given.value) if given else number(0.0)
    if name in _RANDOM:
        return "random" if value.number == 0 else "data"
    return init_of(value.number) if given and name in ("fill_", "constant_") else "data"


def tensor_method(m: Machine, x: Product, name: str, args: Arguments, span: Span) -> Value | None:
    """Evaluate a method that returns a tensor's sizes, rank or number of elements; None for any other method."""
    call = bind(name, method_key(name), span, args)
    first = call.get("dim")
    if name == "size" and first is None:
        return Shape(x)
    axes = axes_of(first, None) if name == "size" else None
    if isinstance(axes, tuple) and len(axes) == 1:
        return subscripts.size(m, Shape(x), axes[0])
    if name in ("dim", "ndimension"):
        return m.ctx.ask_rank(x, f"rank of {describe(x)}")
    if name in ("numel", "nelement"):
        return Product(_elements(x.mono, x.layout), span=span)
    if name == "is_floating_point":
        return Constant(True)  # as normalised tensors are
    if name == "is_contiguous":
        return Opaque(f"{describe(x)}.{name}")
    return None


def _elements(of: Mono, layout: Layout) -> Mono:
    """Return the number of elements; `x[..., 0]` has that of x divided by the length of its last axis."""
    atom = of.only
    whole, key = atom.args if isinstance(atom, Apply) and atom.name == "index" else (of, ())
    dots, *rest = key if isinstance(key, tuple) and key else ("",)
    indexed = dots == "..." and all(isinstance(one, tuple) and one[0] == "at" for one in rest)
    if not indexed or not isinstance(whole, Mono):
        return mono_of(Size(Mono(1.0, of.factors), None, layout))
    lengths = [Factor(Size(Mono(1.0, whole.factors), -at, layout), -ONCE) for at in range(1, len(rest) + 1)]
    return _elements(whole, layout).times(Mono(1.0, tuple(lengths)))
