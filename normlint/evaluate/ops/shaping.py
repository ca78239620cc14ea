"""Infer the shapes of operations' results; an operation without a rule here gives an unknown shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from normlint.evaluate.context import Context
from normlint.evaluate.dims import DEEPEST, ONE_LONG, SCALAR, Changed, Dims, Exact, Swapped, depth, with_new, without
from normlint.evaluate.monomial import Mono, Param
from normlint.evaluate.ops import resizing
from normlint.evaluate.ops.reductions import axes_of
from normlint.evaluate.ops.table import Bound, Given, registers
from normlint.evaluate.value import Product, Tup, Value
from normlint.text.frozen import replace
from normlint.text.operations import CLASSES

Shaper: TypeAlias = Callable[[Context, Bound, Dims], "Dims | None"]
SHAPERS: Final[dict[str, Shaper]] = {}
shaper: Final = registers(SHAPERS)
# Classes of operations that keep the shape or broadcast their operands; `_RESHAPING` are the exceptions.
_KEEP = ("scaling", "sum", "power", "degree 1", "degree 0", "pointwise", "same", "cast")
_RESHAPING = frozenset(
    "outer ger kron diff cumulative_trapezoid gradient glu one_hot isin bucketize searchsorted cummax cummin frexp "
    "native_dropout view_as_real view_as_complex view_as_real_copy view_as_complex_copy".split()
)
_ALSO_POINTWISE = (
    "flip masked_fill roll tril triu where normalize layer_norm rms_norm group_norm batch_norm instance_norm Parameter "
    "Buffer requires_grad_"
)
POINTWISE: Final = frozenset(" ".join([*(CLASSES[name] for name in _KEEP), _ALSO_POINTWISE]).split()) - _RESHAPING
_VIEWS: Final = frozenset(CLASSES["layout"].split())
# Operations whose result has the shape of the first tensor, whatever the others are.
_FIRST_ALONE = frozenset("type_as to type normalize masked_fill layer_norm rms_norm group_norm batch_norm".split())


def shaped(ctx: Context, call: Bound, value: Value) -> Value:
    """Return the result of an operation with its inferred shape, or with a new unknown one."""
    if isinstance(value, Tup):
        return Tup(tuple(shaped(ctx, call, item) for item in value.items))
    if not isinstance(value, Product) or not value.tensor:
        return value
    dims = _dims(ctx, call, value)
    value = _of_parameter(value) if call.name in _VIEWS else value
    return value.of_shape(ctx.shapes.free(unread=True) if dims is None or depth(dims) > DEEPEST else dims)


def _of_parameter(value: Product) -> Product:
    """Return a view of a parameter that no attribute holds, which is a plain tensor; any other value itself."""
    param = value.param
    if param is None or param.name or param.role != "parameter":
        return value
    return value.with_atom(replace(param, role="tensor"))


def _dims(ctx: Context, call: Bound, value: Product) -> Dims | None:
    param = value.param
    if param is not None and param.shape is not None and call.name not in SHAPERS:
        return Exact(param.shape)
    first = call.get("input", "tensor", "tensors", "data")
    if call.name in SHAPERS:
        run = SHAPERS[call.name]
        return run(ctx, call, ctx.dims(first) if isinstance(first, Product) else SCALAR)
    return _pointwise(ctx, call) if call.name in POINTWISE else None


def outside(ctx: Context, call: Bound, value: Value) -> Value:
    """Return the result of an operation that isn't in `OPS`, with a shape if one can be inferred."""
    return shaped(ctx, call, value) if call.name in SHAPERS or call.name in POINTWISE else value


def _pointwise(ctx: Context, call: Bound) -> Dims | None:
    """Return the broadcast shape of the operands; None if there is no tensor among them."""
    names = ("input",) if call.name in _FIRST_ALONE else tuple(call.values)
    tensors = [v for v in map(call.get, names) if isinstance(v, Product) and v.tensor]
    found: Dims | None = None
    for one in sorted(tensors, key=is_param):
        found = ctx.dims(one) if found is None else joined(ctx, found, one)
    if len(tensors) == 2:
        _record_met(ctx, *tensors)
    return found


def is_param(x: Product) -> bool:
    """Return whether x is a product of parameters only, such as a gain."""
    return x.tensor and bool(x.mono.factors) and all(isinstance(f.atom, Param) for f in x.mono.factors)


def joined(ctx: Context, dims: Dims, other: Product) -> Dims:
    """Return the broadcast shape of two operands; a gain is taken to have no more axes than what it scales."""
    if is_param(other):
        rank = ctx.rank(other)
        if rank is None:
            return dims
        if rank > 1 and ctx.shapes.least(dims) < rank:
            _take_rank_of(ctx, dims, other, rank)
    return ctx.shapes.join(dims, ctx.dims(other))


