"""Arithmetic on products; sums other than the four known forms give opaque values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from normlint.evaluate.counted import mean_of_nonzero
from normlint.evaluate.dtypes import DType, promote
from normlint.evaluate.monomial import (
    NOWHERE,
    ONCE,
    VARIANCE_AS_DIFFERENCE,
    Abs,
    Apply,
    Atom,
    Centred,
    Factor,
    Mono,
    Offset,
    Param,
    Plus,
    Scalar,
    Shifted,
    Size,
    Stat,
    Step,
    Through,
    bears_stat,
    mono_of,
    positive,
    raised,
    without_sum,
)
from normlint.evaluate.value import Constant, Method, Opaque, Product, Value, number, of_atom
from normlint.text.finding import Span
from normlint.text.frozen import replace

MAX_DEPTH = 24  # deeper opaque values are identified by their place only
HALF = Fraction(1, 2)
TWO = Fraction(2)
INVERSE = Fraction(-1)


def opaque(name: str, args: tuple[object, ...], span: Span, *, pure: bool = True, data: bool = False) -> Product:
    """Return a tensor of which only its origin is known; pure operations on equal values are equal.

    `data` says that it depends on an input tensor; arguments that do imply it.
    """
    monos = [a for a in args if isinstance(a, Mono)]
    deep = max([a.depth for a in monos], default=0) > MAX_DEPTH
    data = data or any(a.has_data for a in monos)
    atom = Apply(name, () if deep else args, span if deep or not pure else NOWHERE, data)
    return of_atom(atom, DType.UNKNOWN, span)


def unknown(name: str, given: Iterable[Value], span: Span) -> Product:
    """Return the result of an unknown operation, which is a statistic if one argument is and no other has data."""
    products = [v for v in given if isinstance(v, Product)]
    kept = _through(name, products, span)
    data = any(p.mono.has_data for p in products)
    return kept if kept is not None else opaque(name, (), span, pure=False, data=data)


def _through(name: str, operands: Sequence[Product], span: Span) -> Product | None:
    """Return the one statistic among the operands under `Through`; None if there isn't one or another has data."""
    bearing = [o for o in operands if o.tensor and is_statistic(o)]
    if len(bearing) != 1 or any(o.mono.has_data for o in operands if o is not bearing[0]):
        return None
    return replace(bearing[0], mono=mono_of(Through(bearing[0].mono, name, span), span), span=span)


def as_product(value: Value, span: Span) -> Product:
    """Return the value as a product; an opaque one if it is neither a number nor a tensor."""
    if isinstance(value, Product):
        return value
    if isinstance(value, Constant) and isinstance(value.value, bool | int | float):
        return number(float(value.value), span)
    if isinstance(value, Method):
        return opaque(f".{value.name}", (value.receiver.mono,), span)
    text = value.text if isinstance(value, Opaque) else type(value).__name__
    return opaque(text, (), span, pure=False)


def apply(name: str, operands: tuple[Product, ...], span: Span) -> Product:
    """Return the result of an elementwise operation without a rule, which keeps the layout of its first tensor."""
    kept = _through(name, operands, span)
    if kept is not None:
        return kept
    result = opaque(name, tuple(o.mono for o in operands), span)
    tensors = [o for o in operands if o.tensor]
    dtype = promoted(operands)
    layout = tensors[0].layout if tensors else ()
    return Product(result.mono, dtype, bool(tensors), layout, span=span)


def is_positive(value: Product) -> bool:
    """Return whether a value is never negative, so that it has a root."""
    return value.mono.coef > 0 and all(positive(f.atom) or f.power % 2 == 0 for f in value.mono.factors)


def is_kept_from_zero(value: Product) -> bool:
    """Return whether a value is a product of powers of statistics, each with an eps."""
    bearing = [f.atom for f in value.mono.factors if bears_stat(f.atom)]
    return is_statistic(value) and bool(bearing) and all(isinstance(a, Plus) and a.eps.coef > 0 for a in bearing)


def promoted(operands: tuple[Product, ...]) -> DType:
    dtype = DType.WEAK
    for o in operands:
        dtype = promote(dtype, o.dtype if o.tensor else DType.WEAK)
    return dtype


def _layout_operand(left: Product, right: Product) -> Product:
    """Return the operand whose layout the result has: a tensor with a statistic, else one that isn't a parameter."""

    def weight(p: Product) -> int:
        bears = any(bears_stat(f.atom) for f in p.mono.factors)
        alone = all(bears_stat(f.atom) or isinstance(f.atom, Param | Size | Scalar) for f in p.mono.factors)
        return 0 if alone or not p.tensor else 1 + bears

    return right if weight(right) > weight(left) else left


