"""Evaluate attribute access on tensors, `self`, classes, imported names and config objects."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from normlint.evaluate import algebra, subscripts
from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args
from normlint.evaluate.dtypes import NAMED, DType
from normlint.evaluate.monomial import NOWHERE, Apply, Input, Param
from normlint.evaluate.objects import ClassRef, FunctionRef, Instance, Super
from normlint.evaluate.ops import measured, shapes, signatures
from normlint.evaluate.ops.casts import detach
from normlint.evaluate.ops.table import OPS, Bound, Given, row
from normlint.evaluate.ops.tensors import guessed
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    Defined,
    Dict,
    Dtype,
    Member,
    Method,
    Opaque,
    Path,
    Product,
    Shape,
    Tup,
    Value,
    number,
    of_atom,
    scalar,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace
from normlint.text.operations import CLASSES

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine

QUESTIONS = frozenset(CLASSES["question"].split())
SIZES = frozenset(
    "dim hidden_size d_model embed_dim embedding_dim channels num_channels features n_embd width size d "
    "normalized_shape hidden_dim head_dim c_in ndim num_features d_head dim_head in_features inner_dim emb_dim".split()
)


def get(m: Machine, base: Value, name: str, span: Span) -> Value:
    match base:
        case Product(tensor=True):
            return _of_tensor(m, base, name, span)
        case Product():
            return _of_scalar(m, base, name)
        case Defined(ref=Instance() as instance):
            return of_instance(m, instance, name, span)
        case Defined(ref=Super() as above):
            return of_super(m, above, name)
        case Defined(ref=ClassRef() as cls):
            found = _of_class(m, cls, name) or Opaque(f"{cls.qualname}.{name}")
            ref = found.defined(FunctionRef)
            return _bind(m, found, base, span) if ref is not None and ref.kind == "class" else found
        case Path(dotted=dotted):
            return imported(f"{dotted}.{name}")
        case Tup(items=items) if name in _FIELDS and len(items) == 2:
            return items[_FIELDS[name]]
        case Tup() | Dict() | Shape(start=int(), stop=None):
            return Member(_as_list(m, base), name)
        case Opaque(text=text, place=place) if (held := _within(m, place, name)) is not None:
            return held.at(span) if isinstance(held, Product) else held
        case Opaque(text=text) if text.startswith("module ") and name in ("weight", "bias"):
            return of_atom(Apply(f"{text}.{name}", held=True), DType.PARAM, span)
        case Opaque(text=text):
            return Opaque(f"{text}.{name}")
    return Opaque(f"{describe(base)}.{name}")


def _as_list(m: Machine, base: Tup | Dict | Shape) -> Tup | Dict:
    """Return the last lengths of a shape as a tuple, and any other container unchanged."""
    if not isinstance(base, Shape):
        return base
    return Tup(tuple(subscripts.size(m, Shape(base.of), at) for at in range(min(base.start or 0, 0), 0)))


_BITS: Final = re.compile(r"(?:float|q?u?int|complex|bits)\d+\w*")  # the name of a dtype


def imported(dotted: str) -> Value:
    """Return the value of a dotted path: a dtype, a number, or the path itself."""
    owner, _, name = dotted.rpartition(".")
    if owner == "torch" and (name in NAMED or _BITS.fullmatch(name)):
        return Dtype(NAMED.get(name, DType.UNKNOWN))
    if dotted in ("math.inf", "math.pi"):
        return number(float("3.14159") if name == "pi" else 1e30)
    if owner.startswith(_WITHIN_NN) and name[:1].isupper():
        return Path(f"torch.nn.{name}")
    return Path(dotted)


_WITHIN_NN = ("torch.nn.parameter", "torch.nn.modules")  # modules whose classes torch.nn exports


def _of_tensor(m: Machine, x: Product, name: str, span: Span) -> Value:
    if name == "shape":
        return Shape(x)
    if name == "dtype":
        return Dtype(x.dtype, describe(x) if x.dtype in (DType.INPUT, DType.PARAM) else "")
    if name == "ndim":
        return m.ctx.ask_rank(x, f"rank of {describe(x)}")
    if name in ("T", "mT"):
        m.flow(x, span)  # with the layout in which it is multiplied by its statistic
        return measured.note(m.ctx, name, {"input": x}, shapes.transposed(m.ctx, x, name))
    if name == "data":
        return detach(m.ctx, Bound("detach", span, {"input": Given(x, span)}))  # type: ignore[return-value]
    sole = x.sole
    if sole and isinstance(sole.atom, Input) and not _is_operation(name) and (found := _of_norm_module(x, name)):
        return found
    if x.dtype is DType.UNKNOWN and sole and isinstance(sole.atom, Apply) and not _is_operation(name):
        return measured.note(m.ctx, f".{name}", {"input": x}, algebra.opaque(f".{name}", (x.mono,), span))
    return Method(x, name)


def _of_norm_module(x: Product, name: str) -> Product | None:
    """Return an eps or a gain for an attribute that tensors don't have, so that x is a norm module; None otherwise."""
    owner = describe(x)
    if "eps" in name.lower():
        return scalar(f"{owner}.{name}")
    gain = guessed(name)
    return gain.with_atom(Param(f"{owner}.{name}", "unknown")) if gain is not None else None


