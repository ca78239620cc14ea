"""Evaluate einsum and matrix products: x with itself is a sum of squares, with a constant a sum, with diag(w) w·x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from normlint.evaluate import algebra
from normlint.evaluate.context import Context
from normlint.evaluate.dims import ONE_LONG
from normlint.evaluate.monomial import NOWHERE, Apply, Atom, Layout, Mono, Size
from normlint.evaluate.ops.reductions import reduce
from normlint.evaluate.ops.shapes import with_axis
from normlint.evaluate.ops.table import Bound, Given, of_input, op
from normlint.evaluate.origins import MOST_OPERANDS
from normlint.evaluate.value import Constant, Product, Tup, Value, number
from normlint.text.finding import Span
from normlint.text.frozen import replace

Lettered: TypeAlias = "tuple[Product, str]"  # a tensor and a letter for each axis; a leading dot stands for any axes
_FIRST: Final = ("input", "self", "mat1", "batch1", "a")
_SECOND: Final = ("other", "mat2", "vec", "vec2", "weight", "y", "b", "tensor", "batch2")


# --- by letters ------------------------------------------------------------------------------------------------------


def contracted(ctx: Context, call: Bound, operands: Sequence[Lettered], out: str) -> Product | None:
    """Return the product of tensors with a letter for each axis, summed over the letters that `out` lacks; or None.

    A tensor that holds one number everywhere is a factor; the operands that it is contracted with are summed.
    """
    if len(operands) > MOST_OPERANDS:
        return None
    scale, parts = Mono(), []
    for at, (x, letters) in enumerate(operands):
        same = algebra.held(x)
        if same is None:
            others = out + "".join(theirs for i, (_, theirs) in enumerate(operands) if i != at)
            parts.append(_sum_own_axes(ctx, call, x, letters, others) if len(operands) > 1 else (x, letters))
        else:
            scale = scale.times(same)
    whole = max((letters for _, letters in parts), key=len, default="")
    mixed = len({x.mono for x, _ in parts}) > 1 and not set(whole) <= set(out)  # a product of two tensors, summed
    if not parts or mixed or not all(_fits(letters, whole) for _, letters in parts):
        return None
    product = _aligned(*parts[0], whole)
    for x, letters in parts[1:]:
        product = algebra.multiply(product, _aligned(x, letters, whole), call.span)
    total = _sum_missing(ctx, call, product, whole, out)
    return total and replace(total, mono=total.mono.times(scale))


def _places(letters: str, wanted: set[str]) -> list[int]:
    return [i - len(letters) for i, letter in enumerate(letters) if letter in wanted]


def _summed(ctx: Context, call: Bound, x: Product, axes: Sequence[int], *, keepdim: bool = False) -> Product:
    named = Tup(tuple(number(float(axis)) for axis in axes))
    values = {"dim": Given(named, call.span), "keepdim": Given(Constant(keepdim), NOWHERE)}
    return reduce(ctx, replace(call, values=values), x, "sum")


def _sum_own_axes(ctx: Context, call: Bound, x: Product, letters: str, others: str) -> Lettered:
    """Return the operand summed over the axes that only it has, and its remaining letters."""
    alone = set(letters) - set(others) - {"."}
    left = "".join(letter for letter in letters if letter not in alone)
    return (_summed(ctx, call, x, _places(letters, alone)), left) if alone else (x, letters)


def _fits(letters: str, whole: str) -> bool:
    """Return whether the axes come in the order of the longest operand."""
    rest = iter(whole)
    ordered = all(letter in rest for letter in letters)
    return ordered and (letters[:1] == ".") == (whole[:1] == ".")


def _aligned(x: Product, letters: str, whole: str) -> Product:
    """Return the operand; if it is a statistic, with an axis of length 1 for each letter of `whole` that it lacks."""
    missing = set(whole) - set(letters) if algebra.is_statistic(x) else set()
    for place in _places(whole, missing):
        x = with_axis(x, place)
    return x


def _sum_missing(ctx: Context, call: Bound, product: Product, whole: str, out: str) -> Product | None:
    """Return the product summed over the letters that `out` lacks, with keepdim for a letter of a constant; or None."""
    gone, new = set(whole) - set(out), set(out) - set(whole)
    left = "".join(letter for letter in whole if letter in out)
    if "." in gone or (left != out and not new):
        return None
    if not new:
        return _summed(ctx, call, product, _places(whole, gone)) if gone else product
    keeps = len(gone) == len(new) == 1 and out.replace(min(new), min(gone)) == whole
    return _summed(ctx, call, product, _places(whole, gone), keepdim=True) if keeps else None


@op("einsum")
def einsum(ctx: Context, call: Bound) -> Value | None:
    """Evaluate einsum; `einsum("...d,...d->...", x, x)` is a sum of squares."""
    given = [g.value for g in call.rest]
    equation = next((str(v.value) for v in given if isinstance(v, Constant)), "")
    operands = [v for g in given for v in (g.items if isinstance(g, Tup) else (g,)) if isinstance(v, Product)]
    scaled = _scaled(equation, operands[0], operands[1], call) if len(operands) == 2 else None
    if scaled is not None:
        return scaled
    left, arrow, out = equation.replace(" ", "").replace("...", ".").partition("->")
    sides = left.split(",")
    plain = all("." not in side[1:] and len(set(side)) == len(side) for side in (*sides, out))
    if not arrow or not plain or len(sides) != len(operands) or not all(x.tensor for x in operands):
        return None
    return contracted(ctx, call, list(zip(operands, sides, strict=True)), out)


def _scaled(equation: str, x: Product, gain: Product, call: Bound) -> Product | None:
    """Return x scaled by a gain along one axis, as by `einsum("b c ..., c -> b c ...", x, g)`; None otherwise."""
    left, _, out = equation.replace(" ", "").partition("->")
    one, _, two = left.partition(",")
    if len(one) < len(two):
        one, two, x, gain = two, one, gain, x
    param = gain.param
    if one != out or len(two) != 1 or two not in one or param is None:
        return None
    if not one.endswith(two):
        gain = gain.with_atom(replace(param, axis="other"))
    return algebra.multiply(x, replace(gain, layout=()), call.span)


# --- products of matrices --------------------------------------------------------------------------------------------


def _operands(call: Bound) -> tuple[Product, Product] | None:
    one, two = call.product(*_FIRST), call.product(*_SECOND)
    return (one, two) if one is not None and two is not None and one.tensor and two.tensor else None


@op("vecdot")
def vecdot(ctx: Context, call: Bound) -> Value | None:
    """Evaluate `vecdot` over the last axis of a tensor with itself or with a constant."""
    pair = _operands(call)
    if pair is None or call.axis(-1) != -1:
        return None
    return contracted(ctx, call, [(x, ".k") for x in pair], ".") if _is_sum(*pair) else None


def _is_sum(x: Product, y: Product) -> bool:
    """Return whether the operands are equal or one holds one number everywhere, so that their product is a sum."""
    return x.mono == y.mono or algebra.held(x) is not None or algebra.held(y) is not None


@op("dot vdot inner")
def dot(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the product of two vectors; `inner` of tensors with more axes is a matrix product and unknown."""
    pair = _operands(call)
    if pair is None or not _is_sum(*pair):
        return None
    if pair[0].mono != pair[1].mono:
        return _with_constant(ctx, call, *pair)
    if call.name == "inner" and ctx.rank(pair[0]) != 1:
        return None
    x = algebra.multiply(*pair, call.span)
    return _summed(ctx, call, x, [-1], keepdim=True)  # one number, which broadcasts


