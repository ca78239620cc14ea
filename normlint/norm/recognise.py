"""Recognise norms: take a product with a statistic of its own input apart into input, eps, counts, gains and so on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations

from normlint.evaluate.attributes import SIZES
from normlint.evaluate.context import Context, Flow
from normlint.evaluate.dims import Shapes
from normlint.evaluate.dtypes import FLOATS, DType
from normlint.evaluate.monomial import (
    ALL,
    NOWHERE,
    ONCE,
    TRAILING,
    Abs,
    Apply,
    Around,
    Atom,
    Centred,
    Factor,
    Input,
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
    bears_data,
    bears_stat,
    mono_of,
    raised,
)
from normlint.evaluate.torch_norms import WEIGHTLESS
from normlint.evaluate.truth import describe
from normlint.norm.norm import A_NUMBER, HALF, QUANTITIES, Computation, Count, Eps, Gain
from normlint.norm.placing import of_features, settled
from normlint.text.finding import Span
from normlint.text.frozen import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Root:
    """The path from a factor down to its statistic, with what was met on the way."""

    stat: Stat
    power: Fraction
    eps: tuple[Eps, ...]
    trail: tuple[Step, ...]
    beside: tuple[Factor, ...]  # other factors on the way, such as counts, with their powers in the product
    coef: float


def computation(flow: Flow, context: Context) -> Computation | None:
    """Return what the product computes if it is a norm of its own input, and None otherwise."""
    mono, shift = without_shift(flow.product.mono)
    bearing = [f for f in mono.factors if bears_stat(f.atom)]
    if len(bearing) > _MOST_STATISTICS:
        return None
    roots = {id(f): _root(f) for f in bearing}
    found = [c for f in bearing if (c := _computation_around(mono, f, roots, flow, context)) is not None]
    if len(found) != 1:
        return None
    own = flow.returned and any(_comes_in(f.atom) for f in found[0].input.factors)
    if found[0].statistic.span in context.wrapped and not own:
        return None  # one step among others, between other layers
    return found[0] if shift is None else replace(found[0], shift=shift)


_MOST_STATISTICS = 8  # most statistics in one product; a norm has one or two


def _comes_in(atom: Atom) -> bool:
    """Return whether an atom is a tensor from outside, also after a dropout, or a sum of tensors without dropout."""
    if isinstance(atom, Apply) and atom.name in WEIGHTLESS:
        return True
    seen, left = set[int](), [atom]  # a sum of sums shares its terms: each is looked at once
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, Input):
            continue
        seen.add(id(one))
        terms = _terms(one)
        tensors = [[f.atom for f in t.factors if bears_data(f.atom)] if isinstance(t, Mono) else [] for t in terms]
        if not all(tensors) or not terms:
            return False  # what a dropout was given isn't known any more: in a sum it may be what other layers make
        left += [a for atoms in tensors for a in atoms]
    return True


def _terms(atom: Atom) -> tuple[object, ...]:
    match atom:
        case Plus(inner=inner):
            return (inner,)
        case Apply(name="+", args=args):
            return args
    return ()


def _has_other_statistic(factors: list[Factor], stat: Stat, roots: dict[int, _Root | None]) -> bool:
    """Return whether the factors hold a second statistic of something else, as in AdaIN or a cosine similarity."""
    known = [roots[id(f)] for f in factors if id(f) in roots]
    return any(r is None or r.stat != stat for r in known) or any(_of_statistic(f.atom) for f in factors)


def entangled(mono: Mono) -> bool:
    """Return whether a product has two statistics of one input, so that neither alone tells what it computes."""
    roots = [_root(f) for f in mono.factors if bears_stat(f.atom)]
    if not 2 <= len(roots) <= _MOST_STATISTICS:
        return False
    stats = {r.stat: _measured(r.stat) for r in roots if r is not None}
    return any(one == two for one, two in combinations(stats.values(), 2))


def _measured(stat: Stat) -> set[Atom]:
    """Return the atoms that a statistic is taken of, without its centre."""
    base = (_degree(stat.inner) or (0, stat.inner))[1]
    return {
        a
        for f in base.factors
        for a in ([g.atom for g in f.atom.base.factors] if isinstance(f.atom, Centred) else [f.atom])
    }


def _of_statistic(atom: Atom) -> bool:
    """Return whether an atom is computed from a statistic alone, such as that of other rows picked by an index."""
    args = [a for a in atom.args if isinstance(a, Mono)] if isinstance(atom, Apply) else []
    return any(a.has_stat and all(bears_stat(f.atom) for f in a.factors) for a in args)


def without_shift(mono: Mono) -> tuple[Mono, Mono | None]:
    """Return the product without what is added to it, and what is added; None if that is nothing."""
    for f in mono.factors:
        if isinstance(f.atom, Shifted) and f.power == 1 and f.atom.inner.has_stat:
            rest = Mono(mono.coef, tuple(g for g in mono.factors if g is not f))
            inner = f.atom.inner
            for step in f.steps:
                inner = inner.stepped(step)
            return inner.times(rest), f.atom.bias
    return mono, None


def _root(factor: Factor) -> _Root | None:
    """Follow a factor through eps, absolute values and unread steps to its one statistic; None if that fails."""
    eps: list[Eps] = []
    trail: list[Step] = list(factor.steps)
    beside: list[Factor] = []
    coef = 1.0
    power = factor.power
    here = factor
    while not isinstance(here.atom, Stat):
        if not isinstance(here.atom, Plus | Abs | Through):
            return None
        inner = here.atom.inner
        bearing = [f for f in inner.factors if bears_stat(f.atom)]
        if len(bearing) != 1:
            return None
        if isinstance(here.atom, Plus):
            eps.append(_eps(here.atom, bearing[0].power))
            trail.insert(0, Step("eps", here.atom.span))
        if isinstance(here.atom, Through):
            trail.insert(0, Step("unknown", here.atom.place))
        beside += [replace(f, power=f.power * power) for f in inner.factors if f is not bearing[0]]
        if inner.coef != 1:
            coef = 0.0
        here = bearing[0]
        trail[:0] = here.steps
        power *= here.power
    return _Root(here.atom, power, tuple(_relative_to_statistic(eps)), tuple(trail), tuple(beside), coef)


def _relative_to_statistic(eps: list[Eps]) -> Iterator[Eps]:
    """Yield each eps with its power relative to the statistic, instead of to the sum in which it was found."""
    power = ONCE
    for e in reversed(eps):
        power *= e.power
        yield e if power == e.power else replace(e, power=power)


def _eps(plus: Plus, power: Fraction) -> Eps:
    sole = plus.eps.only
    value = plus.eps.coef if not plus.eps.factors else None
    first = sole.first if isinstance(sole, Param) and sole.role in ("buffer", "tensor") else None
    held = plus.eps if first is None else first  # what `torch.tensor(eps)` holds
    number = held.only
    default = number.default if isinstance(number, Scalar) else None if held.factors else held.coef
    operation = isinstance(sole, Apply) and sole.name.isidentifier()
    name = "" if sole is None or operation else getattr(sole, "name", "")
    raised = held.factors[0].power if number is sole and isinstance(number, Scalar) else ONCE
    if raised != 1 or (name and held.coef != 1):  # 2 * eps ** 2
        default = None if default is None else held.coef * default ** float(raised)
        name = f"{held.coef:g} * {name} ** {raised}".removeprefix("1 * ").removesuffix(" ** 1")
    return Eps(plus.how, power, value, default, name, plus.dtype, plus.span, plus.eps_span)


def _degree(inner: Mono) -> tuple[int, Mono] | None:
    """Return (2, x) for the square x² and (1, x) for x and |x|, as exponent and base; None for anything else."""
    if not inner.factors:
        return None
    if all(f.power % 2 == 0 for f in inner.factors):
        base = raised(inner, HALF, ())
        return 2, Mono(1.0, tuple(_bare(f) for f in base.factors) if base else ())
    if all(f.power == 1 for f in inner.factors):
        return 1, Mono(1.0, tuple(_bare(f) for f in inner.factors))
    return None


def _of_lengths(mono: Mono) -> bool:
    """Return whether the data in a product are roots of statistics alone, also centred or beside an eps."""
    data = [f for f in mono.factors if bears_data(f.atom)]
    return bool(data) and all(map(_is_length, data))


def _is_length(f: Factor) -> bool:
    if isinstance(f.atom, Stat):
        return f.power == HALF
    inner = f.atom.base if isinstance(f.atom, Centred) else f.atom.inner if isinstance(f.atom, Around) else None
    return inner is not None and _of_lengths(inner)


def _bare(f: Factor) -> Factor:
    if isinstance(f.atom, Abs) and len(f.atom.inner.factors) == 1:
        inner = f.atom.inner.factors[0]
        return replace(inner, power=inner.power * f.power, steps=f.steps)
    return f


def _computation_around(
    mono: Mono, factor: Factor, roots: dict[int, _Root | None], flow: Flow, context: Context
) -> Computation | None:
    root = roots[id(factor)]
    degree = (_degree(root.stat.inner) or (0, root.stat.inner)) if root else None
    if root is None or degree is None or not root.stat.inner.factors or (root.stat.inner.has_stat and degree[0] == 1):
        return None  # a mean of a statistic is a response norm; a pooled tensor has squares like any other
    if _of_lengths(degree[1]):
        return None  # the norm of several vectors' lengths, each of which is a feature
    outside = [f for f in mono.factors if f is not factor]
    matched = _match_input(degree[1], outside) if degree[0] else None
    stray_sum = divisor = NOWHERE
    if matched is None and any(_gain(f) for f in outside):
        degree, matched = _match_mistaken(root, degree, outside)
        stray_sum, divisor = _places_of_mistake(matched[1][0], degree[0]) if matched else (NOWHERE, NOWHERE)
    if matched is None and degree[0] and flow.returned and factor.power != 1 and not _tensors(outside):
        matched = _match_inverse_root(degree[1])
    if matched is None:
        return None
    base, used, centre, centred = matched
    rest = [f for f in outside if not any(f is u for u in used)]
    if _has_other_statistic(rest, root.stat, roots):
        return None
    rest += root.beside
    outer = flow.product.layout == (*root.stat.layout, ("axis", -1))
    gains, sizes, others = _sorted(rest, outer)
    stat, centre = settled(root.stat, context.shapes), centre and settled(centre, context.shapes)
    counts = _counts(sizes, root, gains, mono.coef, context.shapes)
    kind = _kind(root, centred, counts)
    base = base if 1 in (mono.coef, root.coef) else Mono(mono.coef, base.factors)  # x / 255: both have the number
    centre = None if centre is not None and centre.span == root.stat.span else centre
    return Computation(
        kind, stat, degree[0], root.power, base, centre, centred, root.eps, counts, gains, None,
        tuple(f.atom for f in others), root.trail, tuple(deep_steps(used)),
        flow.product.layout == root.stat.layout,
        not used, DType.UNKNOWN if context.vague else context.input_dtype,
        flow.product.dtype, context.possible.get(DType.INPUT, FLOATS),
        context.possible.get(DType.PARAM, FLOATS), flow.returned, flow.grad,
        tuple(context.notes), flow.span, _unread(root, gains, others), stray_sum=stray_sum, divisor=divisor,
    )  # fmt: skip


def _places_of_mistake(first: Factor, degree: int) -> tuple[Span, Span]:
    """Return where a mistaken formula adds a statistic to its input, and where it divides by its input."""
    if first.power < 0:
        return NOWHERE, first.span
    return first.span if degree <= 2 else NOWHERE, NOWHERE


_FILLED_ANYHOW = ("data", "full", "random")


def _unread(root: _Root, gains: tuple[Gain, ...], others: list[Factor]) -> frozenset[str]:
    """Return the quantities of this norm that something unread may change."""
    found: set[str] = set()
    if any(step.op == "unknown" for step in root.trail):
        found.update(QUANTITIES)
    if root.stat.axes is None:
        found.add("axes")
    if any(_may_count(f.atom) for f in others) or any(g.param.init in _FILLED_ANYHOW for g in gains):
        found.add("scale")
    if any(isinstance(f.atom, Plus) for f in others):
        found.update(("power", "scale"))  # a statistic that wasn't read, with its eps
    return frozenset(found)


def _may_count(atom: Atom) -> bool:
    """Return whether an atom may be a number such as √D, as an unread call's result on a tensor may be, too."""
    if not isinstance(atom, Apply):
        return isinstance(atom, Input) or not bears_data(atom)
    inner = [f.atom for a in atom.args if isinstance(a, Mono) for f in a.factors if isinstance(f.atom, Apply)]
    return not atom.data or not atom.args or any(map(_may_count, inner))


