"""Derive what a recognised norm is meant to compute from its analysis, without what is itself the mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Final

from normlint.evaluate.dims import Exact
from normlint.evaluate.monomial import (
    ALL,
    ONE,
    TRAILING,
    Apply,
    Atom,
    Input,
    Layout,
    Mono,
    Offset,
    Param,
    Plus,
    Scalar,
    Stat,
    bears_stat,
)
from normlint.norm.conventions import is_global, is_over_time
from normlint.norm.evidence import is_instance_norm, reduces_samples
from normlint.norm.norm import A_NUMBER, HALF, Computation, Eps, Gain, Norm
from normlint.norm.owner import is_eps
from normlint.norm.recognise import deep_steps
from normlint.rules.count import unbiased_variance
from normlint.rules.epsilon import unused_eps
from normlint.rules.formula import missing_centre
from normlint.rules.reduction import reduction_over_wrong_axis
from normlint.rules.registry import RULES
from normlint.text.finding import Span
from normlint.text.pieces import without_forward
from normlint.verify.job import ADDED, FLOOR_OF_ROOT, FLOOR_OF_SQUARE, OUTSIDE, Meaning
from normlint.verify.names import input_role, is_features

_GAINS: Final = ("weight", "weights", "gamma", "scale", "g", "gain", "a_2")
_SHIFTS: Final = ("bias", "beta", "b_2", "shift")
_ZERO: Final = re.compile(
    r"ada_?(?:ln|layer|rms|norm)|zero_?(?:init|gain|gamma|weight|module)|init_?zero", re.IGNORECASE
)
_CHOICE: Final = re.compile(r"(?:\w+\.)?where\(")  # another factor where the statistic is small, say
_WIDE: Final = re.compile("fp32|float32", re.IGNORECASE)  # the output is meant to stay so
_SHOWN: Final = ("NRM101", "NRM102", "NRM103", "NRM104", "NRM401", "NRM402", "NRM403", "NRM404", "NRM504")
_OF_TOKENS: Final = re.compile("rank of .* == 3$")
_LAST: Final = (-1,)
_TOP: Final = re.compile(r"\n(?=[^\s#)])")  # where a function at the top level ends
_COMPUTED: Final = re.compile(r"[+*(]")  # in the name of an eps
_PAIR: Final = 2  # axes of one swap


def meaning(norm: Norm, text: str) -> Meaning:
    """Return all that the reference may know of `norm`, which was recognised in `text`."""
    c = norm.main
    last = _features_lie_last(norm)
    along = _axis_of_gain(c) if any(reduction_over_wrong_axis(norm)) else None
    own = along or (_LAST if last else axes(c))
    gain = _name(_gains(norm, text))
    return Meaning(
        norm.kind,
        own,
        form(c, norm.kind),
        _eps(norm),
        gain=gain,
        offset=next((g.offset for g in c.gains if g.offset), 0.0),
        shift=_name(_shifts(norm)),
        lenient=not c.explicit_square or norm.owner.intent == "pixel" or _may_be_widened(norm),  # as no rule judges it
        zero_gain=_zero_on_purpose(norm, text),
        rank=_rank(c),
        of_sum=c.statistic.reduce == "sum" and not any(k.inside for k in c.counts),
        filled_later=_filled_later(norm),
        halves=_sees_halves(norm, text),
        axes_read=isinstance(c.statistic.axes, tuple) or c.statistic.axes == ALL,
        elsewhere=() if last else tuple({one: None for c in norm.computations if (one := axes(c)) != own}),
        gain_elsewhere=all(map(_gain_is_elsewhere, norm.computations)),
        eps_computed=any(_COMPUTED.search(e.name) for one in norm.computations for e in one.eps),
        applied=not any(p.name == gain for p in norm.owner.unused_params),
        held=tuple(p.name for p in norm.owner.params if norm.outside_forward or _is_read_besides(norm, p.name, text)),
        partial=c.partial,
        reported=any(True for code in _SHOWN for check in (RULES[code].check,) if check for _ in check(norm)),
    )


def _may_be_widened(norm: Norm) -> bool:
    """Return whether an argument decides if the statistic is computed in fp32."""
    return len({c.statistic.square.wide for c in norm.computations}) > 1


def _sees_halves(norm: Norm, text: str) -> bool:
    """Return whether the norm can take and return fp16 or bf16, with the same eps on every path."""
    if norm.outside_forward:
        return False
    if _WIDE.search(norm.owner.name) or len({tuple(e.value for e in c.eps) for c in norm.computations}) > 1:
        return False
    return any(c.sees_half and not _widened_by_callers(norm, c, text) for c in norm.computations)


def _widened_by_callers(norm: Norm, c: Computation, text: str) -> bool:
    """Return whether this is a function without a cast of its own whose callers cast to fp32."""
    wide = [s for s in deep_steps(c.statistic.inner.factors) if s.op == "cast" and s.dtype is not None and s.dtype.wide]
    behind = _TOP.search(text, norm.span.end)
    own = Span(norm.owner.span.start, behind.start() if behind is not None else len(text))
    return not norm.owner.method and bool(wide) and not any(own.holds(s.span) for s in wide)


def open_question(norm: Norm, text: str) -> str:
    """Return what the text must say before a reference can be chosen, "" for nothing; no rule reports these cases."""
    if norm.owner.intent == "groups":
        return "the groups that are meant"
    if norm.owner.unused_groups is not None:
        return "how many groups are meant: that is stored and never read"
    if len({one.kind for one in norm.computations if one.returned and one.tests}) > 1:
        return "the value of a flag: its paths compute norms of different kinds"
    whole = is_global(norm.owner.name) and all(map(_spans_sample, norm.computations))
    if is_over_time(norm.owner.name) and not whole:
        return "to know over which frames its statistic is meant to be taken"
    if reduces_samples(norm.main) and _gain_is_last(norm.main, norm.main.statistic):
        return "the axes that are meant: whole samples are reduced, and the gain lies along the last axis"
    if any(g.squared for g in norm.main.gains):
        return "the factor that its gain stands for: it is squared"
    stat = norm.main.statistic
    viewed = stat.axes != ALL and any(move[0] == "view" for move in stat.layout)
    if viewed and norm.main.apart and norm.owner.intent not in ("layer", "rms"):
        return "a name that says what is meant: a view of the input is reduced"
    return _open_in_formula(norm, norm.main, text)


def _spans_sample(c: Computation) -> bool:
    """Return whether all axes but the first are reduced, as a global layer norm does: that of channels and of time."""
    stat = c.statistic
    if not isinstance(stat.axes, tuple) or axes(c) != stat.axes:
        return False
    rank = stat.rank or 1 + max(stat.axes) or 1
    return len(stat.axes) > 1 and {axis % rank for axis in stat.axes} == set(range(1, rank))


def _open_in_formula(norm: Norm, c: Computation, text: str) -> str:
    if c.input.factors and all(isinstance(f.atom, Apply) and f.atom.held for f in c.input.factors):
        return "an input: this scales what a layer holds"
    if c.centred[0] != c.centred[1] and norm.owner.intent not in ("layer", "rms") and not any(missing_centre(norm)):
        return "a name that says what is meant: the mean is subtracted on one side only"
    if _gain_is_last(c, c.statistic) and is_instance_norm(norm, c):
        return "a name that says what is meant: each feature has statistics of its own"
    if norm.owner.intent not in ("layer", "rms") and _centred_elsewhere(c) and not any(reduction_over_wrong_axis(norm)):
        return "a name that says what is meant: the mean and the length are of different axes"
    if norm.kind == "l2" and any(map(_is_made_of_a_statistic, c.others)):
        return "a name that says what is meant: something is made of its length"
    if c.shift is not None and c.shift.coef < 0:
        return "the sign of its shift: it is subtracted"
    if c.partial and c.kind == "layer":
        return "what its scale is multiplied with, which has to be centred, too"
    if c.standardises and not any(True for _ in unbiased_variance(norm)):
        return "a name that says what is meant: its variance is unbiased, as that of data"
    chosen = any(s.op == "unknown" and _CHOICE.match(text, s.span.start) for s in c.trail)
    if chosen or any(map(partial(_bounds, c), c.eps)):
        return "a norm: this clips"
    moved = all(move[0] in ("perm", "swap", "move") for move in c.statistic.layout)
    if c.fused and (not moved or c.scaled_before):
        return "an input that goes into torch's own norm as it comes in"
    return _open_in_eps(norm, c) or _open_in_scale(norm, c)


def _open_in_eps(norm: Norm, c: Computation) -> str:
    if len({e.how for e in c.eps if e.value != 0}) > 1:
        return "one eps: this adds one and has a floor as well"
    if c.fused and norm.owner.takes_eps and not any(e.name for e in c.eps) and not any(unused_eps(norm)):
        return "the eps of torch's own norm: the one that is given goes elsewhere"
    if any(is_eps(p.name) and p.role == "parameter" for p in norm.owner.params):
        return "an eps that is a number: this one is learned"
    return ""


def _centred_elsewhere(c: Computation) -> bool:
    """Return whether the mean is of other axes than the statistic, of which neither is of all axes by mistake."""
    axes = (c.statistic.axes, ALL) if c.centre is None else (c.statistic.axes, c.centre.axes)
    return ALL not in axes and axes[0] != axes[1]


def _open_in_scale(norm: Norm, c: Computation) -> str:
    if c.kind == "l2" and norm.owner.intent in ("", "norm") and any(n.power == 1 for n in c.counts):
        return "a name that says what is meant: its length is the number of features"
    if c.kind != "l2" and any(_starts_at_length(g.param) for g in c.gains):
        return "a gain that starts at 1: what this one starts at holds a length"
    scales = [
        n for n in c.counts if n.of_features is None and abs(n.power) == 1 and not n.inside and n.text != A_NUMBER
    ]
    if any(c.statistic.reduce == "mean" or (n.power == 1 and "." in n.text) for n in scales):
        return "the scale that its configuration asks for"
    return ""


def _starts_at_length(param: Param) -> bool:
    """Return whether all elements start at a power of a length of the parameter's own shape."""
    lengths = {f.atom for length in param.shape or () if length is not None for f in length.factors}
    return param.first is not None and any(f.atom in lengths for f in param.first.factors)