@op("matmul mm bmm mv linear")
def matmul(ctx: Context, call: Bound) -> Value | None:
    """Evaluate a matrix product without a bias, as `contract` does."""
    pair = _operands(call)
    return None if pair is None or call.get("bias") is not None else contract(ctx, *pair, call)


@op("tensordot")
def tensordot(ctx: Context, call: Bound) -> Value | None:
    """Evaluate the product with a constant over the last axis of the one operand and the first of the other."""
    pair, dims = _operands(call), call.product("dims")
    return _with_constant(ctx, call, *pair) if pair and dims and dims.number == 1 else None


def contract(ctx: Context, x: Product, y: Product, call: Bound) -> Product | None:
    """Return x·xᵀ of a row as a sum of squares, x @ diag(w) as w·x, and x @ constant as a sum; None otherwise."""
    scale = _diagonal_of(y)
    if scale is not None:
        return algebra.multiply(x, scale, call.span)
    if ctx.shapes.axis(ctx.dims(x), -1) == ONE_LONG == ctx.shapes.axis(ctx.dims(y), -2) and x.mono != y.mono:
        return algebra.multiply(x, y, call.span)
    base = _row_and_column(ctx, x, y) if x.mono == y.mono else None
    if base is None:
        return _with_constant(ctx, call, x, y)
    square = algebra.multiply(base, base, call.span)
    return replace(_summed(ctx, call, square, [-1], keepdim=True), layout=(*base.layout, ("axis", -1)))