def held(value: Product) -> Mono | None:
    """Return the number that all elements of a newly created tensor are; None if there is none."""
    atom = value.atom
    if not isinstance(atom, Param) or atom.name:
        return None
    return None if atom.role != "tensor" else _NUMBERS.get(atom.init) if atom.first is None else atom.first


def constant(value: Product) -> Product:
    """Return a newly created tensor as the number that all its elements are; any other value unchanged."""
    same, atom = held(value), value.atom
    gain = isinstance(atom, Param) and atom.maker in _GAIN_MAKERS and atom.shape
    if same is None or gain:
        return value
    alone = isinstance(atom, Param) and atom.shape == ()  # a scalar tensor promotes like a number
    return replace(value, mono=same, dtype=DType.WEAK if alone else value.dtype)


_NUMBERS = {"ones": Mono(1.0), "zeros": Mono(0.0)}
_GAIN_MAKERS = ("ones", "zeros")  # functions that may create a gain or a bias if they are given a shape


def multiply(left: Product, right: Product, span: Span) -> Product:
    left, right = _with_join_step(constant(left), right), _with_join_step(constant(right), left)
    frame = _layout_operand(left, right)
    mono = _with_square_step(left, right, left.mono.times(right.mono), span)
    shape = frame.shape if left.tensor != right.tensor or left.shape == right.shape else None
    return Product(mono, promoted((left, right)), left.tensor or right.tensor, frame.layout, shape, "", span)


def _with_join_step(one: Product, other: Product) -> Product:
    """Return a number that is combined with a tensor, with a "join" step that keeps the operand's span."""
    if one.tensor or not other.tensor or one.span == NOWHERE:
        return one
    if any(s.op == "join" for f in one.mono.factors for s in f.steps):
        return one
    return replace(one, mono=one.mono.stepped(Step("join", one.span)))


def _with_square_step(left: Product, right: Product, mono: Mono, span: Span) -> Mono:
    """Return the product with a "square" step that keeps the dtype, if both operands are equal."""
    if left.mono != right.mono or not left.tensor:
        return mono
    return mono.stepped(Step("square", span, promoted((left, right))))


def divide(left: Product, right: Product, span: Span) -> Product:
    mean = mean_of_nonzero(left, right)
    if mean is not None:
        return replace(left, mono=mean, span=span)
    right = _with_join_step(constant(right), left)
    if right.sole and isinstance(right.sole.atom, Apply) and right.sole.atom.place != NOWHERE and _lacks_eps(left):
        averaged = _through("/", (left, right), span)  # a division by, for example, the number of processes
        if averaged is not None:
            return averaged
    inverse = power(right, INVERSE, "recip", span)
    if inverse is None:
        return apply("/", (left, right), span)
    return multiply(left, inverse, span)


def power(base: Product, exponent: Fraction, op: str, span: Span) -> Product | None:
    """Return base ** exponent, with the operation as a step of each factor; None if there is no such power."""
    mono = raised(base.mono, exponent, (Step(op, span, base.dtype),))
    return None if mono is None else Product(mono, base.dtype, base.tensor, base.layout, base.shape, "", span)


def negate(value: Product, span: Span) -> Product:
    mono = Mono(-value.mono.coef, value.mono.factors)
    return Product(mono, value.dtype, value.tensor, value.layout, value.shape, "", span)


def absolute(value: Product, span: Span) -> Product:
    if value.number is not None:
        return number(abs(value.number), span)
    if is_positive(value):
        return replace(value, span=span)
    base = Mono(1.0, value.mono.factors)
    atom = of_atom(Abs(base), value.dtype, span, tensor=value.tensor)
    return replace(atom, mono=Mono(abs(value.mono.coef), atom.mono.factors), layout=value.layout)


# --- sums ------------------------------------------------------------------------------------------------------------


def is_statistic(product: Product) -> bool:
    """Return whether a value consists of statistics and counts only, so that an eps may be added to it."""
    factors = product.mono.factors
    return product.mono.has_stat and all(bears_stat(f.atom) or isinstance(f.atom, Size | Scalar) for f in factors)


def is_normlike(product: Product) -> bool:
    """Return whether a value has a statistic and another factor, as the result of a norm has."""
    return product.mono.has_stat and not is_statistic(product)


def is_complete(product: Product) -> bool:
    """Return whether a value may be the result of a norm: two statistics, one with another factor, or a shifted one."""
    mono = product.mono
    if not mono.has_stat:
        return any(isinstance(f.atom, Shifted) and f.atom.inner.has_stat for f in mono.factors)
    return not is_statistic(product) or sum(bears_stat(f.atom) for f in mono.factors) > 1


