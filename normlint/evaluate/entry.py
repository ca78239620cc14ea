"""The entries at which evaluation begins, and the symbols for their parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from normlint.evaluate import syntax as s
from normlint.evaluate.attributes import SIZES
from normlint.evaluate.binding import Args
from normlint.evaluate.dtypes import INTEGRAL_TENSORS, DType
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import Use
from normlint.evaluate.monomial import Input, Param
from normlint.evaluate.objects import ClassRef, FunctionRef
from normlint.evaluate.ops.table import Arguments, Given
from normlint.evaluate.value import Opaque, Value, of_atom, scalar
from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True)
class Entry:
    """A start of evaluation: a method of a class, a function, or the module's own statements."""

    qualname: str
    span: Span
    function: FunctionRef | None
    cls: ClassRef | None = None
    block: s.Block = ()
    called: bool = False  # the text calls it, so that the dtype of its inputs is unknown
    vector: bool = False  # vmapped, so that its inputs have one axis
    fallback: bool = False  # only evaluated if no other entry reaches it
    use: Use | None = None  # how its class is called
    wide: str = ""  # the constructor's parameter that is the last length of its input

    @property
    def params(self) -> tuple[s.Parameter, ...]:
        """The parameters of the function; the module's own statements have none."""
        return self.function.node.params if self.function is not None else ()


def made_with(m: Machine, init: FunctionRef) -> Arguments:
    """Return a symbol for each parameter of a constructor."""
    return _each(init.node.params[1:], lambda _, param: symbol(m, param))


def symbol(m: Machine, param: s.Parameter) -> Value:
    """Return an unknown number or flag for a constructor's parameter, with its default, or a tensor."""
    default = param.default
    if default is None and param.annotation and "Tensor" in m.module.source(param.annotation.span):
        return of_atom(Param(param.name, "unknown"), DType.PARAM, param.span)
    if isinstance(param.annotation, s.Name):
        config = m.lookup(m.globals, param.annotation.id)
        if config is not None and config.defined(ClassRef) is not None:
            m.ctx.configs[param.name] = config
    if isinstance(default, s.Literal) and isinstance(default.value, bool | int | float):
        return scalar(param.name, float(default.value), param.span)
    if isinstance(default, s.Unary | s.Binary | s.Name | s.Attribute):
        value = m.eval(m.globals, default)
        if value.number is not None:
            return scalar(param.name, value.number, param.span)
    return scalar(param.name, None, param.span)


GAINS = ("weight", "gamma", "scale", "g", "gain", "bias", "beta", "w", "b")
_WIDE_NOTE = re.compile(r"(?:\w+\.)*Float(32|64)\[[^|]*\]")  # of jaxtyping
_NUMBERS = ("int", "float", "bool", "str", "Size", "List", "Tuple", "tuple", "list")


def symbolic(m: Machine, ref: FunctionRef, *, bound: bool) -> Arguments:
    """Return a value for each parameter of an entry."""
    params = ref.node.params[1:] if bound else ref.node.params
    return _each(params, lambda at, param: _argument(m, param, function=not bound, first=at == 0))


def _each(params: Sequence[s.Parameter], value: Callable[[int, s.Parameter], Value]) -> Arguments:
    """Return an argument for each parameter; more unknown ones may be passed, by place (*) or by name (**)."""
    given = {p.name: Given(value(at, p), p.span) for at, p in enumerate(params) if not p.star}
    stars = {p.star for p in params}
    return Args((), given, rest="*" in stars, more="**" in stars)


def _argument(m: Machine, param: s.Parameter, *, function: bool, first: bool) -> Value:
    low = param.name.lower()
    note = m.module.source(param.annotation.span) if param.annotation else ""
    if low in ("ctx", "xp", "np", "jnp"):
        return Opaque(param.name)
    numeric = any(word in note for word in _NUMBERS) and "Tensor" not in note
    default = param.default.value if isinstance(param.default, s.Literal) else None
    if isinstance(default, str):
        return Opaque(f"{param.name}={default}")
    sized = low in SIZES and low != "features" and not first  # the first parameter is the normalised tensor
    counted = isinstance(default, bool | int | float) or isinstance(param.default, s.Unary | s.Binary)
    if "eps" in low or sized or numeric or counted:
        return symbol(m, param)
    if function and low in GAINS:
        return of_atom(Param(param.name, "unknown"), m.ctx.input_dtype, param.span)
    integral = any(word in note for word in INTEGRAL_TENSORS)
    if first and (wide := _WIDE_NOTE.fullmatch(note)) is not None:
        m.ctx.possible[DType.INPUT] = frozenset((f"fp{wide[1]}",))
    dtype = DType.INT if integral else m.ctx.input_dtype
    return of_atom(Input(param.name, integral), dtype, param.span, alias=param.name)


def is_bare_method(ref: FunctionRef) -> bool:
    """Return whether the first parameter of a function is `self`."""
    return bool(ref.node.params) and ref.node.params[0].name == "self"
