"""The kinds of symbolic values that a name can have."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TypeAlias, TypeVar

from normlint.evaluate.dims import Dims
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import NOWHERE, Atom, Factor, Layout, Mono, Param, Scalar, Size, mono_of
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, replace

R = TypeVar("R")


class Kind:
    """Any value; None for what a value of another kind would have."""

    __slots__ = ()

    @property
    def number(self) -> float | None:
        """The value of a constant number."""
        return None

    @property
    def whole(self) -> int | None:
        """The value of a constant integer."""
        return int(self.number) if self.number is not None and self.number.is_integer() else None

    @property
    def length(self) -> Mono | None:
        """A number or a length, which is no tensor."""
        return None

    @property
    def param(self) -> Param | None:
        """The parameter, or newly created tensor, of which the value is a power."""
        return None

    def defined(self, kind: type[R]) -> R | None:  # noqa: ARG002
        """Return the function, class or instance that it is, if that is of this kind."""
        return None


@dataclass(frozen=True, slots=True)
class Product(Kind):
    """A number or a tensor; `alias` names the input whose memory it may share."""

    mono: Mono
    dtype: DType = DType.WEAK
    tensor: bool = False
    layout: Layout = ()
    shape: Dims | None = field(default=None, compare=False)
    alias: str = ""
    span: Span = NOWHERE

    def at(self, span: Span) -> Product:
        """Return the same value with another span."""
        return Product(self.mono, self.dtype, self.tensor, self.layout, self.shape, self.alias, span)

    def of_shape(self, dims: Dims) -> Product:
        """Return the same value with this shape."""
        return Product(self.mono, self.dtype, self.tensor, self.layout, dims, self.alias, self.span)

    def with_atom(self, atom: Atom) -> Product:
        """Return the same value with another atom in its only factor."""
        return replace(self, mono=Mono(1.0, (replace(self.mono.factors[0], atom=atom),)))

    @property
    def number(self) -> float | None:
        return self.mono.coef if not self.mono.factors and not self.tensor else None

    @property
    def length(self) -> Mono | None:
        return None if self.tensor else self.mono

    @property
    def param(self) -> Param | None:
        sole = self.sole
        return sole.atom if sole is not None and isinstance(sole.atom, Param) else None

    @property
    def sole(self) -> Factor | None:
        """The only factor if the coefficient is 1; None for any other product."""
        return self.mono.factors[0] if len(self.mono.factors) == 1 and self.mono.coef == 1 else None

    @property
    def atom(self) -> Atom | None:
        """The atom of the only factor if the coefficient and its power are 1; None for any other product."""
        sole = self.sole
        return sole.atom if sole is not None and sole.power == 1 else None


@dataclass(frozen=True, slots=True)
class Constant(Kind):
    """None, True, False, a string or Ellipsis."""

    value: object


@dataclass(frozen=True, slots=True)
class Tup(Kind):
    """A tuple or list whose items are known."""

    items: tuple[Value, ...]

    @property
    def leaves(self) -> int:
        """The number of values in it, also in tuples one level down."""
        return sum(len(i.items) if isinstance(i, Tup) else 1 for i in self.items)


@dataclass(frozen=True, slots=True)
class Dict(Kind):
    """A dict with constant keys; `more` says that it may hold other keys, too."""

    items: tuple[tuple[object, Value], ...] = ()
    more: bool = False

    def get(self, key: object) -> Value | None:
        """Return the value of a key; None if it isn't known."""
        return dict(self.items).get(key)


@dataclass(frozen=True, slots=True)
class Pieces(Kind):
    """A list, tuple or generator of the parts of a tensor; `item` stands for each of them."""

    item: Value


@dataclass(frozen=True, slots=True)
class Member(Kind):
    """A method of a list or dict, such as `items.append`."""

    receiver: Tup | Dict
    name: str


@dataclass(frozen=True, slots=True)
class Shape(Kind):
    """`x.shape[start:stop]`, with None as in a slice."""

    of: Product
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Dtype(Kind):
    """A torch.dtype like `x.dtype` or `torch.float32`; `of` names the tensor that it was read from."""

    dtype: DType
    of: str = ""


@dataclass(frozen=True, slots=True)
class Path(Kind):
    """An imported name, such as torch.nn.functional.normalize, math.sqrt or .layers.RMSNorm."""

    dotted: str


@dataclass(frozen=True, slots=True)
class AxesOf(Kind):
    """Axes computed from a shape: the last len(normalized_shape) ones, or all axes `of` a tensor."""

    of: Product | None = None


@dataclass(frozen=True, slots=True)
class Method(Kind):
    """A method of a tensor, such as `x.mean`."""

    receiver: Product
    name: str


@dataclass(frozen=True, slots=True)
class Opaque(Kind):
    """An unknown value that is no number or tensor: a module, a function or a context."""

    text: str
    place: Span = NOWHERE
    sizes: tuple[Mono | None, ...] = field(default=(), compare=False)  # of a layer: its constructor's first arguments
    given: object = field(default=None, compare=False)  # of a torch layer: all constructor arguments


@dataclass(frozen=True, slots=True)
class Defined(Kind):
    """A function, class or instance of the text; `ref` is its `FunctionRef`, `ClassRef` or `Instance`."""

    ref: object = field(compare=False)
    text: str = ""

    def defined(self, kind: type[R]) -> R | None:
        return self.ref if isinstance(self.ref, kind) else None


Value: TypeAlias = (
    Product | Constant | Tup | Dict | Pieces | Member | Shape | Dtype | Path | AxesOf | Method | Opaque | Defined
)

MOST_LEAVES = 256
MOST_TEXT = 10_000  # characters of a string


def tup(items: tuple[Value, ...], text: str = "tuple") -> Value:
    """Return a tuple of values; an opaque value if it is large or deeply nested."""
    deep = any(isinstance(j, Tup) for i in items if isinstance(i, Tup) for j in i.items)
    found = Tup(items)
    return Opaque(text) if deep or found.leaves > MOST_LEAVES else found


@lru_cache(maxsize=1024)
def number(value: float, span: Span = NOWHERE) -> Product:
    return Product(Mono(float(value)), span=span)


def of_atom(atom: Atom, dtype: DType, span: Span = NOWHERE, *, tensor: bool = True, alias: str = "") -> Product:
    return Product(mono_of(atom, span), dtype, tensor, span=span, alias=alias)


def scalar(name: str, default: float | None = None, span: Span = NOWHERE) -> Product:
    return of_atom(Scalar(name, default), DType.WEAK, span, tensor=False)


def size_of(x: Product, axis: int | None) -> Product:
    """Return the length of an axis of a tensor as a symbol."""
    return of_atom(Size(Mono(1.0, x.mono.factors), axis, x.layout), DType.WEAK, tensor=False)
