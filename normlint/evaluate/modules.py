"""Evaluate the construction and calls of modules: torch's layers, and opaque ones for those of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from normlint.evaluate import algebra, torch_norms
from normlint.evaluate import syntax as s
from normlint.evaluate.attributes import get, receiver_of, set_attribute
from normlint.evaluate.binding import Args
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import NOWHERE, Mono, Param, mono_of
from normlint.evaluate.objects import ClassRef, Instance
from normlint.evaluate.ops import shaping
from normlint.evaluate.ops.table import Arguments, Given
from normlint.evaluate.value import Constant, Defined, Dict, Opaque, Path, Product, Tup, Value, of_atom
from normlint.text.finding import Span
from normlint.text.frozen import replace
from normlint.text.operations import CLASSES

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

# Layers whose output has the dtype of their input.
KEEPS_DTYPE = (
    *("Linear", "Conv1d", "Conv2d", "Conv3d", "Conv1D", "Embedding"),
    *("Dropout", "Identity", "GELU", "SiLU", "ReLU"),
)


def construct(m: Machine, dotted: str, args: Arguments, span: Span) -> Value | None:
    """Return the value of a call like `nn.Linear(…)` or a torch norm's `__init__`; None for any other path."""
    if dotted.endswith(".__init__"):
        return torch_norms.constructed(dotted, args, span)
    first = args.positional[0].value if args.positional else None
    if dotted == "torch.nn.ParameterList" and isinstance(first, Tup):
        return Tup(tuple(_parameter(m, value, span) for value in first.items))
    if dotted == "torch.nn.ParameterDict" and isinstance(first, Dict):
        return replace(first, items=tuple((key, _parameter(m, value, span)) for key, value in first.items))
    if dotted.startswith("torch.nn.") and dotted.rsplit(".", 1)[-1][:1].isupper():
        return Opaque(f"module {dotted}", span, _sizes(args), args)
    return None


def _parameter(m: Machine, value: Value, span: Span) -> Value:
    return m.call(Path("torch.nn.Parameter"), Args((Given(value, span),)), span)


def made(m: Machine, cls: ClassRef, args: Arguments, span: Span) -> Value:
    """Return an instance of a class of the text; a module is opaque here, since it is evaluated as an entry."""
    if not any(c.outside for c in cls.lineage()) and len(m.frames) < MOST_FRAMES:
        return _instance(m, cls, args, span)
    return Opaque(f"module {cls.qualname}", span, tuple(g.value.length for g in args.positional))


def _instance(m: Machine, cls: ClassRef, args: Arguments, span: Span) -> Value:
    """Return an instance of a class without outside bases, with the attributes that its constructor sets."""
    instance = Instance(cls)
    found = Defined(instance, cls.qualname)
    if any("__init__" in c.members for c in cls.lineage()):
        m.call(get(m, found, "__init__", span), args, span)
    elif cls.node.decorators:  # a dataclass, with its fields in order
        fields = [stmt for c in reversed([*cls.lineage()]) for stmt in c.node.body]
        targets = [(stmt.target,) if isinstance(stmt, s.Evaluate) else getattr(stmt, "targets", ()) for stmt in fields]
        names = [t.id for several in targets for t in several if isinstance(t, s.Name)]
        given = dict(zip(names, args.positional, strict=False)) | args.keywords
        for name, value in given.items():
            set_attribute(instance, name, value.value)
    return found


MOST_FRAMES = 6  # frames, beyond which constructors aren't run


def called(m: Machine, func: Value, args: Arguments, span: Span) -> Value:
    """Return the value of a call of a module, of `self.register_buffer` and the like, or of an opaque value."""
    own = func.defined(Instance)
    if own is not None and own.cls is not None and any("__call__" in c.members for c in own.cls.lineage()):
        return m.call(get(m, func, "__call__", span), args, span)
    text = func.text if isinstance(func, Opaque) else "module"
    tensors = [g.value for g in args.positional if isinstance(g.value, Product) and g.value.tensor]
    for given in args.values:
        m.flow(given.value, given.span)
    if _is_idle(func) and len(args.positional) == 1:
        return args.positional[0].value
    function = torch_norms.of_module(m, func)
    if function is not None:
        m.ctx.wrapped.add(span)
        return m.call(function, args, span)
    stateless = _stateless(func)
    if stateless is not None and isinstance(func, Opaque):
        return m.call(stateless, args.joined(func.given), span)  # type: ignore[arg-type]
    registered = _own_tensors(m, text, args) or _register(m, text, args, span)
    if registered is not None:
        return registered
    result = algebra.unknown(text, [g.value for g in (*args.values, *args.loose)], span)
    if tensors and isinstance(func, Opaque):
        m.ctx.handed.append((func, tensors[0]))
    if tensors and text.startswith("module torch.nn."):
        sizes = func.sizes if isinstance(func, Opaque) else ()
        dims = shaping.layer(m.ctx, text.rpartition(".")[2], sizes, tensors[0]) or m.ctx.shapes.free()
        return replace(result, shape=dims, dtype=tensors[0].dtype if text.endswith(KEEPS_DTYPE) else result.dtype)
    return result