def _bounds(c: Computation, e: Eps) -> bool:
    """Return whether a floor is no eps but a bound: a large one, or one that the result is scaled back to."""
    scales = {*(one.name for one in c.others if isinstance(one, Input)), *(g.param.name for g in c.gains)}
    return e.how == "clamp" and not is_eps(e.name) and (e.name in scales or (e.default or 0) >= 1e-2)


def _is_made_of_a_statistic(atom: Atom) -> bool:
    """Return whether a factor is a function of a statistic, as in hyperbolic maps that rescale by the length."""
    inner = [f.atom for a in atom.args if isinstance(a, Mono) for f in a.factors] if isinstance(atom, Apply) else []
    return any(bears_stat(one) or _is_made_of_a_statistic(one) for one in inner)


def _features_lie_last(norm: Norm) -> bool:
    """Return whether the reduced axes are the mistake, by the rule about these, or those of (B, L, D) are the last."""
    if any(c.over_last and any(yes and _OF_TOKENS.match(test) for test, yes in c.tests) for c in norm.computations):
        return True
    one = not any(c.placing.apart for c in norm.computations)
    return one and any(True for _ in reduction_over_wrong_axis(norm))


# --- axes ------------------------------------------------------------------------------------------------------------


def axes(c: Computation) -> tuple[int, ...] | None:
    """Return the axes of the tensor that is passed in, None for normalized_shape's; the last if wrong or unknown."""
    stat = c.statistic
    if stat.axes == TRAILING:
        return _axes_before_layout(stat, _LAST) if stat.layout else None
    if not isinstance(stat.axes, tuple) or _gain_is_last(c, stat) or stat.rank == 1:
        return (_axis_of_gain(c) if stat.axes == ALL else None) or _LAST
    return _axes_before_layout(stat, stat.axes) if stat.layout else stat.axes


