"""Decide whether a computation is a norm over features: by its name, a learned gain, or a returned last axis."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from normlint.evaluate.monomial import ALL, Apply, Atom, Centred, Mono, Param, Stat, Through, bears_data, leaves
from normlint.evaluate.ops.lengths import FROBENIUS
from normlint.evaluate.truth import describe
from normlint.norm.conventions import AGAINST
from normlint.norm.norm import A_NUMBER, HALF, Computation, Norm, Owner

_NORMS = ("rms", "layer", "l2", "norm", "pixel")
_PLAUSIBLE = {Fraction(p) for p in ("-1/2", "1/2", "-1", "1", "-1/4", "-2")}


def is_feature_norm(c: Computation, owner: Owner) -> bool:
    """Return whether names, gains, axes and the power say that a computation is a norm over features."""
    unused = owner.unused_eps is not None or bool(owner.unused_params)
    whole = owner.makes(c) and (unused or (owner.module and c.kind == "rms"))
    named = owner.intent in _NORMS or whole or _means_features(c, owner)
    written = bool(c.gains) and all(_stands_in_text(g.param) for g in c.gains)
    signs = written and c.power != -HALF  # the inverse of a quaternion, say
    gain = (c.scaled and not signs) or _protected(c, owner)
    if owner.intent == "other" or owner.running or c.power not in _PLAUSIBLE:
        return False
    arrays = any(isinstance(f.atom, Apply) and f.atom.name.startswith("numpy.") for f in c.input.factors)
    if arrays or any(s.op == "numpy" for s in c.input_steps) or _of_its_gradient(c):
        return False  # nobody trains through it
    if _is_undone(c, owner) or _clips(c, owner) or _of_weights(c) or _is_level(c) or _mixed_spread(c, owner):
        return False
    matrix = c.statistic.spelled == FROBENIUS
    if c.over_everything and (c.statistic.masked or owner.graph or matrix):  # all nodes of one graph
        return False
    if owner.intent == "groups":
        return _is_of_groups(c, owner)
    if c.degree != 2 and not ((named or gain) and _meant_squares(c, owner)):
        return False
    if "power" in c.unread and owner.intent not in ("rms", "layer", "norm"):
        return False  # x times some function of its mean square may be a gate
    if c.partial and not (named and c.power == -HALF and c.returned):
        return False
    if c.kind != "l2" and not gain and _is_of_data(c, owner):
        return False
    if _standardises(c, named, gain, owner):
        return False
    if c.power != -HALF and not (named or gain):
        return False
    return (_is_meant_whole if c.over_everything else _over_features)(c, owner, named, gain)


def _is_of_groups(c: Computation, owner: Owner) -> bool:
    """Return whether a module, or a function with a gain, returns a whole formula of a tensor as it comes in.

    Functions that are called so scale rewards and images by their groups, too.
    """
    whole = c.kind == "layer" and c.degree == 2 and c.power == -HALF and all(c.centred)
    alone = (owner.module or bool(c.gains)) and c.grad and not AGAINST.search(owner.name)
    apart = c.centre is not None and c.centre.axes != c.statistic.axes
    return whole and alone and not apart and c.returned and not c.input.has_stat


def _of_its_gradient(c: Computation) -> bool:
    """Return whether it is the gradient of a norm, or what that is relevant for."""
    return any(isinstance(a, Centred) and a.base != c.input for a in c.others)


def _is_of_data(c: Computation, owner: Owner) -> bool:
    """Return whether the names of the input and of what holds the norm say that rewards, images or sound are scaled."""
    if owner.intent == "rms":
        return owner.method and not owner.module and bool(AGAINST.search(owner.name))
    return owner.intent in ("", "norm") and bool(AGAINST.search(f"{owner.name} {describe(c.input)[:40]}"))


def _is_undone(c: Computation, owner: Owner) -> bool:
    """Return whether the norm is undone later, as in RevIN: mean and deviation are kept or multiplied back."""
    scaled = bool(c.gains) or (owner.intent in ("rms", "layer") and not c.standardises)
    return owner.brought_back or (owner.keeps and not c.over_last) or (owner.undone and not scaled)


def _clips(c: Computation, owner: Owner) -> bool:
    """Return whether it only shrinks large values, as x / max(1, rms) and x / sqrt(1 + x²) do."""
    squashes = (c.kind == "l2" or not c.gains) and owner.intent not in ("rms", "layer")
    hows = ("clamp", "add") if squashes else ("clamp",)
    return any(e.how in hows and e.value is not None and e.value >= 1 for e in c.eps)


def _is_level(c: Computation) -> bool:
    """Return whether a root mean square is brought to a given level, in decibels, say, without a learned gain."""
    recording = c.kind == "rms" or (c.kind == "layer" and c.statistic.axes == ALL)  # which may be centred as a whole
    if c.gains or not recording or c.statistic.reduce != "mean" or c.protected:
        return False
    names = [n.text.replace(".", "") for n in c.counts if n.of_features is None and n.power == 1]
    asked = any(name.isidentifier() or name == A_NUMBER for name in names)
    powers = (a.args[0] for a in c.others if isinstance(a, Apply) and a.name == "**")
    return asked or any(isinstance(base, Mono) and not base.factors for base in powers)


def _mixed_spread(c: Computation, owner: Owner) -> bool:
    """Return whether it is centred along one axis and divided by the deviation of a flattened tensor."""
    folded = c.statistic.layout != () and c.statistic.rank != 1 and not c.layout_matches
    plain = c.centre is not None and c.centre.layout == () and c.centre.axes != c.statistic.axes
    return folded and plain and owner.intent in ("", "norm")


def _of_weights(c: Computation) -> bool:
    """Return whether a parameter itself is normalised, or an L2 norm is taken of parameters alone."""
    atoms = list(leaves(c.input) if c.kind == "l2" else _inside(c.input))
    params = [a for a in atoms if isinstance(a, Param)]
    whole = c.kind == "l2" or len(params) == len(atoms)
    data = c.input.has_data if c.kind == "l2" else any(map(bears_data, atoms))
    return bool(params) and whole and not data and all(p.role != "tensor" for p in params)


def _inside(mono: Mono) -> Iterator[Atom]:
    """Yield the atoms of a product and, in the place of statistics and of differences from them, the atoms of these."""
    for f in mono.factors:
        if isinstance(f.atom, Stat | Through):
            yield from _inside(f.atom.inner)
        else:
            yield f.atom


def _meant_squares(c: Computation, owner: Owner) -> bool:
    """Return whether a mean of x, |x| or x − mean stands in for one of squares, as in a function named for a norm."""
    if any(c.centred):  # the mean of |x − mean| without a root is another norm
        return c.power == -HALF or (owner.intent == "layer" and c.scaled and c.power in (HALF, -HALF * HALF))
    if owner.intent == "rms":
        return c.power in (-HALF, Fraction(-1))
    return (c.scaled or _protected(c, owner)) and c.power == -HALF


def _protected(c: Computation, owner: Owner) -> bool:
    """Return whether an eps shows that an inverted norm, or one without its square or its root, is meant as a norm."""
    kept = c.protected and c.statistic.keepdim and c.statistic.axes != ALL and c.returned and not c.others
    if c.degree == 1 or c.power == HALF:
        return kept and abs(c.power) == HALF
    return kept and owner.module and c.kind != "l2" and -HALF != c.power < 0


def _means_features(c: Computation, owner: Owner) -> bool:
    """Return whether a statistic of everything is meant for features, by its centre or a length of the module."""
    apart = c.centre is not None and c.centre.axes != ALL and (c.centred[0] or not c.is_length)
    given = owner.module and c.kind == "rms" and any(n.of_features is None and n.power == HALF for n in c.counts)
    return c.over_everything and (apart or given)


def _standardises(c: Computation, named: bool, gain: bool, owner: Owner) -> bool:
    """Return whether it is (x − mean) / std of data, not of features."""
    folded = c.statistic.layout != ()  # an image's axes in a view, say
    if folded and not (c.layout_matches or named or gain) and c.kind == "layer":
        return True
    if c.standardises and not named and _is_written(c):
        return True
    if gain or c.kind != "layer" or c.statistic.biased:
        return False
    if c.over_last and not folded:
        return owner.intent in ("", "norm")
    return not named or owner.intent in ("norm", "l2")  # a name that data's normalisation has, too


def _is_written(c: Computation) -> bool:
    """Return whether the input is made of literal numbers, such as the rewards in an example."""
    atoms = [f.atom for f in c.input.factors]
    return bool(atoms) and all(map(_stands_in_text, atoms))


def _stands_in_text(atom: Atom) -> bool:
    return isinstance(atom, Param) and atom.init == "data"


def _is_meant_whole(c: Computation, _: Owner, named: bool, gain: bool) -> bool:
    """Return whether a statistic of everything may be one of features by mistake."""
    if not named and c.tests and not c.returned:
        return False  # one of the ways in which a block of layers scales its input
    return ((named or gain) and c.kind != "l2") or (named and gain)


def _over_features(c: Computation, owner: Owner, named: bool, gain: bool) -> bool:
    """Return whether the axes may be those of the features, by the name and the gain."""
    axes = c.statistic.axes
    named = named or _gain_says_features(c)
    if axes == ALL or axes is None or isinstance(axes, str):
        return True
    if axes == (-1,):
        return True
    if len(axes) > 1:
        if c.fused and named and c.placing.over_tokens:
            return True
        by_name = owner.intent == "rms" and not owner.method and -1 in axes  # rms_norm(x, weight)
        meant = gain_is_last(c) or c.placing.apart or by_name
        return named and gain and (meant or not _are_spatial(axes, c.statistic.rank, owner))
    first = axes[0] == 0 or (c.kind != "l2" and axes[0] == -(c.statistic.rank or 0))
    if first or axes[0] < -4:
        return named and gain
    return named or gain or c.kind == "l2"


def _gain_says_features(c: Computation) -> bool:
    """Return whether an RMS norm, or one centred apart, reduces another axis than its gain's, which nobody means."""
    learned = bool(c.gains) and all(g.param.role == "parameter" for g in c.gains)
    axes = c.statistic.axes if isinstance(c.statistic.axes, tuple) else ()
    unmeant = c.kind == "rms" or c.placing.apart
    return learned and unmeant and c.power == -HALF and gain_is_last(c) and (-1 in axes or len(axes) == 1)