def _is_operation(name: str) -> bool:
    return row(name) in OPS or name in QUESTIONS


def _of_scalar(m: Machine, x: Product, name: str) -> Value:
    """Return an attribute of an unknown object, such as config.rms_norm_eps, or a method of a number."""
    if name in ("dtype", "device"):
        return Opaque(f"{describe(x)}.{name}")
    if x.mono.has_stat or (x.number is not None and name in OPS):
        return Method(x, name)
    config = m.ctx.configs.get(describe(x))
    known = get(m, config, name, span=x.span) if config is not None else None
    return scalar(f"{describe(x)}.{name}", known.number if known is not None else None)


# --- self ------------------------------------------------------------------------------------------------------------


def of_instance(m: Machine, instance: Instance, name: str, span: Span) -> Value:
    """Return the value of an attribute of an instance: its own, its class's, or a guess by the name."""
    if name in instance.attrs:
        value = instance.attrs[name]
        return value.at(span) if isinstance(value, Product) else value
    found = _of_class(m, instance.cls, name) if instance.cls else None
    if found is not None:
        return _bind(m, found, Defined(instance, "self"), span)
    if name == "training":
        return Opaque("self.training")
    if name in OWN:
        return Dict(tuple((key, value) for key, value in instance.attrs.items() if _has_role(value, OWN[name])))
    if instance.cls is not None and not m.module.snippet and _is_unset(m.module.text, instance.cls, name):
        m.ctx.note(UNSET, span, name)
    return _guess(instance, name)


UNSET: Final = "unset attribute"  # a note
_DYNAMIC: Final = re.compile(r"\b(?:setattr|vars|exec|locals|__dict__|__getattr\w*__|__slots__|__setstate__|update)\b")


def _is_unset(text: str, cls: ClassRef, name: str) -> bool:
    """Return whether nothing in the text sets an attribute of a class that has no other bases than nn.Module."""
    above = list(cls.lineage())
    plain = not any(one.node.decorators for one in above) and any("__init__" in one.members for one in above)
    bases = {path for one in above for path in one.outside}
    if not plain or not bases or not bases <= {"torch.nn.Module", "torch.nn.modules.module.Module"}:
        return False
    return not name.startswith("_") and name not in signatures.public("Module") and is_only_read(text, name)


@lru_cache(maxsize=64)
def is_only_read(text: str, name: str) -> bool:
    """Return whether no line of the text may set an attribute of this name: by an assignment, a string or a class."""
    line = rf"\.{name}(?:\b[^\n]*(?<![=!<>])=(?!=)|,[ \t]*$)|^[ \t]+{name}[ \t]*[:=,]"
    other = rf"[\"']{name}[\"']|\b(?:as|for|del|def|class)[ \t]+(?:self\.)?{name}\b"
    return _DYNAMIC.search(text) is None and re.search(rf"{line}|{other}", text, re.MULTILINE) is None


