"""Evaluate functions over several values, such as sum, map, zip and functools.reduce, and operators as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, cast

from normlint.evaluate import algebra, containers, subscripts
from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args
from normlint.evaluate.monomial import NOWHERE, Apply, Mono
from normlint.evaluate.objects import Partial
from normlint.evaluate.ops import measured, pieces, worlds
from normlint.evaluate.ops.table import Arguments, Given
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    Constant,
    Defined,
    Dict,
    Method,
    Opaque,
    Path,
    Pieces,
    Product,
    Shape,
    Tup,
    Value,
    number,
    scalar,
    tup,
)
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine


def operator_of(name: str) -> tuple[str, bool] | None:
    """Return the operator of a special method and whether its operands are swapped: ("*", True) for `__rmul__`."""
    bare = name[2:-2] if name.startswith("__") and name.endswith("__") else ""
    for word, swapped in ((bare, False), (bare[1:] if bare[:1] == "r" else "", True)):
        if word in s.OPERATORS:
            return s.OPERATORS[word], swapped
    return None


def call(m: Machine, dotted: str, args: Arguments, span: Span) -> Value | None:
    """Return the value of a call of one of these functions with known arguments; None for any other call."""
    owner, _, name = dotted.partition(".")
    if args.rest or args.more:
        return None
    values = [given.value for given in args.positional]
    bare = name.removeprefix("Tensor.").strip("_")
    sign = s.OPERATORS.get(bare) or (s.OPERATORS.get(bare[1:]) if name.startswith("i") else None)
    if sign and len(values) == 2 and (owner == "operator" or name.startswith("Tensor.__")):
        from normlint.evaluate.expressions import binary

        return binary(m, sign, values[0], values[1], span)
    handler = _FUNCTIONS.get(dotted)
    found = handler(m, values, args, span) if handler and values else None
    run = _PYTHON.get(dotted)
    return _by_python(m, run, values, args, span) if found is None and run is not None else found


# --- functions of Python that are run on the values ------------------------------------------------------------------

MOST_ITEMS: Final = 64
_PYTHON: Final[dict[str, Callable[..., Any]]] = {
    **{f"builtins.{f.__name__}": f for f in (map, filter, zip, enumerate, reversed, iter, sorted)},
    **{f"itertools.{f.__name__}": f for f in (accumulate, chain, islice, pairwise)},
    "functools.reduce": functools.reduce, "builtins.max": max, "builtins.min": min, "itertools.repeat": repeat,
    "builtins.next": lambda items, *rest: next(iter(items), *rest),
}  # fmt: skip


def _by_python(
    m: Machine, run: Callable[..., Any], values: Sequence[Value], args: Arguments, span: Span
) -> Value | None:
    """Return the result of running a function on known items; None if it needs something unknown."""
    try:
        given = [_to_python(m, value, span) for value in values]
        if run in (map, filter, functools.reduce):
            given[0] = _as_function(m, values[0], span)
        result = run(*given, **{name: _to_python(m, g.value, span) for name, g in args.keywords.items()})
        return _from_python(result)
    except (TypeError, ValueError, IndexError, StopIteration, AttributeError):
        return _of_lengths(m, run, values, span)


def _of_lengths(m: Machine, run: Callable[..., Any], values: Sequence[Value], span: Span) -> Value | None:
    """Return the length that a function selects from a shape of unknown rank, found by numbers in several sizes."""
    shape = next((v for v in values if isinstance(v, Shape)), None)
    if shape is None:
        return None
    try:
        seen = worlds.worlds(m.ctx)
        given = [[w.value(v) if isinstance(v, Shape) else _to_python(m, v, span) for v in values] for w in seen]
        return worlds.as_length(m.ctx, seen, shape.of, [_from_python(run(*one)) for one in given])
    except (*worlds.FAILS, StopIteration):
        return None


def _to_python(m: Machine, value: Value, span: Span) -> Any:
    """Return a value for Python's functions: a list, a number, a constant, a function, or else the value itself."""
    items = items_of(m, value)
    if items is not None:
        return [_to_python(m, item, span) if isinstance(item, Tup) else item for item in items]
    if value.number is not None:
        return value.number if value.whole is None else value.whole
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Defined | Path | Method):
        return _as_function(m, value, span)
    return value


