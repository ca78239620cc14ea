"""Evaluate the creation of tensors and parameters, with their initial values and shapes."""

from __future__ import annotations

from normlint.evaluate.context import Context
from normlint.evaluate.dims import Exact
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply, Mono, Param, Scalar, Size, mono_of
from normlint.evaluate.ops.table import Bound, Given, of_input, op
from normlint.evaluate.value import Constant, Dtype, Opaque, Product, Shape, Tup, Value, of_atom
from normlint.text.frozen import replace

_INIT = {
    "ones": "ones", "zeros": "zeros", "empty": "empty", "full": "full", "rand": "data", "randn": "random",
    "ones_like": "ones", "zeros_like": "zeros", "empty_like": "empty", "randn_like": "random", "full_like": "full",
    "Tensor": "empty", "FloatTensor": "empty", "new_ones": "ones", "new_zeros": "zeros", "new_empty": "empty",
}  # fmt: skip


def init_of(number: float | None, other: str = "data") -> str:
    """Return the kind of initial values of a tensor that holds one number; `other` if that is neither 0 nor 1."""
    return {0.0: "zeros", 1.0: "ones"}.get(-1.0 if number is None else number, other)


def _sizes(given: tuple[Given, ...]) -> tuple[Mono | None, ...] | None:
    """Return the shape that a call's arguments give; None if it is unknown."""
    values: list[Value] = []
    for g in given:
        values.extend(g.value.items if isinstance(g.value, Tup) else (g.value,))
    if any(isinstance(v, Shape | Opaque) for v in values):
        return None
    return tuple(v.length for v in values)


def placed(shape: tuple[Mono | None, ...] | None) -> str:
    """Return "last" if a tensor of this shape varies along the last axis, "other" if along another, "" if unknown."""
    if shape is None:
        return ""
    return "other" if len(shape) > 1 and shape[-1] == Mono(1.0) else "last"


def _dtype(call: Bound) -> DType:
    cast = call.get("dtype")
    other = call.product("input")
    return cast.dtype if isinstance(cast, Dtype) else other.dtype if other else DType.FP32


def _device(call: Bound) -> str:
    """Return the device other than the CPU that a call names; empty if it names none."""
    device = call.get("device")
    if isinstance(device, Constant):
        return device.value if isinstance(device.value, str) and not device.value.startswith(("cpu", "meta")) else ""
    asked = device.sole.atom if isinstance(device, Product) and device.sole else None
    return asked.name if isinstance(asked, Apply) and asked.name.startswith("torch.cuda.") else ""


def _new_tensor(
    call: Bound, init: str, shape: tuple[Mono | None, ...] | None, maker: str, first: Product | None = None
) -> Product:
    held, device = first.length if first is not None else None, _device(call)
    atom = Param("", "tensor", init, shape, call.span, placed(shape), maker, _dtype(call), held, device)
    return replace(of_atom(atom, _dtype(call), call.span), shape=None if shape is None else Exact(shape))


def shape_of(value: Value | None) -> tuple[Mono | None, ...] | None:
    """Return the shape of a tensor if all of its axes are known; None otherwise."""
    return value.shape.lengths if isinstance(value, Product) and isinstance(value.shape, Exact) else None


@op("ones zeros empty rand randn new_ones new_zeros new_empty")
def filled(ctx: Context, call: Bound) -> Value | None:
    return _new_tensor(call, _INIT[call.name], _sizes(call.sequence("size")), call.name)


@op("full new_full")
def full(ctx: Context, call: Bound) -> Value | None:
    fill = call.product("fill_value")
    size = call.values.get("size")
    init = init_of(fill.number if fill else None, "full")
    return _new_tensor(call, init, _sizes((size,)) if size else None, "full", fill)