def _with_constant(ctx: Context, call: Bound, x: Product, y: Product) -> Product | None:
    """Return the matrix product with a vector or matrix that holds one number everywhere; None for any other y."""
    if algebra.held(y) is None:
        return None
    rank = ctx.rank(y)
    if rank == 1:
        return contracted(ctx, call, [(x, ".k"), (y, "k")], ".")
    letters = "nk" if call.name in ("linear", "inner") else "kn"
    return contracted(ctx, call, [(x, ".k"), (y, letters)], ".n") if rank == 2 else None


def _row_and_column(ctx: Context, row: Product, column: Product) -> Product | None:
    """Return the tensor that one operand holds as rows and the other as columns; None if there is none."""
    ends = [x.layout[-1] if x.layout else () for x in (row, column)]
    if row.layout[:-1] == column.layout[:-1] and _side_by_side(*ends):
        return replace(row, layout=row.layout[:-1], shape=None)
    one, two = (ctx.shapes.axis(ctx.dims(x), axis) for x, axis in ((row, -2), (column, -1)))
    base = replace(row, layout=_unviewed(row.layout), shape=None)
    if one != ONE_LONG or two != ONE_LONG or _unviewed(column.layout) != base.layout:
        return None
    lengths = ctx.shapes.axis(ctx.dims(row), -1), ctx.shapes.axis(ctx.dims(base), -1)
    return base if ctx.shapes.equal(*lengths) else None


def _unviewed(layout: Layout) -> Layout:
    while layout and layout[-1][0] in ("view", "axis"):
        layout = layout[:-1]
    return layout


def _side_by_side(row: tuple[object, ...], column: tuple[object, ...]) -> bool:
    """Return whether the row has an added axis before its last axis, and the column one after it."""
    if row[:1] != ("axis",) or column[:1] != ("axis",) or not isinstance(row[1], int) or not isinstance(column[1], int):
        return False
    return column[1] == row[1] + 1 and column[1] in (-1, 2, 3)


def _diagonal_of(y: Product) -> Product | None:
    """Return the vector w of a matrix diag(w); None for any other matrix."""
    sole = y.sole
    if sole is None or not isinstance(sole.atom, Apply) or sole.atom.name not in ("diag", "diag_embed"):
        return None
    monos = [a for a in sole.atom.args if isinstance(a, Mono)]
    return Product(monos[0], y.dtype, tensor=True, span=y.span) if len(sole.atom.args) == 1 and monos else None


def at_sign(ctx: Context, x: Product, y: Product, span: Span) -> Product:
    """Return the value of `x @ y`."""
    found = contract(ctx, x, y, Bound("matmul", span, {})) if x.tensor and y.tensor else None
    return found or algebra.apply("@", (x, y), span)


# --- pooling ---------------------------------------------------------------------------------------------------------


@of_input("avg_pool1d")
def pooled_whole(ctx: Context, call: Bound, x: Product) -> Value | None:
    """Evaluate pooling with one window as long as the last axis as a mean with keepdim."""
    window = call.product("kernel_size")
    size = window.sole.atom if window is not None and window.sole else None
    whole = isinstance(size, Size) and size.axis == -1 and {f.atom for f in size.of.factors} == _atoms(x)
    if not whole or set(call.values) - {"input", "kernel_size"}:
        return None
    values = {"dim": Given(number(-1.0), call.span), "keepdim": Given(Constant(True), NOWHERE)}
    return reduce(ctx, replace(call, values=values), x, "mean")


def _atoms(x: Product) -> set[Atom]:
    return {f.atom for f in x.mono.factors}
