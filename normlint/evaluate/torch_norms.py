"""Evaluate torch's LayerNorm and RMSNorm modules, and what classes inherit from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from normlint.evaluate import attributes
from normlint.evaluate.binding import Args
from normlint.evaluate.dims import Exact
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import NOWHERE, Mono, Param
from normlint.evaluate.objects import ClassRef, Instance, Partial
from normlint.evaluate.ops import signatures
from normlint.evaluate.ops.table import Arguments, Given, bind
from normlint.evaluate.value import Constant, Defined, Opaque, Path, Product, Tup, Value, number, of_atom, scalar
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

FUNCTIONS: Final = {  # by the path of the module
    "torch.nn.LayerNorm": "torch.nn.functional.layer_norm",
    "torch.nn.RMSNorm": "torch.nn.functional.rms_norm",
}
WEIGHTLESS: Final = ("module torch.nn.Dropout", "module torch.nn.Identity")
_GAINS: Final = {"weight": "ones", "bias": "zeros"}  # kinds of initial values


def base_of(cls: ClassRef | None) -> str | None:
    """Return the dotted path of the torch norm among the bases of a class; None if there is none."""
    outside = (path for owner in cls.lineage() for path in owner.outside) if cls else ()
    return next((path for path in outside if path in FUNCTIONS), None)


def inherited(m: Machine, instance: Instance, name: str) -> Value | None:
    """Return the inherited forward or `__init__` of a torch norm; None for any other name or base."""
    base = base_of(instance.cls)
    if base is not None and name == "__init__":
        return Defined(Partial(Path(f"{base}.__init__"), Args((Given(Defined(instance, "self"), NOWHERE),))), name)
    if base is None or name != "forward":
        return None
    return Defined(Partial(Path(FUNCTIONS[base]), Args((), _norm_arguments(m, instance, base))), f"super of {base}")


def _norm_arguments(m: Machine, instance: Instance, base: str) -> dict[str, Given]:
    """Return the attributes of an instance that are parameters of its norm's function."""
    spans = {name: value.span for name, value in instance.attrs.items() if isinstance(value, Product)}
    places = {name: spans.get(name, NOWHERE) for name in _attribute_names(base)}
    return {name: Given(attributes.of_instance(m, instance, name, at), at) for name, at in places.items()}


def constructed(dotted: str, args: Arguments, span: Span) -> Value | None:
    """Evaluate a call like `nn.LayerNorm.__init__(self, dim, eps=eps)`; None for any other constructor."""
    base = dotted.removesuffix(".__init__")
    receiver = args.positional[0].value if args.positional else None
    instance = receiver.defined(Instance) if receiver is not None else None
    if base not in FUNCTIONS or instance is None:
        return None
    initialise(base, instance, replace(args, positional=args.positional[1:]), span)
    return Constant(None)


def of_module(m: Machine, module: Value) -> Value | None:
    """Return the function of a torch norm that is the only layer of its class; None for any other module."""
    base = module.text.removeprefix("module ") if isinstance(module, Opaque) else ""
    maker = attributes.receiver_of(m)
    if not isinstance(module, Opaque) or base not in FUNCTIONS or maker is None:
        return None
    layers = {name: v for name, v in maker.attrs.items() if isinstance(v, Opaque) and v.text.startswith("module ")}
    if not {v.text for v in layers.values()} <= {module.text, *WEIGHTLESS} or not isinstance(module.given, Args):
        return None
    norm = Instance(None)
    name = next((name for name, v in layers.items() if v == module), "")
    initialise(base, norm, module.given, module.place, f"{name}.")
    return Defined(Partial(Path(FUNCTIONS[base]), Args((), _norm_arguments(m, norm, base))), module.text)


def symbolic(base: str) -> Arguments:
    """Return a symbol for each parameter of the base's constructor but the shape, which may have several axes."""
    defaults = {name: default for name, default in _defaults(base).items() if name != "normalized_shape"}
    numbers = {name: float(d) if isinstance(d, float | bool) else None for name, d in defaults.items()}
    return Args((), {name: Given(scalar(name, default), NOWHERE) for name, default in numbers.items()})


def _defaults(key: str) -> dict[str, object]:
    return {p.name: p.value for p in signatures.overloads(key)[0]}


def _attribute_names(base: str) -> list[str]:
    """Return the parameters of the norm's function that are attributes of an instance."""
    return [name for name in _defaults(signatures.key_of(FUNCTIONS[base]) or "") if name != "input"]


def initialise(base: str, instance: Instance, args: Arguments, span: Span, owner: str = "") -> None:
    """Set the attributes that the base's constructor sets; `owner` prefixes the names of their parameters."""
    call = bind(base, base, span, args)
    given = {name: call.get(name) for name in ("normalized_shape", "eps", "elementwise_affine", "bias")}
    default = _defaults(base)["eps"]
    eps = given["eps"] or (number(default) if isinstance(default, float) else Constant(None))
    instance.attrs["eps"] = scalar("self.eps") if isinstance(eps, Opaque) else eps
    shape = _lengths(given["normalized_shape"])
    for name, init in _GAINS.items():
        flags = [given["elementwise_affine"], *([given["bias"]] * (name == "bias"))]
        if any(isinstance(flag, Constant) and flag.value is False for flag in flags):
            instance.attrs[name] = Constant(None)
        elif name in _attribute_names(base):
            param = Param(f"{owner}{name}", "parameter", init, shape, span, maker=base)
            value = of_atom(param, DType.PARAM, span)
            instance.attrs[name] = value if shape is None else value.of_shape(Exact(shape))


def _lengths(size: Value | None) -> tuple[Mono | None, ...] | None:
    if not isinstance(size, Tup | Product) or (isinstance(size, Product) and _is_handed_on(size.mono)):
        return None  # of unknown rank
    items = size.items if isinstance(size, Tup) else (size,)
    return tuple(i.length for i in items)


def _is_handed_on(size: Mono) -> bool:
    """Return whether a size is a parameter with the name of torch's own, which takes a tuple as well as a number."""
    return any(size == scalar(name).mono for name in ("normalized_shape", "self.normalized_shape"))
