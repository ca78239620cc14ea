"""The table of operations: functions that evaluate a call, whose arguments are bound to torch's parameters.

A method, a function and an in-place method share one row. The first tensor is `input`, `axis` and `keepdims` are `dim`
and `keepdim`; all other parameters have torch's names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

from normlint.evaluate.binding import Args
from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply, Scalar, Size
from normlint.evaluate.ops import signatures
from normlint.evaluate.value import AxesOf, Constant, Dtype, Opaque, Product, Shape, Tup, Value
from normlint.text.finding import Span
from normlint.text.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """An argument: its value and its span."""

    value: Value
    span: Span


Arguments: TypeAlias = Args[Given]


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of a call by parameter name; `rest` holds those of a parameter like `*size`.

    A parameter to which an unknown argument may have been passed holds an opaque value, never its default.
    """

    name: str
    span: Span
    values: dict[str, Given]
    rest: tuple[Given, ...] = ()
    unexpected: tuple[str, ...] = ()  # keywords that the function doesn't accept
    surplus: int = 0  # number of positional arguments without a parameter

    def get(self, *names: str) -> Value | None:
        """Return the value of the first of these parameters that was passed; None if none was."""
        for name in names:
            if name in self.values:
                return self.values[name].value
        return None

    def span_of(self, name: str) -> Span:
        given = self.values.get(name)
        return given.span if given else self.span

    def product(self, *names: str) -> Product | None:
        value = self.get(*names)
        return value if isinstance(value, Product) else None

    def axis(self, default: int) -> int | None:
        """Return the argument `dim` as an integer; None if it is unknown or no integer."""
        value = self.get("dim")
        return default if value is None else value.whole

    def flag(self, name: str, default: bool) -> bool | None:
        """Return a Boolean argument; None if it is unknown."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return value.value
        return None

    def dtype(self, default: DType) -> DType:
        """Return the argument `dtype`, which may be `DType.UNKNOWN`."""
        value = self.get("dtype")
        if value is None or (isinstance(value, Constant) and value.value is None):
            return default
        return value.dtype if isinstance(value, Dtype) else DType.UNKNOWN

    def sequence(self, *names: str) -> tuple[Given, ...]:
        """Return the arguments of `*size`, or the one argument that holds them as a tuple."""
        return self.rest or tuple(self.values[name] for name in names if name in self.values)[:1]

    @property
    def products(self) -> tuple[Product, ...]:
        """Return all numbers and tensors among the arguments."""
        given = (*self.values.values(), *self.rest)
        return tuple(g.value for g in given if isinstance(g.value, Product))


Run: TypeAlias = Callable[[Context, Bound], "Value | None"]
OfInput: TypeAlias = Callable[[Context, Bound, Product], "Value | None"]
OPS: Final[dict[str, Run]] = {}


F = TypeVar("F", bound=Callable[..., Any])


def registers(table: dict[str, F]) -> Callable[[str], Callable[[F], F]]:
    """Return a decorator that puts a function into a table, under each of the names that it is given."""

    def under(names: str) -> Callable[[F], F]:
        def register(run: F) -> F:
            table.update(dict.fromkeys(names.split(), run))
            return run

        return register

    return under


op: Final = registers(OPS)


def of_input(names: str, *, tensor: bool = False) -> Callable[[OfInput], Run]:
    """Register the function that evaluates the operations `names` of a number or tensor; of others they are unknown."""

    def register(run: OfInput) -> Run:
        def of_known(ctx: Context, call: Bound) -> Value | None:
            x = call.product("input")
            return run(ctx, call, x) if x is not None and (x.tensor or not tensor) else None

        return op(names)(of_known)

    return register


# --- rows and signatures ---------------------------------------------------------------------------------------------

_METHODS: Final = ("Tensor", "torch", "F", "numpy", "einops")
_LIKE_TORCH: Final = ("numpy", "math", "builtins")  # whose functions have the parameters of torch's
_UNLISTED: Final = "unlisted"


def row(name: str) -> str:
    """Return the row of an operation, which for an in-place one such as sqrt_ may be that of sqrt."""
    bare = name.rstrip("_")
    return bare if name not in OPS and bare in OPS and not name.endswith("__") else name


@lru_cache(maxsize=1024)
def op_name(dotted: str) -> str | None:
    """Return the row for a dotted path, as "vector_norm" for "torch.linalg.vector_norm"; None if there is none."""
    key = key_of(dotted)
    name = row(key.rpartition(".")[2]) if key else ""
    return name if name in OPS else None


@lru_cache(maxsize=1024)
def key_of(dotted: str) -> str | None:
    """Return the key of a function's signature by its dotted path; None if there is none."""
    owner, _, name = dotted.partition(".")
    return signatures.key_of(dotted) or (signatures.key_of(f"torch.{name}") if owner in _LIKE_TORCH else None)


def has_method(name: str) -> bool:
    """Return whether torch's tensors or numpy's arrays have a method of this name."""
    return name in signatures.public("Tensor") or name == "copy"


@lru_cache(maxsize=1024)
def method_key(name: str) -> str:
    """Return the key of a method's signature: the tensor's, else that of a function of the same name."""
    keys = (f"{space}.{name}" for space in _METHODS)
    return next((key for key in keys if signatures.overloads(key)), _UNLISTED)


def bind(name: str, key: str, span: Span, args: Arguments) -> Bound:
    """Bind the arguments of a call of the row `name` to the parameters of the signature `key`."""
    found = signatures.bind(key, args, letter)
    unknown = {name: Given(Opaque(f"unknown {name}"), span) for name in found.unknown if name not in found.values}
    return Bound(name, span, {**found.values, **unknown}, found.star, found.unexpected, found.surplus)


def letter(given: Given) -> str:
    """Return the types that an argument may have as letters of the signatures; empty if unknown."""
    match given.value:
        case Product() as product:
            return _letter(product)
        case Constant(value=value):
            return {bool: "b", str: "s", type(None): "n"}.get(type(value), "")
        case Tup(items=items):
            inner = {letter(Given(item, given.span))[:1] for item in items} or {"i", "T"}
            return "".join({"T": "t", "i": "I", "f": "I"}.get(one, "") for one in inner) if "" not in inner else ""
        case Shape() | AxesOf():
            return "I"
        case Dtype():
            return "d"
    return ""


def _letter(product: Product) -> str:
    if product.tensor:
        sole = product.sole
        return "" if product.dtype is DType.UNKNOWN and sole is not None and isinstance(sole.atom, Apply) else "T"
    number, atom = product.number, product.atom
    if isinstance(atom, Scalar):
        number = None if (atom.default or 0.0).is_integer() else atom.default
    if number is not None:
        return "if" if number.is_integer() else "f"
    return "if" if all(isinstance(f.atom, Size) for f in product.mono.factors) else "ifN"