def _rank(c: Computation) -> int | None:
    """Return how many axes the input must have, None where neither the axes nor the gain's shape tell."""
    stat = c.statistic
    rows = stat.over.lengths if isinstance(stat.over, Exact) and stat.rank == _PAIR and not c.gains else ()
    if rows and rows[0] is not None and rows[-1] is None:
        return _PAIR  # a sample is flattened, as in `x.view(len(x), -1)`, which leaves a matrix as it is
    if stat.rank is not None or not isinstance(stat.axes, tuple) or len(stat.axes) > 1 or stat.layout:
        return stat.rank if stat.layout == () else _rank_of_swaps(stat)
    axis = stat.axes[0]
    if axis > 0 and _gain_is_last(c, stat) and not stat.default_dim:
        return axis + 1  # it reduces the last one
    lengths = {len(g.param.shape) for g in c.gains if g.param.shape is not None and g.param.axis == "other"}
    return axis + max(lengths) if axis > 0 and max(lengths, default=1) > 1 else None  # (C, 1, 1) meets (B, C, H, W)


def _gain_is_last(c: Computation, stat: Stat) -> bool:
    """Return whether all gains have shape (D,) and so multiply the last axis, whichever axis is reduced."""
    gains = [g for g in c.gains if g.param.shape != (Mono(1.0),)]  # one number lies along no axis
    flat = all(g.param.axis == "last" and (g.param.shape is None or len(g.param.shape) == 1) for g in gains)
    return bool(gains) and flat and stat.layout == ()


