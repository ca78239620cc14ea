"""NRM4xx: the formula: its powers, roots and centres, the gradient through it, and its gain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from normlint.evaluate.attributes import SIZES
from normlint.evaluate.monomial import NOWHERE, Apply, Mono, Param, Scalar, Step, bears_data, stats_of
from normlint.norm.conventions import intent, is_scale_norm, is_uncentred, starts_at_zero
from normlint.norm.norm import HALF, Computation, Gain, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import Applicability, Span

formula = Fixes("formula")
roots = Fixes("roots")
gains = Fixes("gains")

_CENTRED = ("layer", "rms")  # intents for which x / sqrt(var) without a bias can't be meant
_ROOTS = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def _last_power(c: Computation) -> Span:
    """Return the place of the last root or division of the statistic."""
    steps = [s for s in c.trail if s.op in _ROOTS]
    return steps[-1].span if steps else c.statistic.span


_BOTH = 2  # sides of a difference


@rule("NRM401", name="inverted-scale", fix=Applicability.SAFE, about=("power",))
def inverted_scale(norm: Norm) -> Iterator[Problem]:
    """Multiplies by the root mean square instead of dividing by it.

    A row twice as large comes out four times as large, where a norm makes both alike. `x / torch.rsqrt(ms)` is `x *
    torch.sqrt(ms)`.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / torch.rsqrt(ms + eps)).type_as(x) * weight  # error: [inverted-scale]
    ```
    ```diff
    -    return (h / torch.rsqrt(ms + eps)).type_as(x) * weight
    +    return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: a norm divides by the root mean square; the checkpoint's tensors keep their names and shapes.
    """
    for c in norm.computations:
        if c.power == HALF and c.degree == 2:
            scale = "standard deviation" if all(c.centred) else "root mean square"
            message = f"multiplies by the {scale}: large rows grow where they should shrink"
            yield Problem(_last_power(c), message, partial(roots.invert, norm, c))


@rule("NRM402", name="wrong-root", fix=Applicability.SAFE, about=("power",))
def wrong_root(norm: Norm) -> Iterator[Problem]:
    """Divides by the mean square without a root, takes the root twice, or divides by the input.

    What the next layer gets still depends on the row's size, which a norm takes out. A row twice as large comes out
    half as large from `x / ms`, eight times as large from `x * ms`, and 1.4 times where the root is taken twice.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h / (ms + eps)).type_as(x) * weight  # error: [wrong-root]
    ```
    ```diff
    -    return (h / (ms + eps)).type_as(x) * weight
    +    return (h / torch.sqrt(ms + eps)).type_as(x) * weight
    ```

    Fix safety: a norm divides by the root mean square; the checkpoint's tensors keep their names and shapes.
    """
    for c in norm.computations:
        if c.divisor != NOWHERE:
            yield Problem(c.divisor, "divides by the input: a row twice as large comes out a quarter as large")
        elif c.degree == 2 and abs(c.power) != HALF:
            if norm.owner.intent not in ("rms", "layer") and any(_chosen_instead(c, o) for o in norm.computations):
                continue
            grown = f"a row twice as large comes out {2.0 ** (1 + c.degree * c.power):.2g} times as large"
            wrong = "no square root is taken" if abs(c.power) >= 1 else "the root is taken twice"
            yield Problem(_last_power(c), f"{wrong}: {grown}", partial(roots.take_root, norm, c))


def _chosen_instead(c: Computation, other: Computation) -> bool:
    """Return whether an option by name, such as `kind == "v"`, chooses the other path, which takes one root."""
    one, two = ({test for test, yes in path.tests if yes and test.endswith("'")} for path in (c, other))
    options = {test.partition(" == ")[0] for test in one} & {test.partition(" == ")[0] for test in two}
    return abs(other.power) == HALF and bool(options) and one.isdisjoint(two)


@rule("NRM403", name="missing-square", fix=Applicability.SAFE)
def missing_square(norm: Norm) -> Iterator[Problem]:
    """Averages x or |x| where the mean square belongs.

    The mean of x is about 0, and its root NaN for half of all rows; with the mean of |x|, rows come out at another
    size.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.mean(-1, keepdim=True)  # error: [missing-square]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```diff
    -    ms = h.mean(-1, keepdim=True)
    +    ms = h.pow(2).mean(-1, keepdim=True)
    ```

    Fix safety: a norm averages squares; the checkpoint's tensors keep their names and shapes.
    """
    for c in norm.computations:
        if c.degree == 1:
            fix = None if c.stray_sum != NOWHERE else partial(formula.square, norm, c)
            yield Problem(c.statistic.span, "averages the values, not their squares", fix)
        elif c.degree > 2:
            yield Problem(c.statistic.span, f"averages the values to the power {c.degree}, not their squares")


@rule("NRM404", name="missing-centre", fix=Applicability.SAFE, about=("power",))
def missing_centre(norm: Norm) -> Iterator[Problem]:
    """Subtracts the mean on one side only.

    The output keeps the mean of its input, however large, or shrinks where the input has an offset. The first is so
    with the variance below and x above, the second with the mean square below and x − mean above.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        var = h.var(-1, keepdim=True, correction=0)  # error: [missing-centre]
        return (h * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```
    ```diff
    -    return (h * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    +    return ((h - h.mean(-1, keepdim=True)) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    T5's norm has no centre on either side, and is an RMS norm.

    Fix safety: the name promises a mean on both sides, or, with RMS, on neither. A norm that says RMS and adds a bias
    is left alone. Where neither a bias nor a name such as LayerNorm says that a centre is meant, the fix is unsafe.
    """
    centred = any(all(c.centred) for c in norm.computations)
    for c in norm.computations if norm.meant and not is_uncentred(norm.owner.name) else ():
        if (centred and not c.input.is_clear) or _is_difference(c.input):
            continue  # a caller of the helper may have centred that, as another has, or what is subtracted is a centre
        if c.stray_sum != NOWHERE and c.degree == 2:
            yield Problem(c.stray_sum, "the mean is not subtracted here: the output, or its scale, is not centred")
        elif c.centred[0] != c.centred[1] and (c.centred[1] or _is_affine(c) or norm.owner.intent in _CENTRED):
            where = "input" if c.centred[0] else "statistic"
            message = f"the mean is subtracted on one side only: the {where} is not centred"
            rms = any("rms" in test.lower() for test, yes in c.tests if yes)  # an RMS norm is meant on this path
            yield Problem(c.statistic.span, message, None if rms else partial(formula.centre, norm, c))


def _is_difference(mono: Mono) -> bool:
    """Return whether it is one tensor minus another, or minus the mean of another, and not minus a mean of its own."""
    atom = mono.only
    parts = atom.args if isinstance(atom, Apply) and atom.name == "-" else ()
    sides = [one for one in parts if isinstance(one, Mono) and one.has_data]
    own = {f.atom for one in sides for f in one.factors}
    means = (stat for one in sides for stat in stats_of(one))
    return len(sides) == _BOTH and all(own.isdisjoint(f.atom for f in stat.inner.factors) for stat in means)


def _is_affine(c: Computation) -> bool:
    """Return whether a bias is added, and no other factor is data: x · sigmoid(x) / std + bias is an activation."""
    return c.shift is not None and not any(map(bears_data, c.others))


@rule("NRM407", name="misapplied-gain")
def misapplied_gain(norm: Norm) -> Iterator[Problem]:
    """Adds the gain, divides by it, or scales the input with it instead of what was normalised.

    The output starts one too large, shrinks where the gain grows, or isn't normalised at all.

    Instead: Multiply what was normalised by the gain, and return that

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return h.type_as(x) + self.weight  # error: [misapplied-gain]
    ```

    A bias is added, and starts at zeros.

    A gain multiplies what the norm gives: `h.type_as(x) * self.weight`.
    """
    for c in norm.judged if norm.owner.module and norm.owner.intent in _CENTRED else ():
        if c.power != -HALF:
            continue
        added = _learned(c.shift) if not c.gains else None
        divided = next((g for g in c.gains if g.power == -1 and g.offset is None and _starts_at_one(g.param)), None)
        if added is not None and _starts_at_one(added):
            yield Problem(norm.span, f"adds `{added.label}`, which starts at ones: a gain is multiplied")
        elif divided is not None:
            yield Problem(norm.span, f"divides by `{divided.param.label}`: a gain is multiplied")
        elif not c.gains and (before := _scaled_before(c)) is not None:
            yield Problem(norm.span, f"multiplies by `{before.label}` before the norm, which undoes that: it goes last")
    if norm.owner.passes and norm.owner.intent in _CENTRED and norm.owner.module:
        yield Problem(norm.span, "what is normalised here is not what is given back")


def _learned(shift: Mono | None) -> Param | None:
    atom = shift.factors[0].atom if shift is not None and len(shift.factors) == 1 and shift.coef == 1 else None
    return atom if isinstance(atom, Param) else None


def _scaled_before(c: Computation) -> Param | None:
    """Return the learned gain that is a factor of the normalised input, if there is one."""
    learned = (f.atom for f in c.input.factors if isinstance(f.atom, Param) and f.power == 1)
    return next(filter(_starts_at_one, learned), None)


def _starts_at_one(param: Param) -> bool:
    return param.role == "parameter" and param.init == "ones" and param.shape != ()


@rule("NRM405", name="detached-statistic", fix=Applicability.SAFE)
def detached_statistic(norm: Norm) -> Iterator[Problem]:
    """Takes the statistic out of the gradient.

    The forward is right and the backward is not: the gradient keeps the component along x that a norm removes, and
    training drifts.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True).detach()  # error: [detached-statistic]
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```diff
    -    ms = h.pow(2).mean(-1, keepdim=True).detach()
    +    ms = h.pow(2).mean(-1, keepdim=True)
    ```

    RevIN keeps mean and deviation to undo the norm later, and detaches them on purpose; so does a norm whose docstring
    says that it detaches, and one with `.detach()` whose name names neither an RMS norm, a layer norm nor an L2 norm.

    Fix safety: the forward computes what it did; only the gradient changes. A `with torch.no_grad():` that does more
    than give names to values is left alone.
    """
    owner = norm.owner
    for c in norm.judged if norm.meant and not (owner.keeps or owner.undone or owner.detaches) else ():
        step = _detaching(c)
        if step is None and not any(one.grad for one in norm.computations) and owner.module and _trained(c):
            yield Problem(
                norm.span, f"no gradient flows, not even to `{c.gains[0].param.name}`, which is to be trained"
            )
        own = intent(owner.name) in ("norm", "groups")  # one of its author's own
        designed = own and step is not None and step.op == "detach"
        if step is not None and not designed and not _asked_for(norm, c):
            yield Problem(step.span, "no gradient flows through the statistic", partial(formula.attach, norm, c))


_FLAG = re.compile(r"(\w+ )?(self\.)?(?!training$)\w+")  # or "detach self.detach": a parameter, and what it was given


def _asked_for(norm: Norm, c: Computation) -> bool:
    """Return whether arguments and attributes alone decide between this path and one on which the gradient flows."""
    free = (other for other in norm.computations if _detaching(other) is None)
    turned = ([name for name, so in c.tests if (name, not so) in other.tests] for other in free)
    return any(names and all(map(_FLAG.fullmatch, names)) for names in turned)


def _trained(c: Computation) -> bool:
    return any(g.param.role == "parameter" and g.param.maker == "ones" for g in c.gains)


def _detaching(c: Computation) -> Step | None:
    step = next((s for s in c.own_steps() if s.op in ("detach", "item")), None)
    within = [stat.inner.factors for stat in (c.statistic, c.centre) if stat is not None]
    inner = [s for factors in within for s in deep_steps(factors) if s.op == "detach"]
    shared = {s.span for s in c.input_steps}
    if step is None and inner and inner[0].span not in shared:
        step = inner[0]
    for stat in (c.statistic, c.centre):
        if step is None and stat is not None:
            step = next((s for s in stat.steps if s.op in ("detach", "item") and s.span not in shared), None)
            step = Step("no_grad", stat.span) if step is None and stat.no_grad and c.grad else step
    return step


@rule("NRM406", name="gain-offset", fix=Applicability.UNSAFE)
def gain_offset(norm: Norm) -> Iterator[Problem]:
    """Starts with another gain than 1, such as 2 or 0, or with a shift of 1.

    Training from scratch starts with outputs of the wrong size, of random sign or zero. `1 + weight` wants a weight
    that starts at zeros; a plain weight wants ones, and no noise around 0 either. A shift starts at 0.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return h.type_as(x) * (1 + self.weight)  # error: [gain-offset]
    ```
    ```diff
    -        self.weight = nn.Parameter(torch.ones(dim))
    +        self.weight = nn.Parameter(torch.zeros(dim))
    ```

    A shift of ones moves every output:

    ```py
    import torch
    from torch import nn

    class LayerNorm(nn.Module):
        def __init__(self, dim, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.gamma = nn.Parameter(torch.ones(dim))
            self.beta = nn.Parameter(torch.ones(dim))  # error: [gain-offset]

        def forward(self, x):
            h = x.float()
            c = h - h.mean(-1, keepdim=True)
            return (c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.gamma + self.beta
    ```

    ScaleNorm's gain of one element starts at √D, since its norm is an L2 norm.

    What a model's `_init_weights` fills the class with counts, too.

    Instead: Start a gain at √D, `dim ** 0.5`, in an L2 norm; in any other at 1, or at 0 where 1 is added; a shift at 0

    A gain that is computed from a condition (adaLN-zero) may well start at 0. Where an argument says whether 1 is
    added, no first value suits both ways; it should suit that argument's default.

    Fix safety: unsafe, since training that starts elsewhere ends elsewhere. Only the first value is changed, so a
    checkpoint loads and computes what it did; in a norm that is called after Gemma, or zero-centred, the `1 +` is
    added instead, and a checkpoint computes something else.
    """
    for g in (g for c in norm.computations if c.kind == "l2" and is_scale_norm(norm.owner.name) for g in c.gains):
        if _starts_inverted(g):
            message = f"`{g.param.label}` of this L2 norm starts at 1/√D, not √D: the output is D times too small"
            yield Problem(g.param.span, message)
    for param in dict.fromkeys(_shifts_of_ones(norm)):
        yield Problem(param.span, f"`{param.label}` starts at 1 and is added: every output starts 1 too high")
    alone = (c for c in norm.judged if c.shift is None or not c.shift.has_data)  # else a gain of 0 lets that pass alone
    named = bool(norm.owner.intent)
    gained = ((c, g) for c in alone if c.returned or named for g in c.gains)  # what a gate is made of may start at 0
    applied = [g for c, g in gained if (named and c.returned) or not _is_number(g)]  # ReZero: one gate for a branch
    applied = [] if starts_at_zero(norm.owner.name) else applied
    wrong = {g.param.name: g for g in applied if _starts_wrong(g) and not _starts_right(norm, g)}
    for g in applied:
        sole = g.param.axis == "last" and all(other.offset == g.offset for other in applied)
        refilled = [
            _REFILLED.get((g.offset, how), "") for one, how in norm.owner.refilled if one == g.param.name and sole
        ]
        if len(refilled) == 1 and refilled[0]:
            yield Problem(g.span if g.offset else g.param.span, refilled[0].replace("weight", g.param.name, 1))
        elif not norm.owner.reinitialised and g.param.name in wrong and (message := _starts_wrong(g)):
            if _is_bias(norm, g) or (norm.judged and all(map(_adds_ones, norm.judged))):
                yield Problem(g.param.span, f"`{g.param.label}` starts at 0 and is multiplied, where a bias is added")
                continue
            alike = all(map(_starts_wrong, _of_same_gain(norm.judged, g)))  # else no first value suits all paths
            repair = partial(gains.start_at_one, norm, tuple(wrong.values())) if alike else None
            made = g.param.span
            evidence = made if g.offset else None
            yield Problem(g.span if g.offset else made, message, repair, evidence=evidence, rests_on=(g.param.name,))


def _shifts_of_ones(norm: Norm) -> Iterator[Param]:
    """Yield the shifts of ones that are added to an output whose gains start at one, and that nothing fills later."""
    filled = {*norm.owner.filled, *(name for name, _ in norm.owner.refilled)}
    usual = (
        c
        for c in norm.judged
        if c.returned and not c.others and c.gains and all(g.param.init == "ones" for g in c.gains)
    )
    added = (c.shift for c in usual if c.shift is not None)
    for shift in added if norm.owner.intent and not norm.owner.reinitialised else ():
        atom = shift.factors[0].atom if len(shift.factors) == 1 and shift.coef == 1 else None
        if isinstance(atom, Param) and atom.role == "parameter" and atom.init == "ones" and atom.name not in filled:
            yield atom


_REFILLED = {
    (1.0, "ones"): "1 + `weight`, which is filled with ones later: the gain starts at 2",
    (None, "zeros"): "`weight` is filled with zeros later: the output starts at 0",
    (
        None,
        "random",
    ): "`weight` is filled with random values around 0 later: each feature starts at another scale",
}


def _is_number(g: Gain) -> bool:
    return g.param.is_part or g.param.shape in ((), (Mono(1.0),))


def _starts_inverted(g: Gain) -> bool:
    factors = g.param.first.factors if g.param.first is not None else ()
    named = [(f.atom.name, f.power) for f in factors if isinstance(f.atom, Scalar)]
    powers = [power for name, power in named if name.rpartition(".")[2].lower() in SIZES]
    return g.offset is None and powers == [-HALF]


def _starts_right(norm: Norm, gain: Gain) -> bool:
    """Return whether the gain is applied well on a path, of those alone that the constructor's own defaults take."""
    usual = [c for c in norm.judged if not any(_is_other(norm, test, taken=taken) for test, taken in c.tests)]
    named = [g for c in usual for g in c.gains if g.param.name and g.param.name == gain.param.name]
    same = _of_same_gain(usual, gain) or named or _of_same_gain(norm.judged, gain)  # an option may make another one
    return not all(map(_starts_wrong, same))


def _is_other(norm: Norm, test: str, *, taken: bool) -> bool:
    """Return whether a test comes out so only where an option has another value than its default."""
    name, equals, _ = test.partition(" == ")
    rivals = [one for one, _ in norm.owner.flags if equals and one.startswith(f"{name} == ")]
    return (test, not taken) in norm.owner.flags or (taken and bool(rivals) and test not in rivals)


def _is_bias(norm: Norm, gain: Gain) -> bool:
    """Return whether a gain that starts at zero stands beside one that starts at one."""
    others = (g for c in norm.judged if gain in c.gains for g in c.gains if g.param.name != gain.param.name)
    beside = (g.param.init for g in others if g.offset is None)
    return gain.offset is None and gain.param.init == "zeros" and "ones" in beside


def _adds_ones(c: Computation) -> bool:
    """Return whether a parameter that starts at one, as a gain does, is added."""
    only = c.shift.factors[0].atom if c.shift is not None and len(c.shift.factors) == 1 else None
    return isinstance(only, Param) and only.init == "ones"


def _of_same_gain(paths: Iterable[Computation], gain: Gain) -> list[Gain]:
    return [g for c in paths for g in c.gains if g.param.span == gain.param.span]


def _starts_wrong(g: Gain) -> str:
    if g.param.role != "parameter" or g.param.maker.startswith("torch.nn."):  # of torch's own norm: a model fills it
        return ""
    if g.offset == 1 and g.param.init == "ones":
        return "1 + a weight of ones: the gain starts at 2"
    if g.offset is None and g.param.init == "zeros":
        return "the weight starts at 0 and nothing adds 1: the output is 0, and no gradient gets past it"
    drawn = g.offset is None and g.param.init == "random" and g.param.name
    return f"`{g.param.name}` is drawn around 0: each feature starts at its own scale and sign" if drawn else ""