def add(left: Product, right: Product, span: Span) -> Product:
    left, right = constant(left), constant(right)
    for a, b in ((left, right), (right, left)):
        if b.tensor and b.mono.coef < 0 <= a.mono.coef:
            return subtract(a, negate(b, b.span), span)
    for a, b in ((left, right), (right, left)):
        whole = _difference(b)
        if whole is not None and whole[1] == a.mono:
            return replace(a, mono=whole[0], dtype=promoted((a, b)), alias="", span=span)
        centred = _centred(a, replace(b, mono=whole[1], shape=None), span) if whole is not None else None
        if whole is not None and centred is not None:  # x + (b − mean(x)) is (x − mean(x)) + b
            return add(centred, replace(b, mono=whole[0], shape=None), span)
        found = _known_sum(a, b, span)
        if found is not None:
            return found
    return apply("+", (left, right), span)


def _difference(value: Product) -> tuple[Mono, Mono] | None:
    """Return the operands (p, q) if the product is an opaque difference p − q, else None."""
    match value.atom:
        case Apply(name="-", args=(Mono() as one, Mono() as two)):
            return one, two
    return None


def _known_sum(a: Product, b: Product, span: Span) -> Product | None:
    if a.number is not None and b.number is not None:
        return number(a.number + b.number, span)
    undone = without_sum(a.mono, b.mono)
    if undone is not None:
        return replace(a, mono=undone, dtype=promoted((a, b)), alias="", span=span)
    if not a.tensor and not b.tensor:
        return None
    if b.mono.coef == 0 and (b.tensor or not _lacks_eps(a)):
        return replace(a, dtype=promoted((a, b)), alias="", span=span)
    if is_statistic(a) and (not b.tensor or _may_be_eps(b)):
        scale = _scale(a.mono) if b.number is not None and abs(b.number) >= 0.5 else Mono()
        if scale == Mono():
            return _with_eps(a, b, "add", span)
        inverse = raised(scale, INVERSE, ())  # s/eps + 1 is (s + eps)/eps
        inner, eps = (replace(p, mono=p.mono.times(inverse)) for p in (a, b)) if inverse else (a, b)
        whole = _with_eps(inner, eps, "add", span)
        return replace(whole, mono=whole.mono.times(scale)) if inverse else whole
    distributed = _distributed(a, b, span)
    if distributed is not None:
        return distributed
    if is_normlike(a) and not b.mono.has_stat:
        return _shifted(a, b, span)
    if b.tensor:
        return None
    if b.number is not None and abs(b.number) >= 0.5:
        return _wrapped(a, Offset(b.number, a.mono, span, a.dtype), span)
    return _with_eps(a, b, "add", span)


def _scale(mono: Mono) -> Mono:
    """Return the scalars that scale a mean and can't be a count; 1 for a product without a mean or size."""
    means = any(
        isinstance(f.atom, Size) or (isinstance(f.atom, Stat) and f.atom.reduce == "mean") for f in mono.factors
    )
    return Mono(mono.coef, tuple(f for f in mono.factors if isinstance(f.atom, Scalar))) if means else Mono()


def _lacks_eps(value: Product) -> bool:
    """Return whether a value is a statistic without an eps."""
    return is_statistic(value) and not any(isinstance(f.atom, Plus) for f in value.mono.factors)


def _distributed(a: Product, b: Product, span: Span) -> Product | None:
    """Return a + a·w as a·(1 + w); None for any other sum."""
    if not a.mono.has_stat or len(b.mono.factors) != len(a.mono.factors) + 1:
        return None
    extra = [f for f in b.mono.factors if not any(f.atom == g.atom and f.power == g.power for g in a.mono.factors)]
    if len(extra) != 1 or not isinstance(extra[0].atom, Param) or extra[0].power != 1:
        return None
    gain = Mono(1.0, (extra[0],))
    return replace(a, mono=a.mono.times(mono_of(Offset(1.0, gain, span), span)), dtype=promoted((a, b)), span=span)


def _may_be_eps(b: Product) -> bool:
    """Return whether a value may be an eps, since it depends on no input tensor."""
    known = _is_eps(b) or not any(isinstance(f.atom, Param) for f in b.mono.factors)
    return (known and not b.mono.has_data) or (b.sole is not None and _is_named_item(b.sole.atom))


def _is_named_item(atom: Atom) -> bool:
    """Return whether an atom is an item with a string key like `params["eps"]`, which no tensor has."""
    key = atom.args[-1] if isinstance(atom, Apply) and atom.name == "index" else ()
    return isinstance(key, tuple) and len(key) == 1 and isinstance(key[0], str) and key[0][-1:] in ("'", '"')