def _take_rank_of(ctx: Context, dims: Dims, gain: Product, rank: int) -> None:
    """Give inputs the rank of a gain like (1, C, 1, 1), or at least the rank of any other gain."""
    ends = ctx.shapes.axis(ctx.dims(gain), 0), ctx.shapes.axis(ctx.dims(gain), -1)
    if ends == (ONE_LONG, ONE_LONG) and rank > 2:
        ctx.shapes.learn_rank(dims, rank)
    else:
        ctx.shapes.learn_least(dims, rank)


def shaped_operator(ctx: Context, op: str, left: Product, right: Product, value: Value) -> Value:
    """Return the value of `left op right` with its inferred shape."""
    if not isinstance(value, Product) or not value.tensor:
        return value
    if op == "@":
        call = Bound("matmul", value.span, {"input": Given(left, left.span), "other": Given(right, right.span)})
        return shaped(ctx, call, value)
    small, large = sorted((left, right), key=lambda one: one.tensor and not is_param(one))
    dims = joined(ctx, ctx.dims(large), small) if small.tensor else ctx.dims(large)
    _record_met(ctx, left, right)
    return value.of_shape(dims if depth(dims) <= DEEPEST else ctx.shapes.free())


def _record_met(ctx: Context, left: Product, right: Product) -> None:
    """Record the shape of an operand that is combined with a statistic in the other one."""
    for one, other in ((left, right), (right, left)):
        if one.tensor and other.tensor and one.mono.has_stat and not other.mono.has_stat and not is_param(other):
            ctx.shapes.meet(one.mono, ctx.dims(one), ctx.dims(other))


# --- reductions ------------------------------------------------------------------------------------------------------


@shaper("mean nanmean average sum nansum var std var_mean std_mean norm vector_norm vecdot amax amin prod logsumexp "
        "argmax argmin all any median")  # fmt: skip