def _match_inverse_root(inner: Mono) -> _Match:
    """Match an inverse root that is returned without its input, which may be centred."""
    sole = inner.only
    if isinstance(sole, Centred):
        return sole.base, [], sole.stat, (True, True)
    return inner, [], None, (False, False)


def deep_steps(factors: Iterable[Factor]) -> Iterator[Step]:
    """Yield the steps applied to factors, and to the tensors that centred factors come from."""
    for f in factors:
        yield from f.steps
        if isinstance(f.atom, Centred):
            yield from deep_steps(f.atom.base.factors)


def _tensors(factors: list[Factor]) -> list[Factor]:
    return [f for f in factors if not isinstance(f.atom, Size | Scalar)]


_Match = tuple[Mono, list[Factor], "Stat | None", tuple[bool, bool]]


def _match_input(inner: Mono, outside: list[Factor]) -> _Match | None:
    """Find the statistic's input in the product, where each of both may be centred; None if it isn't there."""
    plain = _find(inner, outside)
    sole = inner.only
    if isinstance(sole, Centred):
        if plain:
            outer = plain[0].atom
            return sole.base, plain, outer.stat if isinstance(outer, Centred) else sole.stat, (True, True)
        bare = _find(sole.base, outside)
        return (sole.base, bare, sole.stat, (True, False)) if bare else None
    if plain:
        return inner, plain, None, (False, False)
    for f in outside:
        if isinstance(f.atom, Centred) and f.power == 1 and f.atom.base.factors and f.atom.base == inner:
            return inner, [f], f.atom.stat, (False, True)
    return None