def gain_is_last(c: Computation) -> bool:
    """Return whether a gain has the shape (D,), or is part of one: then the features are last."""
    last = (g.param for g in c.gains if g.param.axis == "last")
    return any(len(p.shape) == 1 if p.shape is not None else p.is_part for p in last)


def lies_elsewhere(c: Computation) -> bool:
    """Return whether several axes with the last among them are reduced, and all gains lie along another one."""
    axes = c.statistic.axes
    several = isinstance(axes, tuple) and len(axes) > 1 and -1 in axes
    return several and bool(c.gains) and all(g.param.axis == "other" for g in c.gains)


def _are_spatial(axes: tuple[int, ...], rank: int | None, owner: Owner) -> bool:
    """Return whether these are the axes of an image, or include the batch, as in instance and batch norms."""
    named = owner.intent in ("rms", "layer")
    rank = 4 if rank is None and set(axes) == {1, 2, 3} else rank
    if rank is not None and {axis % rank for axis in axes} == set(range(1, rank)):
        return not named  # all of a sample
    return 0 in axes or set(axes) in ({2, 3}, {-1, -2}, {2, 3, 4}, {-1, -2, -3})


def is_instance_norm(norm: Norm, c: Computation) -> bool:
    """Return whether the norm is an instance norm: its gains lie along an axis that isn't reduced."""
    if not c.gains or not may_be_instance_norm(norm, c):
        return False
    along = all(along_features(c, i) for i in range(len(c.gains)))
    folded = any(move[0] == "view" for move in c.statistic.layout) and all(g.param.axis == "other" for g in c.gains)
    return c.placing.along_gain is False or folded or (along and misses_features(c.statistic))