@op("ones_like zeros_like empty_like randn_like full_like")
def like(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the creation of a tensor in the shape of another."""
    other = call.product("input")
    return _new_tensor(call, _INIT[call.name], shape_of(other), call.name, call.product("fill_value"))


@op("Tensor FloatTensor")
def legacy(ctx: Context, call: Bound) -> Value | None:
    """Evaluate torch.Tensor(d), which is empty and of shape (d,), and torch.Tensor([d]), which holds the number d."""
    data = call.rest[0].value if len(call.rest) == 1 else None
    if isinstance(data, Tup):
        return _new_tensor(call, "data", (Mono(float(len(data.items))),), "Tensor-list")
    return _new_tensor(call, "empty", _sizes(call.sequence("data")), "Tensor")


@op("tensor new_tensor scalar_tensor")
def from_data(ctx: Context, call: Bound) -> Value | None:
    data = call.get("data", "s")
    if isinstance(data, Tup):
        items = {item.number for item in data.items}
        only = items.pop() if len(items) == 1 else None
        return _new_tensor(call, init_of(only), (Mono(float(len(data.items))),), "tensor")
    if isinstance(data, Shape):
        return data
    if not isinstance(data, Product):
        return _new_tensor(call, "data", None, "tensor")
    made = _new_tensor(call, init_of(data.number), (), "tensor", data)
    return replace(made, dtype=call.dtype(data.dtype) if data.tensor else DType.WEAK)  # a number doesn't promote


@of_input("cuda")
def on_gpu(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `cuda()` as the input, with the device noted in a newly created tensor."""
    made = x.param
    if made is not None and made.role == "tensor" and not made.name:
        x = replace(x, mono=mono_of(replace(made, device="cuda")))
    return replace(x, span=call.span)


@op("Parameter Buffer UninitializedParameter")
def parameter(ctx: Context, call: Bound) -> Value | None:
    """Evaluate nn.Parameter(data) or a buffer, with the data's shape and initial values."""
    data = call.get("data")
    role = "buffer" if call.name == "Buffer" or call.flag("requires_grad", True) is False else "parameter"
    if isinstance(data, Product) and isinstance(data.atom, Param):
        atom = replace(data.atom, role=role, span=call.span, dtype=data.dtype)
        return replace(data, mono=mono_of(atom), dtype=DType.PARAM, alias="", span=call.span)
    shape = shape_of(data)
    made = _created(data)
    if made is not None:
        first = _factor_of_ones(data) if made.init == "ones" else None
        atom = replace(made, role=role, init=_init_after_scaling(made), span=call.span, first=first)
        return replace(of_atom(atom, DType.PARAM, call.span), shape=None if shape is None else Exact(shape))
    init = "data" if data is not None and not isinstance(data, Opaque) else ""
    atom = Param("", role, init, shape, call.span, placed(shape), first=_factor_of_ones(data))
    return of_atom(atom, DType.PARAM, call.span)


@of_input("requires_grad_")
def trained(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate `requires_grad_` as the input; a parameter that is no longer trained becomes a buffer."""
    param = x.param
    if param is not None and param.role == "parameter" and call.flag("mode", True) is False:
        x = replace(x, mono=mono_of(replace(param, role="buffer")))
    return replace(x, span=call.span)


def _created(data: Value | None) -> Param | None:
    """Return the newly created tensor that `data` is a multiple of; None if it isn't."""
    factors = data.mono.factors if isinstance(data, Product) else ()
    tensors = [f.atom for f in factors if not isinstance(f.atom, Size | Scalar)]
    sole = tensors[0] if len(tensors) == 1 else None
    return sole if isinstance(sole, Param) and not sole.name else None


def _init_after_scaling(made: Param) -> str:
    """Return the kind of initial values of a created tensor after it is scaled."""
    return made.init if made.init in ("zeros", "empty") or made.maker == "Tensor-list" else "data"


def _factor_of_ones(data: Value | None) -> Mono | None:
    """Return the factor that a tensor of ones was multiplied by; None for any other tensor."""
    factors = data.mono.factors if isinstance(data, Product) else ()
    made = [f for f in factors if isinstance(f.atom, Param) and f.atom.init == "ones" and f.power == 1]
    if len(made) != 1 or not isinstance(data, Product):
        return None
    return Mono(data.mono.coef, tuple(f for f in factors if f is not made[0]))


def guessed(name: str) -> Product | None:
    """Return a parameter for an attribute that isn't set but has a usual name of a gain or bias; None otherwise."""
    low = name.lower().strip("_")
    gains, biases = ("weight", "weights", "gamma", "scale", "g", "gain", "a_2"), ("bias", "beta", "b_2", "shift", "b")
    return of_atom(Param(name, "unknown"), DType.PARAM) if low in gains + biases else None