def _match_mistaken(
    root: _Root, degree: tuple[int, Mono], outside: list[Factor]
) -> tuple[tuple[int, Mono], _Match | None]:
    """Find the input of a mistaken formula: one with another power than the square, another centre, or inverted.

    Return the degree and the base of the statistic, with the match or None.
    """
    inner = root.stat.inner
    under = _find(Mono(1.0, tuple(replace(f, power=-f.power) for f in degree[1].factors)), outside)
    if under is not None and degree[0] == 2 and root.power == -HALF and root.eps:
        return degree, (degree[1], under, None, (False, False))
    powers = {f.power for f in inner.factors}
    power = powers.pop() if len(powers) == 1 else ONCE
    if power > 2 and power.denominator == 1 and power * root.power != -1:  # otherwise a p-norm
        base = Mono(1.0, tuple(replace(f, power=ONCE) for f in inner.factors))
        return (int(power), base), _match_input(base, outside)
    sole = degree[1].only
    if isinstance(sole, Apply) and (sum_ := _sum_with_statistic(sole)) is not None:
        centred = [f for f in outside if isinstance(f.atom, Centred) and f.power == 1 and f.atom.base == sum_[0]]
        return degree, (sum_[0], centred, sum_[1], (False, True)) if centred else None
    base = sole.base if isinstance(sole, Centred) else degree[1]
    for f in outside:
        other = _sum_with_statistic(f.atom) if isinstance(f.atom, Apply) and f.power == 1 else None
        if other is not None and other[0] == base and (isinstance(sole, Centred) or degree[0] == 1):
            return degree, (base, [f], other[1], (isinstance(sole, Centred), False))
        mean = _root(f) if f.power == 1 and bears_stat(f.atom) and isinstance(sole, Centred) else None
        if mean is not None and mean.stat.inner == base and mean.power == 1 and mean.eps:
            return degree, (base, [f], mean.stat, (True, False))
    return degree, None