def reduced(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    given = call.get("dim")
    if call.name == "vecdot" and given is None:
        return without(dims, (-1,))
    axes, keep = axes_of(given, None), call.flag("keepdim", False)
    if keep is None or axes is None or (call.name in ("median", "all", "any") and given is not None):
        return None
    if isinstance(axes, str):
        return SCALAR if axes == "all" and not keep else None
    for axis in axes:
        ctx.shapes.axis(dims, axis)  # records that there is such an axis
    return Changed(dims, tuple((a, ONE_LONG) for a in axes)) if keep else without(dims, axes)


@shaper("matmul mm")
def matmul(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    """Infer the shape of x @ w for a matrix w."""
    other, shapes = call.product("other", "mat2"), ctx.shapes
    if other is None or ctx.rank(other) != 2 or shapes.least(dims) < 2:
        return None
    taken, given = (shapes.axis(ctx.dims(other), i) for i in (0, 1))
    shapes.unite(shapes.axis(dims, -1), taken)
    if is_param(other):
        shapes.learn_features(taken, given)
    return Changed(dims, ((-1, given),))


def layer(ctx: Context, name: str, sizes: tuple[Mono | None, ...], x: Product) -> Dims | None:
    """Return the shape of a layer's result, or None; `sizes` are its first arguments, as (in, out) of nn.Linear."""
    dims, shapes = ctx.dims(x), ctx.shapes
    size = dict(enumerate(sizes))
    if name == "Linear":
        shapes.unite(shapes.axis(dims, -1), size.get(0))
        shapes.learn_features(shapes.axis(dims, -1), size.get(1))
        return Changed(dims, ((-1, size.get(1)),))
    if name == "Embedding":
        shapes.learn_features(size.get(1))
        return Changed(with_new(dims, -1), ((-1, size.get(1)),))
    if name.startswith("Conv") and name[-2:] in ("1d", "2d", "3d"):
        return _convolved(ctx, dims, size, int(name[-2]), moved="Transpose" in name)
    if name in ("LayerNorm", "RMSNorm"):
        shapes.unite(shapes.axis(dims, -1), size.get(0))
        shapes.learn_features(size.get(0))
        return dims
    return dims if name in _KEEPING else None


_KEEPING = frozenset(
    "Dropout Dropout2d Identity GELU SiLU ReLU ReLU6 LeakyReLU ELU Sigmoid Tanh Softmax Mish Softplus PReLU Hardswish "
    "GroupNorm BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d".split()
)


def _convolved(ctx: Context, dims: Dims, size: dict[int, Mono | None], spatial: int, *, moved: bool) -> Dims:
    """Return the shape after a convolution of (B, C, …); the spatial lengths depend on stride and padding: unknown."""
    if spatial > 1:
        ctx.shapes.learn_rank(dims, spatial + 2)
    else:
        ctx.shapes.learn_least(dims, 2)
    ctx.shapes.unite(ctx.shapes.axis(dims, -1 - spatial), size.get(0))
    return Changed(dims, ((-1 - spatial, size.get(1)), *((-1 - i, None) for i in range(spatial))))


# --- layouts ---------------------------------------------------------------------------------------------------------


def _axis(call: Bound, names: str = "dim", default: int | None = None) -> int | None:
    value = call.product(*names.split())
    if value is None:
        return None if any(name in call.values for name in names.split()) else default
    return value.whole


@shaper("unsqueeze")
def unsqueezed(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    at = _axis(call)
    return None if at is None else with_new(dims, at)


@shaper("squeeze")
def squeezed(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    at = _axis(call)
    if at is None or not ctx.shapes.equal(ctx.shapes.axis(dims, at), ONE_LONG):
        return None
    return without(dims, (at,))


@shaper("permute")
def permuted(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    order = resizing.numbers(resizing.sizes(call.sequence("dims")))
    if order is None or sorted(i % len(order) for i in order if -len(order) <= i < len(order)) != [*range(len(order))]:
        return None
    ctx.shapes.learn_rank(dims, len(order))
    return Exact(tuple(ctx.shapes.axis(dims, i % len(order) - len(order)) for i in order))


@shaper("transpose swapaxes swapdims")
def transposed(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    one, two = (_axis(call, names) for names in ("dim0 axis0", "dim1 axis1"))
    return None if one is None or two is None else swapped(ctx, dims, one, two)


def swapped(ctx: Context, dims: Dims, one: int, two: int) -> Dims:
    for axis in (one, two):
        ctx.shapes.axis(dims, axis)
    return dims.base if isinstance(dims, Swapped) and {dims.one, dims.two} == {one, two} else Swapped(dims, one, two)


@shaper("movedim moveaxis")
def moved(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    one, two = _axis(call, "source"), _axis(call, "destination")
    if one is None or two is None:
        return None
    length, rank = ctx.shapes.axis(dims, one), ctx.shapes.rank(dims)
    if rank is None:
        return Changed(ctx.shapes.free(ctx.shapes.least(dims)), ((two, length),))
    if not rank:
        return dims  # a scalar stays a scalar
    left = [i for i in range(rank) if i != one % rank]
    left.insert(two % rank, one % rank)
    return Exact(tuple(ctx.shapes.axis(dims, i - rank) for i in left))


@shaper("view reshape")
def viewed(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    return resizing.viewed(ctx, dims, resizing.sizes(call.sequence("size", "shape")))


@shaper("view_as reshape_as expand_as")
def like(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    other, x = call.product("other"), call.product("input")
    if other is not None and x is not None and call.name == "expand_as":
        joined(ctx, ctx.dims(other), x)
        ctx.shapes.meet(x.mono, dims, ctx.dims(other))
    return ctx.dims(other) if other is not None else None


@shaper("eye")
def identity(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    """Return (n, n) for torch.eye(n); None for any other call."""
    size = call.product("n")
    return Exact((size.mono, size.mono)) if size is not None and not size.tensor and len(call.values) == 1 else None


@shaper("flatten")
def flattened(ctx: Context, call: Bound, dims: Dims) -> Dims | None:
    if resizing.is_from_end(call.product("start_dim")):
        return dims
    start, end = _axis(call, "start_dim", 0), _axis(call, "end_dim", -1)
    return None if start is None or end is None else resizing.flattened(ctx, dims, start, end)


def indexed(ctx: Context, dims: Dims, index: list[str]) -> Dims | None:
    """Return the shape of x[index]; items are "...", ":", "part" (a slice), "one" (an integer), "new" (None) or "?"."""
    if index.count("...") > 1 or "?" in index:
        return None
    cut = index.index("...") if "..." in index else len(index)
    head, tail = index[:cut], index[cut + 1 :]
    result = _indexed_from(ctx, dims, list(reversed(tail)), back=True) if tail else dims
    return _indexed_from(ctx, result, head, back=False)


def _indexed_from(ctx: Context, dims: Dims, items: list[str], *, back: bool) -> Dims:
    """Return the shape after the items of an index, which are counted from one end."""
    old = [item for item in items if item != "new"]
    places = [(-1 - i if back else i, item) for i, item in enumerate(old)]
    for place, _ in places:
        ctx.shapes.axis(dims, place)
    part = tuple((place, None) for place, item in places if item == "part")
    result: Dims = Changed(dims, part) if part else dims
    result = without(result, tuple(place for place, item in places if item == "one"))
    at = 0
    for item in items:
        if item == "new":
            result = with_new(result, -1 - at if back else at)
        at += item != "one"
    return result
