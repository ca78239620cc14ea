"""Call a norm: choose the values of its further inputs, and pick the normalised tensor out of what it returns."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice, product
from typing import Any, Final

from torch import Tensor

from normlint.verify.assembly.construct import USUAL_EPS
from normlint.verify.assembly.instance import Live
from normlint.verify.assembly.layout import Layout
from normlint.verify.names import SURE_GAINS, input_role
from normlint.verify.subject import CannotBuildError

LARGE: Final = 64.0  # silu, gelu, relu of it are 64 itself, and sigmoid is 1, exactly and in every dtype
SILU_OF_ONE: Final = 1.27846454  # silu of it is 1
MOST: Final = 40


@dataclass(frozen=True, slots=True)
class Value:
    """The value that one further input is given.

    `kind`: the shape of a tensor filled with `number` (like, batch, rows, flat, scalar); number, count, none; gain or
    shift, after "wide " broadcast to the input and after "batch " to (B, D); features, shape, eps, axis. `divide`: the
    factor by which it scales the output.
    """

    kind: str
    number: float = 0.0
    divide: float = 1.0


@dataclass(frozen=True, slots=True)
class Call:
    """How to call the norm.

    `pick`: the path to the normalised tensor in what is returned. `partial`: that is only the factor for the input.
    """

    layout: Layout
    values: tuple[tuple[str, Value], ...] = ()
    guessed: tuple[str, ...] = ()  # inputs whose neutral value only the output can tell
    input: str = ""  # passed by this name; "" as the first
    pick: tuple[Any, ...] = ()
    partial: bool = False
    others: float | None = None  # what parameters other than the gain and shift are filled with; None: left as made

    @property
    def divide(self) -> float:
        """Return the factor by which the further inputs scale the output."""
        return math.prod((value.divide for _, value in self.values), start=1.0)

    def takes(self, kind: str) -> bool:
        """Return whether a further input is given a value of this kind."""
        return any(value.kind.endswith(kind) for _, value in self.values)

    def returned(self, live: Live, inner: Tensor) -> Any:
        """Call the norm with an input in its own layout, and return all that it returns."""
        named = {name: made(value, inner, self.layout, live) for name, value in self.values}
        if self.input:
            return live.target(**{self.input: inner}, **named)
        return live.target(inner, **named)

    def run(self, live: Live, x: Tensor) -> Tensor:
        """Return the norm of `x`, both with features last; TypeError if the result is no tensor."""
        inner = self.layout.into(x)
        version = inner._version  # noqa: SLF001
        y = picked(self.returned(live, inner), self.pick)
        if inner is not x and inner._version != version:  # noqa: SLF001
            x.copy_(self.layout.back(inner))
        if not isinstance(y, Tensor):
            raise TypeError(f"it returns {type(y).__name__}, no tensor")
        y = (y * inner).to(inner.dtype) if self.partial else y
        y = y / self.divide if self.divide != 1 else y
        return self.layout.restored(y, inner)


def made(value: Value, x: Tensor, layout: Layout, live: Live) -> Any:
    """Return the argument that `value` stands for, beside an input `x` in the norm's layout."""
    d = x.shape[min(layout.axes)]
    tensors: dict[str, tuple[int, ...]] = {
        "like": tuple(x.shape),
        "batch": (x.shape[0], d),
        "rows": tuple(x.shape[:-1]),
        "flat": (d,),
        "scalar": (),
    }
    if value.kind in tensors:
        return x.new_full(tensors[value.kind], value.number)
    plain: dict[str, Any] = {
        "none": None,
        "number": value.number,
        "count": int(value.number),
        "gain": live.gain,
        "shift": live.shift,
        "features": d,
        "shape": tuple(x.shape[axis] for axis in layout.axes),
        "eps": USUAL_EPS if live.eps is None else live.eps,
        "axis": layout.axes if len(layout.axes) > 1 else layout.axes[0],
    }
    way, _, what = value.kind.rpartition(" ")
    if way == "wide":
        return layout.wide(plain[what], x.dim())
    return plain[what].expand(x.shape[0], d) if way == "batch" else plain[what]


def picked(out: Any, path: tuple[Any, ...]) -> Any:
    """Return the part of a result that a path of keys, indices and attributes leads to."""
    for step in path:
        out = getattr(out, step) if isinstance(step, str) and not isinstance(out, Mapping) else out[step]
    return out