def _sum_with_statistic(atom: Apply) -> tuple[Mono, Stat] | None:
    """Return a tensor and its statistic if a sum joins the two, as in x + mean(x) or x − var(x)."""
    pair = [a for a in atom.args if isinstance(a, Mono)] if atom.name in ("+", "-") else []
    for base, other in (pair, pair[::-1]) if len(pair) == 2 else ():
        stat = other.factors[0].atom if len(other.factors) == 1 and other.factors[0].power == 1 else None
        inner = stat.inner.factors[0].atom if isinstance(stat, Stat) and len(stat.inner.factors) == 1 else None
        if isinstance(stat, Stat) and (stat.inner == base or (isinstance(inner, Centred) and inner.base == base)):
            return base, stat
    return None


def _find(base: Mono, outside: list[Factor]) -> list[Factor] | None:
    """Return the factors of `base` among `outside`, with the same powers; None if one is missing."""
    found = [f for b in base.factors for f in outside if f.atom == b.atom and f.power == b.power]
    return found if found and len(found) == len(base.factors) else None


def _sorted(rest: list[Factor], outer: bool) -> tuple[tuple[Gain, ...], list[Factor], list[Factor]]:
    """Sort factors into (gains, counts, others); in an outer product, what lies along the added axis is no gain."""
    gains: list[Gain] = []
    sizes: list[Factor] = []
    others: list[Factor] = []
    for f in rest:
        gain = _gain(f)
        if gain is not None and not (outer and gain.param.axis == "last"):
            gains.append(gain)
        elif isinstance(f.atom, Size | Scalar):
            sizes.append(f)
        else:
            others.append(f)
    return tuple(gains), sizes, others