def may_be_instance_norm(norm: Norm, c: Computation) -> bool:
    """Return whether it is centred and has no name that promises another norm, so that it may be an instance norm."""
    return c.kind == "layer" and norm.owner.intent not in ("rms", "layer", "l2")


def along_features(c: Computation, i: int) -> bool:
    """Return whether the gain with this index lies along the last axis."""
    param = c.gains[i].param
    if param.shape is None and param.role == "parameter" and (not param.maker or param.maker.startswith("torch.nn.")):
        return False  # made by something that isn't read, or torch's own norm's, which may lie along several axes
    if param.shape is not None and all(n == Mono(1.0) for n in param.shape):
        return False  # one number, which lies along no axis
    ahead = param.shape[:-1] if param.shape else ()
    return param.axis == "last" and all(n == Mono(1.0) for n in ahead) and param.role != "unknown"


def shift_beside(c: Computation) -> Param | None:
    """Return the shift where it has one length as the gain does, but lies along another axis."""
    only = c.shift.factors[0].atom if c.shift is not None and len(c.shift.factors) == 1 else None
    gain = c.gains[0].param if len(c.gains) == 1 else None
    if gain is None or not isinstance(only, Param) or {gain.role, only.role} != {"parameter"}:
        return None
    if c.statistic.layout != () or not c.laid_alike or any(note.kind == "moved" for note in c.notes):
        return None  # the axes may be moved between the two
    alike = gain.shape == only.shape and gain.shape is not None and len(gain.shape) == 1 and gain.shape != (Mono(1.0),)
    return only if alike and {gain.axis, only.axis} == {"last", "other"} else None


def misses_features(stat: Stat) -> bool:
    """Return whether a statistic is taken over other axes than the last one."""
    if not isinstance(stat.axes, tuple) or stat.axes == (-1,):
        return False
    if len(stat.axes) == 1:
        return stat.axes[0] < -1 or (stat.axes[0] == 0 and stat.rank != 1)
    return True


def reduces_samples(c: Computation) -> bool:
    """Return whether a sample is reduced whole: three or more last axes, or all but the first of a (1, 1, D) gain."""
    axes = c.statistic.axes
    if isinstance(axes, tuple) and len(axes) > 2 and axes == tuple(range(-len(axes), 0)):
        return True
    ranks = {len(g.param.shape) for g in c.gains if g.param.shape is not None and len(g.param.shape) > 2}
    return any(axes == tuple(range(1, rank)) for rank in ranks)


def differs_by_choice(c: Computation, other: Computation) -> bool:
    """Return whether a flag or an unknown test chooses between these paths, whose formula is the same."""
    if _formula(c) != _formula(other):
        return False
    chosen = (test for test in c.tests if "dtype" not in test[0] and not test[0].endswith(" is None"))
    return any((key, not outcome) in other.tests for key, outcome in chosen)


def _formula(c: Computation) -> tuple[object, ...]:
    """Return what makes up the formula, without casts and numbers of elements."""
    gains = tuple((g.param, g.offset, g.power) for g in c.gains)
    return c.statistic, c.power, c.input, gains, c.shift, c.others