def _is_eps(b: Product) -> bool:
    sole = b.sole
    if sole is None:
        return False
    if isinstance(sole.atom, Apply):  # for example self.eps.exp()
        inner = [a for a in sole.atom.args if isinstance(a, Mono)]
        return len(inner) == 1 and _is_eps(replace(b, mono=inner[0]))
    if not isinstance(sole.atom, Param):
        return False
    return "eps" in sole.atom.name.lower() or (sole.atom.shape == () and sole.atom.init == "data")


def _with_eps(base: Product, eps: Product, how: str, span: Span) -> Product:
    return _wrapped(base, Plus(base.mono, eps.mono, how, span, eps.span, base.dtype), span)


def _shifted(base: Product, bias: Product, span: Span) -> Product:
    result = _wrapped(base, Shifted(base.mono, bias.mono, span), span)
    return replace(result, dtype=promoted((base, bias)))


def _wrapped(base: Product, atom: Atom, span: Span) -> Product:
    return Product(mono_of(atom, span), base.dtype, base.tensor, base.layout, base.shape, "", span)


def clamp(base: Product, floor: Product, span: Span) -> Product:
    """Return the base clamped to at least `floor`."""
    rooted = all(f.power.denominator == 2 for f in base.mono.factors)
    if floor.number is not None and floor.number <= 0 and (rooted or is_kept_from_zero(base)):
        return base  # a root is never negative
    return _with_eps(base, floor, "clamp", span)


def subtract(left: Product, right: Product, span: Span) -> Product:
    left, right = constant(left), constant(right)
    if right.mono.coef < 0:
        return add(left, negate(right, right.span), span)
    if right.mono.coef == 0 and right.tensor:
        return replace(left, dtype=promoted((left, right)), alias="", span=span)
    if left.number is not None and right.number is not None:
        return number(left.number - right.number, span)
    detached = any(s.op == "detach" for f in right.mono.factors for s in f.steps)
    if left.mono == right.mono and left.mono.has_data and not detached:
        return replace(left, mono=Mono(0.0), alias="", span=span)
    if is_statistic(left) and (mirrored := _centred(right, left, span)) is not None:
        return negate(mirrored, span)
    whole = _difference(left)
    if whole is not None and whole[0] == right.mono:
        return negate(replace(left, mono=whole[1]), span)
    atom = left.atom
    if isinstance(atom, Plus) and atom.how == "add" and atom.inner == right.mono:
        return Product(atom.eps, right.dtype, tensor=True, span=span)
    centred = _centred(left, right, span) or _one_pass(left, right, span) or _without_offset(left, right)
    if centred is not None:
        return centred
    if is_normlike(left) and not right.mono.has_stat:
        return _shifted(left, negate(right, right.span), span)
    if is_statistic(left) and not right.tensor and _is_small(right):
        return _with_eps(left, right, "subtract", span)
    if not right.tensor and right.number is not None and left.tensor:
        return add(left, negate(right, right.span), span)
    return _minus_one(left, right, span) or apply("-", (left, right), span)


def _without_offset(left: Product, right: Product) -> Product | None:
    """Return (1 + w)·y − y as w·y; None for any other difference."""
    offset = next((f for f in left.mono.factors if isinstance(f.atom, Offset) and f.power == 1), None)
    rest = Mono(left.mono.coef, tuple(f for f in left.mono.factors if f is not offset))
    if offset is None or not isinstance(offset.atom, Offset) or offset.atom.constant != 1 or rest != right.mono:
        return None
    return replace(left, mono=rest.times(offset.atom.inner))


def _is_small(value: Product) -> bool:
    """Return whether a value is an eps by its size or its name."""
    if value.number is not None:
        return 0 < value.number < 1e-2
    sole = value.sole
    return sole is not None and isinstance(sole.atom, Scalar) and "eps" in sole.atom.name.lower()


def _minus_one(left: Product, right: Product, span: Span) -> Product | None:
    """Return d − 1 for a length or scalar d as that atom with `less`; None for any other difference."""
    atom = left.atom
    if left.tensor or right.number != 1 or not isinstance(atom, Size | Scalar) or atom.less:
        return None
    return of_atom(replace(atom, less=True), left.dtype, span, tensor=False)