def _axis_of_gain(c: Computation) -> tuple[int, ...] | None:
    """Return the axis that gains of shape (1, D, 1, 1) lie on, counted from the end; None if their shapes tell none."""
    shapes = [g.param.shape for g in c.gains]
    long = {tuple(at - len(shape) for at, n in enumerate(shape) if n != Mono(1.0)) if shape else () for shape in shapes}
    axis = next(iter(long), ())
    return axis if len(long) == 1 and len(axis) == 1 and axis != _LAST else None


def _axes_before_layout(stat: Stat, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return where the reduced axes were before the last permutations; a view can't be undone: the last axis then."""
    rank = _rank_of_swaps(stat)
    if rank is not None:
        counted = tuple((move[0], *(p % rank if isinstance(p, int) else p for p in move[1:])) for move in stat.layout)
        there = _undo(counted, tuple(a % rank for a in axes))
        return tuple(-1 if a in (-1, rank - 1) else a for a in there)
    return _undo(stat.layout, axes)


def _rank_of_swaps(stat: Stat) -> int | None:
    """Return the rank, three as a rule, if axes are swapped and reduced that are counted from both ends; else None."""
    swapped = [p for move in stat.layout if move[0] == "swap" for p in move[1:] if isinstance(p, int)]
    mixed = len(swapped) > _PAIR and min(swapped) < 0 <= max(swapped)
    reduced = stat.axes if isinstance(stat.axes, tuple) else ()
    crossed = bool(swapped) and max(swapped) < 0 <= min(reduced, default=-1)
    return stat.rank or max(3, *(p + 1 for p in (*swapped, *reduced))) if mixed or crossed else None


def _undo(layout: Layout, axes: tuple[int, ...]) -> tuple[int, ...]:
    found = axes
    for move in reversed(layout):
        if move[0] in ("perm", "swap"):
            found = tuple(_origin(move, axis) for axis in found)
        elif move[0] == "move" and found == move[2:] and isinstance(move[1], int):
            found = (move[1],)
        else:
            return _LAST
    return found


def _origin(move: tuple[object, ...], axis: int) -> int:
    places = [p for p in move[1:] if isinstance(p, int)]
    if move[0] == "perm":
        return places[axis]
    one, two = places
    # of two adjacent axes, the larger is usually the last: (1, 2) of three, (2, 3) of four
    if axis == two or (axis == -1 and two == one + 1):
        return one
    return two if axis == one else axis


def _gain_is_elsewhere(c: Computation) -> bool:
    """Return whether the last axis or the divisor of its sum has the gain's length, but every gain lies elsewhere."""
    last = c.over_last and c.statistic.layout == () and bool(c.gains) and all(g.param.axis == "other" for g in c.gains)
    counted = any(k.inside and k.of_features is False and not k.length for k in c.counts)
    return last and (c.placing.along_gain is True or (c.placing.along_gain is False and counted))


# --- eps -------------------------------------------------------------------------------------------------------------


def form(c: Computation, kind: str) -> str:
    """Return how eps may soundly enter besides under the root, which is ADDED."""
    e = next((e for e in c.eps if not (e.how == "clamp" and e.default == 0)), None)
    if e is None:
        return FLOOR_OF_ROOT if kind == "l2" else ADDED
    if e.how == "clamp":
        return FLOOR_OF_SQUARE if e.power == 1 else FLOOR_OF_ROOT
    beside_norm = any(step.op == "norm" for step in c.trail)
    return OUTSIDE if e.power == HALF and (beside_norm or kind == "l2") else ADDED


def _eps(norm: Norm) -> float | None:
    """Return the eps if the text fixes it to one value on all paths, else None."""
    found = {next((e.value for e in c.eps if e.value != 0 or e.how != "clamp"), None) for c in norm.computations}
    return found.pop() if len(found) == 1 else None


# --- gains -----------------------------------------------------------------------------------------------------------


def along_features(c: Computation) -> tuple[Gain, ...]:
    """Return the gains along the reduced axes or as long; those for each head or token are no part of the norm."""
    last = c.statistic.axes in ((-1,), TRAILING) and c.statistic.layout == ()
    return tuple(g for g in c.gains if not (last and g.param.axis == "other" and not _has_feature_length(g)))


def _has_feature_length(gain: Gain) -> bool:
    """Return whether the gain has one axis, whose length is named like a number of features."""
    names = [f.atom.name for n in gain.param.shape or () if n for f in n.factors if isinstance(f.atom, Scalar)]
    return len(gain.param.shape or ()) == 1 and len(names) == 1 and is_features(names[0])


def _gains(norm: Norm, text: str) -> Iterator[str]:
    """Yield the names of applied gains, then of parameters that are made as gains but not applied."""
    for c in norm.computations:
        gains = (g.param for g in along_features(c) if g.param.name)
        yield from (p.name for p in gains if not _scalar_by_design(norm, p))
        yield from (name for atom in c.others if isinstance(atom, Plus) for name in _params_in(atom.inner, norm))
    if norm.owner.intent in ("rms", "layer"):  # one that is applied too early
        factors = (f for c in norm.computations for f in c.input.factors if c.returned)
        yield from (f.atom.name for f in factors if isinstance(f.atom, Param) and f.atom.axis == "last")
    yield from (p.name for p in norm.owner.unused_params if p.name in _GAINS or p.init in ("ones", "empty"))
    yield from (p.name for p in norm.owner.plain_gains if p.name in _GAINS)
    yield from _passed(norm, (atom for c in norm.computations for atom in c.others))
    called = norm.qualname.rpartition(".")[2].startswith(("forward", "__call__"))  # other methods are parts of these
    if norm.owner.passes or (called and all(_is_bare(c) for c in norm.computations)):
        yield from (
            p.name
            for p in norm.owner.params
            if p.name in _GAINS and p.role == "parameter" and not _is_read_by_holder(norm, p.name, text)
        )


def _is_read_besides(norm: Norm, name: str, text: str) -> bool:
    """Return whether a parameter is read by what holds an instance, or by another method of the class than forward."""
    own = without_forward(text[slice(*norm.owner.span)])
    return len(re.findall(rf"\bself\.{name}\b", own)) > 1 or _is_read_by_holder(norm, name, text)


def _is_read_by_holder(norm: Norm, name: str, text: str) -> bool:
    """Return whether what holds an instance reads its gain, as `self.norm.weight` to fold it into the next layer."""
    holders = re.findall(rf"\b(\w+)\s*=\s*(?:\w+\.)*{norm.owner.name.rpartition('.')[2]}\(", text)
    return any(re.search(rf"\b{holder}\.{name}\b", text) for holder in holders)


def _passed(norm: Norm, atoms: Iterable[Atom]) -> Iterator[str]:
    """Yield the function's arguments that are plain factors or summands and whose names suggest no role."""
    plain = (atom.name for atom in atoms if isinstance(atom, Input) and not norm.owner.method)
    return (name for name in plain if not input_role(name))


def _is_bare(c: Computation) -> bool:
    """Return whether the computation is the norm of an argument and nothing else, without any gain."""
    return c.returned and not c.gains and not c.others and all(isinstance(f.atom, Input) for f in c.input.factors)


def _shifts(norm: Norm) -> Iterator[str]:
    for c in norm.computations:
        yield from _params_in(c.shift)
        yield from _passed(norm, (f.atom for f in c.shift.factors) if c.shift else ())
    yield from (p.name for p in norm.owner.unused_params if p.name in _SHIFTS or p.init == "zeros")
    yield from (p.name for p in norm.owner.plain_gains if p.name in _SHIFTS)
    yield from (p.name for p in norm.owner.params if norm.owner.passes and p.name in _SHIFTS)


def _params_in(product: Mono | None, norm: Norm | None = None) -> Iterator[str]:
    """Yield the names of the parameters that a shift, or a sum with a number, consists of."""
    for f in product.factors if product else ():
        if isinstance(f.atom, Param) and f.power == Fraction(1) and not (norm and _scalar_by_design(norm, f.atom)):
            yield f.atom.name
        elif isinstance(f.atom, Offset):
            yield from _params_in(f.atom.inner)


def _scalar_by_design(norm: Norm, param: Param) -> bool:
    """Return whether this is a ScaleNorm, which has one gain for all features."""
    single = param.shape is not None and all(n == ONE for n in param.shape)
    return single and norm.owner.intent == "l2" and norm.kind != "l2"


def _name(found: Iterator[str]) -> str:
    """Return the first name that is a dotted path below self or a parameter, and no description; "" if none is."""
    names = (name.removeprefix("self.") for name in found)
    return next((name for name in names if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name)), "")


def _zero_on_purpose(norm: Norm, text: str) -> bool:
    """Return whether the names around the norm tell that its gain starts at zero."""
    return bool(_ZERO.search(norm.qualname) or _ZERO.search(norm.owner.name) or _takes_zero(norm, text))


def _takes_zero(norm: Norm, text: str) -> bool:
    """Return whether the class has a parameter for that: `def __init__(self, dim, zero_init=True)`."""
    name = re.escape(norm.owner.name.split(".")[0])
    head = re.search(rf"class {name}\b.*?def __init__\((.*?)\)\s*(?:->.*?)?:", text, re.DOTALL)
    return bool(head and _ZERO.search(head[1]))


def _filled_later(norm: Norm) -> bool:
    """Return whether the gain's start is the model's choice or not in this text, so that no rule judges it either."""
    gains = [g.param for c in norm.computations for g in c.gains]
    chosen = not norm.judged or any(p.init in ("data", "full", "random") for p in gains)
    return chosen or norm.owner.reinitialised or any(p.init == "empty" and p.name in norm.owner.filled for p in gains)