def tensors_in(out: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Yield each tensor in what a norm returned, after the path to it."""
    if isinstance(out, Tensor):
        yield path, out
    elif len(path) > 2:
        return
    elif isinstance(out, Mapping):
        for key, value in out.items():
            yield from tensors_in(value, (*path, key))
    elif isinstance(out, (tuple, list)):
        for i, value in enumerate(out):
            yield from tensors_in(value, (*path, i))
    elif is_dataclass(out):
        for field in fields(out):
            yield from tensors_in(getattr(out, field.name), (*path, field.name))


def calls(target: Callable[..., Any], job_input: str, named: Mapping[str, str], layout: Layout) -> Iterator[Call]:
    """Yield the calls to try. `named`: the roles of parameters that are known from the text, such as the gain."""
    found = list(inspect.signature(target).parameters.values())
    found = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not found:
        yield Call(layout)
        return
    first = job_input in ("", found[0].name) or job_input not in {p.name for p in found}
    rest = found[1:] if first else [p for p in found if p.name != job_input]
    tried: set[Call] = set()
    for filled in (False, True):
        for shape in ("like", "batch", "flat", "scalar"):
            way = _Way(named, layout, shape, filled)
            rows = {p.name: options for p in rest if (options := way.options(p))}
            guessed = tuple(p.name for p in rest if way.guesses(p))
            for chosen in islice(product(*rows.values()), MOST):
                values = tuple((n, v) for n, v in zip(rows, chosen, strict=True) if v is not None)
                call = Call(layout, values, guessed, "" if first else job_input)
                if call not in tried:
                    tried.add(call)
                    yield call
            if not guessed:
                break


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to fill the further inputs: the shape of conditions, and whether to fill those with a default, too."""

    named: Mapping[str, str]
    layout: Layout
    shape: str
    filled: bool

    def role(self, p: inspect.Parameter) -> str:
        return self.named.get(p.name) or input_role(p.name)

    def guesses(self, p: inspect.Parameter) -> bool:
        """Return whether it is required, and only the output can tell which value leaves the norm unchanged."""
        unnamed = p.default is inspect.Parameter.empty and p.name not in self.named and not _is_shape(p)
        return unnamed and self.role(p) in ("gate", "scale", "condition", "")

    def options(self, p: inspect.Parameter) -> list[Value | None]:
        """Return the values to try for a parameter, None standing for its default; [] to leave it out."""
        role = self.role(p)
        if p.default is inspect.Parameter.empty or p.name in self.named:
            return [*_values(role, p, self.shape, self.layout)]
        if role == "eps":
            return [Value("eps")]
        if p.default is None and p.name.lower() in SURE_GAINS:
            return [*_values("gain", p, self.shape, self.layout), None]
        if role == "axis" and isinstance(p.default, int) and not self.layout.plain:
            return [Value("axis"), None]
        if self.filled and p.default is None and role:
            return [*_values(role, p, self.shape, self.layout), None]
        return []


def _values(role: str, p: inspect.Parameter, shape: str, layout: Layout) -> list[Value]:
    ways = ["", "batch "] if layout.plain else ["", "wide ", "batch "]
    table: dict[str, list[Value]] = {
        "eps": [Value("eps")],
        "axis": [Value("axis"), Value("features")],
        "shape": [Value("shape"), Value("features")],
        "features": [Value("features")],
        "residual": [Value("like"), Value("none")],
        "mask": [Value("none"), Value("rows", 1.0), Value("like", 1.0)],
        "gate": [
            Value("none"),
            Value("like"),  # before what would round an input that it is added to
            Value("like", LARGE, LARGE),
            Value("like", LARGE),
            Value("like", 1.0),
            Value("like", SILU_OF_ONE),
        ],
        "scale": [Value(shape), Value(shape, 1.0), Value("number"), Value("number", 1.0), Value("none")],
        "gain": [Value(f"{way}gain") for way in ways],
        "shift": [*(Value(f"{way}shift") for way in ways), Value(shape)],
        "condition": [Value(shape), Value("none"), Value(shape, 1.0)],
    }
    return table.get(role) or _by_annotation(p, shape)


def _kind(p: inspect.Parameter) -> str:
    return p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", str(p.annotation))


def _is_shape(p: inspect.Parameter) -> bool:
    kind = _kind(p).lower().removeprefix("typing.").removeprefix("torch.")
    return kind.startswith(("list[int", "tuple[int", "sequence[int", "size"))


def _by_annotation(p: inspect.Parameter, shape: str) -> list[Value]:
    kind = _kind(p)
    if kind.startswith("bool"):
        return [Value("count", 0), Value("count", 1)]
    if kind.startswith("int"):
        return [Value("features"), Value("count", 1)]
    if kind.startswith("float"):
        return [Value("number", 1.0), Value("number", 0.0)]
    if _is_shape(p):
        return [Value("shape"), Value("features")]
    if kind.startswith(("str", "callable", "Callable")):
        raise CannotBuildError(f"a value for {p.name}")
    return [Value("none"), Value(shape), Value(shape, 1.0)]