def _as_function(m: Machine, function: Value, span: Span) -> Callable[..., Value]:
    return lambda *given: m.call(function, Args(tuple(Given(_from_python(one), span) for one in given)), span)


def _from_python(result: Any) -> Value:
    """Return a result of Python's functions as a value."""
    if isinstance(result, bool | str | None):
        return Constant(result)
    if isinstance(result, int | float):
        return number(float(result))
    if isinstance(result, Iterator | list | tuple):
        return tup(tuple(_from_python(one) for one in islice(result, MOST_ITEMS)))
    return cast("Value", result)


def items_of(m: Machine, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a loop over a value; None if they aren't known."""
    match value:
        case Tup(items=items):
            return items
        case Dict(items=held, more=False):
            return tuple(containers.of_key(key) for key, _ in held)
        case Shape(of=of, start=start, stop=stop):
            rank = m.ctx.rank(of)
            first, last = start or 0, 0 if stop is None else stop
            if rank is not None and rank > 0:
                places = range(rank)[start:stop]
            elif (first < 0 and last <= 0) or (first >= 0 and last > 0):
                places = range(first, last)
            else:
                return None
            return tuple(subscripts.size(m, Shape(of), at) for at in places)
    return None


def several(value: Value) -> Value:
    """Return the value of `tuple(value)`, which for an unknown number is an opaque tuple."""
    return Opaque("tuple") if isinstance(value, Product) and not value.tensor else value


def product(items: Sequence[Value]) -> Product:
    """Return the product of all items."""
    result = number(1.0)
    for item in items:
        one = algebra.as_product(item, NOWHERE)
        result = one if result.number == 1 else algebra.multiply(result, one, one.span)
    return result


def _sum(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Return the value of Python's `sum(…)`; None if the items aren't known numbers and tensors."""
    one = pieces.each(m.ctx, values[0], span)
    start = [*values[1:], *(g.value for name, g in args.keywords.items() if name == "start")]
    items = items_of(m, values[0])
    if isinstance(one, Product):
        total: Value | None = pieces.summed(m.ctx, one, span)
        if total is None:
            made = replace(algebra.opaque("sum of parts", (), span, pure=False, data=True), dtype=one.dtype)
            total = measured.note(m.ctx, "builtins.sum", {"input": values[0]}, made)
        items = None if total is None else (total,)
    products = [item for item in (*start, *(items or ())) if isinstance(item, Product)]
    if not items or len(products) < len(items) + len(start):
        return None
    if len(products) > 1 and products[0].number == 0:
        products = products[1:]
    total = products[0]
    for item in products[1:]:
        total = algebra.add(total, item, span)
    return total


def _prod(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate `math.prod` of known items as their product, else as an unknown number."""
    items = items_of(m, values[0])
    known = items and all(isinstance(i, Product) for i in items)
    return product(items) if items and known else scalar(m.module.source(span)[:80])


def _reduce(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate functools.reduce(f, items, start) over the parts of a tensor as a sum; None if it is none."""
    one = pieces.each(m.ctx, values[1], span) if 1 < len(values) < 4 else None
    start = values[2] if len(values) > 2 else number(0.0)
    if one is None or not isinstance(start, Product):
        return None
    mark = so_far(start, span, "")
    after = m.call(values[0], Args((Given(mark, span), Given(one, span))), span)
    return added_up(m, start, after, mark, one, span)


def so_far(value: Product, span: Span, name: str) -> Product:
    """Return a placeholder for the value of a name before an iteration of a loop."""
    return replace(algebra.opaque(f"so far {name}", (), span, pure=False), dtype=value.dtype)


def added_up(m: Machine, start: Product, after: Value, mark: Product, one: Value, span: Span) -> Product | None:
    """Return the total after a loop that adds something of each part of a tensor to `mark`; None if it doesn't."""
    sole = after.sole if isinstance(after, Product) else None
    args = sole.atom.args if sole and isinstance(sole.atom, Apply) and sole.atom.name == "+" else ()
    rest = [a for a in args if a != mark.mono]
    if not isinstance(after, Product) or len(args) != 2 or len(rest) != 1 or not isinstance(rest[0], Mono):
        return None
    layout = one.layout if isinstance(one, Product) else ()
    dtype = one.dtype if isinstance(one, Product) else after.dtype
    total = pieces.summed(m.ctx, replace(after, mono=rest[0], layout=layout, dtype=dtype), span)
    if total is None or algebra.constant(start).mono.coef == 0:
        return total
    return algebra.add(start, total, span)


def _map(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate a map over the parts of tensors, as in map(f, x.chunk(2))."""
    part = _parts_of(m, values[1:], span)
    return None if part is None else Pieces(m.call(values[0], Args(tuple(Given(v, span) for v in part)), span))


def _parts_of(m: Machine, values: list[Value], span: Span) -> tuple[Value, ...] | None:
    """Return the items of a simultaneous loop over the parts of several tensors; None if one isn't known."""
    found = [pieces.each(m.ctx, value, span) for value in values]
    return tuple(v for v in found if v is not None) if found and None not in found else None


def _zip(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    part = _parts_of(m, values, span)
    return None if part is None else Pieces(Tup(part))


def _extreme(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate max or min with unknown values as an unknown number; None if all are known."""
    items = (items_of(m, values[0]) if len(values) == 1 else None) or values
    if args.keywords or all(v.number is not None for v in items):
        return None
    return scalar(f"{m.module.source(span)[:3]}({', '.join(map(describe, values))})")


def _vmap(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate torch.vmap(f, in_dims, out_dims) as a partial function."""
    given = [args.keywords.get(name) for name in ("in_dims", "out_dims")]
    dims = [values[i] if len(values) > i else one.value if one else number(0.0) for i, one in enumerate(given, 1)]
    return Defined(Partial(Path("torch.vmap.called"), Args(tuple(Given(v, span) for v in (values[0], *dims)))), "vmap")


def _call_vmapped(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate a call of a vmapped function along the first axis; None for any other axis."""
    function, dims, out, *tensors = values
    axes = dims.items if isinstance(dims, Tup) else [dims] * len(tensors)
    parts = [pieces.rows(m.ctx, v, span) if a.number == 0 else v for v, a in zip(tensors, axes, strict=False)]
    whole = isinstance(dims, Product) or any(isinstance(a, Product) and a.number != 0 for a in axes)
    if out.number != 0 or None in parts or (whole and dims != number(0.0)):
        return None
    one = m.call(function, Args(tuple(Given(v, span) for v in parts if v is not None)), span)
    again = pieces.stacked_again(one)
    if again is not None or not isinstance(one, Product):
        return again
    made = replace(algebra.opaque("vmap", (one.mono,), span, pure=False, data=True), dtype=one.dtype)
    return measured.note(m.ctx, "stack", {"tensors": Pieces(one)}, made)


def _broadcast(m: Machine, values: list[Value], args: Arguments, span: Span) -> Value | None:
    """Evaluate torch.broadcast_tensors(a, b) as its tensors."""
    return tup(tuple(values)) if all(isinstance(v, Product) for v in values) else None


_FUNCTIONS: dict[str, Callable[[Machine, list[Value], Arguments, Span], Value | None]] = {
    "builtins.sum": _sum, "builtins.map": _map, "builtins.zip": _zip,
    "builtins.max": _extreme, "builtins.min": _extreme, "functools.reduce": _reduce, "math.prod": _prod,
    "numpy.prod": _prod, "torch.vmap": _vmap, "torch.func.vmap": _vmap, "torch.vmap.called": _call_vmapped,
    "torch.broadcast_tensors": _broadcast,
}  # fmt: skip