def _mean_of(mono: Mono, base: Mono) -> Stat | None:
    """Return the statistic if `mono` is the mean of `base` (a mean, or a sum divided by a count), else None."""
    stats = [f for f in mono.factors if isinstance(f.atom, Stat)]
    if len(stats) != 1 or stats[0].power != 1 or len(mono.factors) > 2:
        return None
    assert isinstance(stats[0].atom, Stat)
    stat = replace(stats[0].atom, steps=stats[0].steps)
    if stat.inner != Mono(1.0, base.factors):
        return None
    counts = [f for f in mono.factors if f is not stats[0]]
    if stat.reduce == "mean":
        return stat if not counts and mono.coef == base.coef else None
    count = counts[0].atom if len(counts) == 1 and counts[0].power == -1 else None
    divided = isinstance(count, Size | Scalar) and not count.less
    return stat if divided or (not counts and mono.coef not in (1.0, base.coef)) else None


def _common_factors(left: Mono, right: Mono) -> Mono:
    """Return the product of the factors that both products have."""
    theirs = {(g.atom, g.power) for g in right.factors}
    return Mono(1.0, tuple(f for f in left.factors if (f.atom, f.power) in theirs))


def _without(mono: Mono, common: Mono) -> Mono:
    return Mono(mono.coef, tuple(f for f in mono.factors if not any(f.atom == g.atom for g in common.factors)))


def _centred(left: Product, right: Product, span: Span) -> Product | None:
    if not (left.tensor and right.tensor):
        return None
    common = _common_factors(left.mono, right.mono)
    if common.factors:  # x·s − mean(x)·s is (x − mean(x))·s
        one, two = (replace(p, mono=_without(p.mono, common)) for p in (left, right))
        inner = _centred(one, two, span)
        return None if inner is None else replace(inner, mono=inner.mono.times(common))
    stat = _mean_of(right.mono, left.mono)
    if stat is None:
        return None
    if isinstance(left.atom, Centred):
        return replace(left, span=span)  # the mean of a centred tensor is 0
    result = _wrapped(left, Centred(left.mono, stat, span), span)
    return replace(result, dtype=promoted((left, right)))


def _one_pass(left: Product, right: Product, span: Span) -> Product | None:
    """Return E[x²] − E[x]² as a variance, also with one square missing; None for any other difference."""
    square = _single_stat(left.mono, ONCE)
    mean = _single_stat(right.mono, TWO) or _single_stat(_without_sign(right.mono), ONCE)
    if square is None or mean is None:
        return None
    base, squared = mean.inner, _single_stat(right.mono, TWO) is not None
    whole = squared and square.inner != base
    if square.inner != raised(base, TWO, ()) and (whole or not squared):
        return None
    atom = base.only
    if whole and isinstance(atom, Centred) and atom.stat.axes == mean.axes:
        return replace(left, span=span)  # the mean of a centred tensor is 0
    inner = Mono(1.0, (Factor(Centred(base, mean, span), TWO if whole else ONCE, span=span),))
    spelled = VARIANCE_AS_DIFFERENCE if whole else square.spelled
    counts = _counts_of_sum(left.mono, right.mono, square, mean) if whole else None
    stat = replace(square, inner=inner, spelled=spelled, keepdim=square.keepdim and mean.keepdim, span=span)
    stat = replace(stat, reduce="mean" if counts is None else "sum")
    steps = next(f.steps for f in left.mono.factors if f.atom is square)
    return replace(_wrapped(left, stat, span), mono=Mono(1.0, (Factor(stat, ONCE, steps, span), *(counts or ()))))


def _counts_of_sum(left: Mono, right: Mono, square: Stat, mean: Stat) -> tuple[Factor, ...] | None:
    """Return the counts c of Σx²·c − (Σx)²·c/d, which is c times the sum of (x − E[x])²; None where it is the mean."""
    one, two = (Mono(1.0, tuple(f for f in m.factors if not isinstance(f.atom, Stat))) for m in (left, right))
    apart = [f.power for f in two.times(Mono(1.0, tuple(replace(f, power=-f.power) for f in one.factors))).factors]
    alike = apart == [-1 if mean.reduce == "sum" else 1] and left.coef == right.coef == 1
    return one.factors if alike and square.reduce == "sum" and [f.power for f in one.factors] != [-1] else None


def _without_sign(mono: Mono) -> Mono:
    """Return the product s for |s|, and any other product unchanged."""
    atom = mono.factors[0].atom if len(mono.factors) == 1 and mono.factors[0].power == 1 else None
    return atom.inner if isinstance(atom, Abs) else mono


def _single_stat(mono: Mono, power: Fraction) -> Stat | None:
    found = [f.atom for f in mono.factors if isinstance(f.atom, Stat) and f.power == power]
    rest = [f for f in mono.factors if not isinstance(f.atom, Stat | Size | Scalar)]
    return found[0] if len(found) == 1 and not rest else None