_FIELDS = {"values": 0, "indices": 1, "min": 0, "max": 1}  # fields of torch's named tuples
OWN = {"__dict__": "", "_parameters": "parameter", "_buffers": "buffer"}  # role in each dict


def _has_role(value: Value, role: str) -> bool:
    param = value.param
    return not role or (param is not None and param.role == role)


def _guess(instance: Instance, name: str) -> Value:
    """Return the value that the name of an attribute suggests, which the text doesn't set."""
    low = name.lower()
    if "eps" in low or low in SIZES:
        return scalar(f"self.{name}" if instance.cls else name)
    return guessed(name) or Opaque(f"self.{name}")


def _of_class(m: Machine, cls: ClassRef, name: str) -> Value | None:
    """Return a class attribute or method, also of the bases in the text; None if there is none."""
    for owner in cls.lineage():
        stmt = owner.members.get(name)
        if isinstance(stmt, s.Function):
            return Defined(FunctionRef(stmt, owner.env, f"{cls.qualname}.{name}", owner), name)
        if stmt is not None:
            return m.eval(owner.env or m.globals, stmt.value)
    return None


def _bind(m: Machine, found: Value, receiver: Value, span: Span) -> Value:
    """Return a class attribute as it is read from the receiver: a bound method, a static one, or a property's value."""
    ref = found.defined(FunctionRef)
    if ref is None or ref.kind == "static":
        return found
    bound = Defined(ref.received_by(receiver), describe(found))
    return m.call(bound, Args(), span) if ref.kind == "property" else bound


def of_super(m: Machine, above: Super, name: str) -> Value:
    """Return a method of the next class after `below` that has it, also of torch's norms."""
    lineage = list(above.instance.cls.lineage()) if above.instance.cls else []
    after = lineage[lineage.index(above.below) + 1 :] if above.below in lineage else []
    for owner in after:
        for stmt in owner.node.body:
            if isinstance(stmt, s.Function) and stmt.name == name:
                receiver = Defined(above.instance, "self")
                return Defined(FunctionRef(stmt, owner.env, f"{owner.qualname}.{name}", owner, receiver), name)
    from normlint.evaluate.torch_norms import inherited

    return inherited(m, above.instance, name) or Opaque(f"super().{name}")


def set_within(m: Machine, module: Opaque, name: str, value: Value) -> None:
    """Assign `self.norm.weight = value`, which is stored in the instance that created the module."""
    maker = receiver_of(m)
    if maker is not None and module.text.startswith("module "):
        held = Instance(None)
        set_attribute(held, name, value)
        maker.attrs[_key(module.place, name)] = held.attrs[name]


def _within(m: Machine, place: Span, name: str) -> Value | None:
    maker = receiver_of(m) if place != NOWHERE else None
    return maker.attrs.get(_key(place, name)) if maker is not None else None


def receiver_of(m: Machine) -> Instance | None:
    """Return the instance `self` of the running method; None if there is none."""
    receiver = m.frames[-1].receiver if m.frames else None
    return receiver.defined(Instance) if receiver is not None else None


def _key(place: Span, name: str) -> str:
    return f"{name}@{place.start}"


def set_attribute(instance: Instance, name: str, value: Value) -> None:
    """Assign `self.name = value`; a newly created tensor takes the attribute's name."""
    if name in OWN and isinstance(value, Dict):
        for key, held in value.items:
            set_attribute(instance, str(key), held)
        return
    made = value.param
    if isinstance(value, Product) and made is not None and not made.name:
        detached = any(step.op == "detach" for step in value.mono.factors[0].steps)
        dtype = DType.PARAM if value.dtype is DType.FP32 else value.dtype  # which the module's tensors share
        named = replace(made, name=name, role="tensor" if detached else made.role)
        value = replace(value.with_atom(named), dtype=dtype)
    instance.attrs[name] = value