_LAYER = "module torch.nn."


def _stateless(module: Value) -> Value | None:
    """Return torch's function for a layer without parameters, which has its name except for underscores; or None."""
    made = isinstance(module, Opaque) and module.text.startswith(_LAYER) and module.given is not None
    found = _STATELESS.get(module.text.removeprefix(_LAYER).lower()) if made else None  # type: ignore[union-attr]
    return None if found is None else Path(f"torch.nn.functional.{found}" if "pool" in found else f"torch.{found}")


_STATELESS = {word.replace("_", ""): word for kind in ("layout", "reduction") for word in CLASSES[kind].split()}


def _own_tensors(m: Machine, text: str, args: Arguments) -> Value | None:
    """Return the value of `self.parameters()` and the like for a module without submodules; None otherwise."""
    owner, _, method = text.partition(".")
    instance = receiver_of(m)
    if owner != "self" or instance is None or method not in _TENSOR_METHODS:
        return None
    if any(isinstance(v, Opaque) and v.text.startswith("module ") for v in instance.attrs.values()):
        return None
    held = get(m, Defined(instance, "self"), _TENSOR_METHODS[method], NOWHERE)
    first = args.positional[0].value if args.positional else None
    if not isinstance(held, Dict):
        return None
    if method.startswith("get_"):
        return held.get(first.value) if isinstance(first, Constant) else None
    return Tup(tuple(Tup((Constant(k), v)) if method.startswith("named_") else v for k, v in held.items))


_TENSOR_METHODS = {"get_parameter": "_parameters", "get_buffer": "_buffers"}
_TENSOR_METHODS |= {f"{how}{what}": f"_{what}" for what in ("parameters", "buffers") for how in ("", "named_")}


def _is_idle(module: Value) -> bool:
    """Return whether a module returns its input: an Identity, or a Dropout with probability 0."""
    text, sizes = (module.text, module.sizes) if isinstance(module, Opaque) else ("", ())
    return text == f"{_LAYER}Identity" or (text == f"{_LAYER}Dropout" and sizes[:1] == (Mono(0.0),))


def _sizes(args: Arguments) -> tuple[Mono | None, ...]:
    """Return the first two size arguments of a layer, passed by position or by name."""
    first, by_name = args.positional, args.keywords
    named = [next((by_name[k] for k in names.split() if k in by_name), None) for names in _SIZE_NAMES]
    given = [first[i] if i < len(first) else named[i] for i in range(len(_SIZE_NAMES))]
    values = [g.value if g is not None else None for g in given]
    single = [v.items[0] if isinstance(v, Tup) and len(v.items) == 1 else v for v in values]
    return tuple(v.length if v is not None else None for v in single)


_SIZE_NAMES = (
    "in_features in_channels num_features normalized_shape num_embeddings",
    "out_features out_channels embedding_dim",
)


def _register(m: Machine, text: str, args: Arguments, span: Span) -> Value | None:
    """Evaluate `self.register_parameter(…)` and `self.register_buffer(…)`; None for any other call."""
    owner, _, method = text.rpartition(".")
    if owner != "self" or method not in ("register_parameter", "register_buffer") or not args.positional:
        return None
    name, instance = args.positional[0].value, receiver_of(m)
    if instance is not None and isinstance(name, Constant):
        role = "buffer" if method == "register_buffer" else "parameter"
        set_attribute(instance, str(name.value), _registered(_registered_value(args), role, str(name.value), span))
    return Constant(None)


def _registered_value(args: Arguments) -> Value:
    second = args.positional[1] if len(args.positional) > 1 else None
    given = second or args.keywords.get("param") or args.keywords.get("tensor")
    return given.value if given else Constant(None)


def _registered(value: Value, role: str, name: str, span: Span) -> Value:
    param = value.param
    if isinstance(value, Product) and param is not None:
        return replace(value, mono=mono_of(replace(param, role=role, name=name)), dtype=DType.PARAM)
    if isinstance(value, Constant):
        return value
    return of_atom(Param(name, role, "data", None, span), DType.PARAM, span)