def _gain(f: Factor) -> Gain | None:
    if isinstance(f.atom, Param) and not f.atom.is_neutral:
        cast = next((s for s in f.steps if s.op == "cast"), None)
        return Gain(f.atom, None, f.power, f.span, cast=cast, squared=any(s.op == "square" for s in f.steps))
    if isinstance(f.atom, Offset | Plus) and len(f.atom.inner.factors) == 1:
        inner = f.atom.inner.factors[0].atom
        if isinstance(inner, Param) and isinstance(f.atom, Offset):
            return Gain(inner, f.atom.constant, f.power, f.span, f.atom.dtype)
    summands = (f.atom.inner.factors, f.atom.eps.factors) if isinstance(f.atom, Plus) else ()
    for added in summands:  # w + a number that isn't known
        if all(summands) and len(added) == 1 and isinstance(added[0].atom, Param) and added[0].power == 1:
            return Gain(replace(added[0].atom, init=""), float("nan"), f.power, f.span)
    return None


def _counts(
    sizes: list[Factor], root: _Root, gains: tuple[Gain, ...], coef: float, shapes: Shapes
) -> tuple[Count, ...]:
    lengths = {describe(s) for g in gains for s in (g.param.shape or ()) if s is not None and s.factors}
    inside = {id(f) for f in root.beside}
    ratio, sizes = _ratio(sizes)
    beside = len(sizes) > 1 and any(isinstance(f.atom, Size) and f.atom.axis is None for f in sizes)
    stat, found = settled(root.stat, shapes), list(ratio)
    for f in sizes:  # x.numel() / B is a product of lengths
        known = None if beside else _of_features(f.atom, stat, lengths, shapes)
        words, length = describe(mono_of(f.atom)), isinstance(f.atom, Size)
        less = isinstance(f.atom, Size | Scalar) and f.atom.less
        found.append(Count(words, f.power, known, f.span, id(f) in inside, less, length, f.operands))
    if coef != 1 or root.coef != 1:
        found.append(Count(A_NUMBER, ONCE, None, NOWHERE))
    return tuple(found)


def _ratio(sizes: list[Factor]) -> tuple[tuple[Count, ...], list[Factor]]:
    """Read `norm.numel() / x.numel()` as one over the feature count; also return the sizes that are left."""
    whole = [f for f in sizes if isinstance(f.atom, Size) and f.atom.axis is None]
    reduced = [f for f in whole if isinstance(f.atom, Size) and f.atom.of.has_stat]
    inputs = [f for f in whole if f not in reduced]
    if len(reduced) != 1 or len(inputs) != 1 or reduced[0].power != -inputs[0].power:
        return (), sizes
    rest = [f for f in sizes if f is not reduced[0] and f is not inputs[0]]
    return (Count("numel ratio", inputs[0].power, True, inputs[0].span),), rest


def _of_features(atom: Atom, stat: Stat, lengths: set[str], shapes: Shapes) -> bool | None:
    """Return whether a count is the length of the reduced axes; None if that isn't known."""
    if isinstance(atom, Size | Scalar) and atom.less:
        return None
    whole = of_features(mono_of(atom), stat, shapes)
    if whole is not None:
        return whole
    if isinstance(atom, Scalar):
        return True if atom.name in lengths or atom.name.rsplit(".", 1)[-1].lower() in SIZES else None
    assert isinstance(atom, Size)
    if all(isinstance(f.atom, Param) for f in atom.of.factors):
        return True  # the length of the gain
    reduced = {f.atom for f in stat.inner.factors}
    if any(isinstance(f.atom, Apply) and (atom.axis is None or f.atom not in reduced) for f in atom.of.factors):
        return None  # such as the elements that aren't zero, or a part that may have only features
    if atom.axis is None:
        return stat.axes == ALL or (None if stat.rank == 1 else False)
    if stat.axes in (ALL, TRAILING):
        return None
    if not isinstance(stat.axes, tuple) or len(stat.axes) != 1:
        return None
    if atom.axis == stat.axes[0]:
        return True
    same_sign = (atom.axis < 0) == (stat.axes[0] < 0)
    return False if same_sign or (atom.axis == 0 and stat.axes[0] == -1) else None


def _is_root(c: Count) -> bool:
    """Return whether a count is the square root of a number with a name, which can only be a length."""
    return c.of_features is None and c.power == HALF and c.text.replace(".", "").replace("_", "").isalnum()


def _kind(root: _Root, centred: tuple[bool, bool], counts: tuple[Count, ...]) -> str:
    """Return the kind of norm; a sum divided by a count before the power is a mean, whatever the count is."""
    if any(centred):
        return "layer"
    if root.stat.reduce == "mean" or root.coef != 1:
        return "rms"
    known = {c.text for c in counts if c.inside or c.of_features or _is_root(c)}
    powers = [sum((c.power for c in counts if c.text == text), Fraction(0)) for text in known]
    return "rms" if -root.power in (*powers, sum(powers)) else "l2"
