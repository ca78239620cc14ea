"""NRM3xx: eps, its place, its size, and whether it is used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import ALL, NOWHERE
from normlint.norm.norm import LARGE, Computation, Eps, Norm
from normlint.rules.registry import FP16, Fixes, Part, Problem, rule
from normlint.text.finding import WARNING, Applicability

repair = Fixes("eps")
moving = Fixes("roots")

SMALLEST_HALF = 2.0**-25  # anything below rounds to 0 in fp16


@rule("NRM301", name="missing-eps", fix=Applicability.SAFE, unless=("NRM304",), about=("eps",), severity=WARNING)
def missing_eps(norm: Norm) -> Iterator[Problem]:
    """Has nothing that keeps the root from zero.

    One row of zeros, such as padding, is enough: its gradient is NaN too, and spoils every weight in one step.

    ```py
    import torch

    def rms_norm(x, weight):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)  # error: [missing-eps]
        return (h * torch.rsqrt(ms)).type_as(x) * weight
    ```
    ```diff
    -def rms_norm(x, weight):
    +def rms_norm(x, weight, eps=1e-6):
    @@
    -    return (h * torch.rsqrt(ms)).type_as(x) * weight
    +    return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    A module that has no eps yet takes one, and keeps it.

    A floor does as well as a sum, and so does a test that keeps zeros out, as `torch.where(ms == 0, 1, ms)`.

    Fix safety: the fix uses the eps that the code has, or adds a parameter with the usual default; a trained model's
    outputs change by no more than that eps does.
    """
    kept = {c.statistic.span for c in norm.computations if c.eps or c.guarded}
    for c in norm.judged:
        level = c.statistic.axes == ALL and not norm.meant  # a signal is brought to a level: it has no rows
        learned = any(gain.param.role == "parameter" for gain in c.gains)
        once = norm.qualname == "<module>" and not learned  # a script's own numbers, such as a trained model's weights
        part = norm.factor and not norm.meant and c.kind == "rms"  # of another quantity, whose rows aren't features
        if not c.fused and c.power < 0 and c.statistic.span not in kept and not (level or once or part):
            adding = partial(repair.add, norm, c.statistic.span)
            yield Problem(c.statistic.span, "no eps: a row of zeros gives NaN", adding)


@rule("NRM302", name="eps-outside-sqrt", fix=Applicability.UNSAFE, about=("eps", "power"), severity=WARNING)
def eps_outside_sqrt(norm: Norm) -> Iterator[Problem]:
    """Adds eps after the square root instead of under it.

    Small rows come out at another size than from torch's norms: larger, with eps 1e-6, by 0.5 % where the root is 1e-2
    and by 41 % where it is 1e-3. The gradient of a square root at 0 is infinite: a row of zeros gets a NaN gradient and
    a finite output.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        rms = h.pow(2).mean(-1, keepdim=True).sqrt()
        return (h / (rms + eps)).type_as(x) * weight  # error: [eps-outside-sqrt]
    ```
    ```diff
    -    rms = h.pow(2).mean(-1, keepdim=True).sqrt()
    -    return (h / (rms + eps)).type_as(x) * weight
    +    rms = torch.sqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    +    return (h / rms).type_as(x) * weight
    ```

    The same eps both under the root and after it is reported, too: small rows come out smaller.

    torch's own `norm` has the gradient 0 at 0, so eps beside it is fine. `std` has it too: eps beside it is reported
    only in what is called a norm.

    Fix safety: unsafe, for a model that was trained with eps outside gives slightly other outputs for small rows.
    """
    judged = norm.judged if norm.meant else ()
    for c in norm.computations if norm.owner.intent == "pixel" else judged:
        if norm.owner.intent in ("", "other") and any(s.op == "std" for s in c.trail):
            continue
        for e in c.eps:
            if e.how != "add" or e.power == 1 or _beside_norm(c):
                continue
            under = [o for o in c.eps if o.power == 1]
            if not under:
                yield Problem(e.span, _misplaced(c, e), partial(moving.move, norm, c, e))
            elif any(o.name and (o.name, o.value) == (e.name, e.value) for o in under):
                message = "the eps under the root is added once more after it"
                yield Problem(e.span, message, evidence=under[0].span)


def _misplaced(c: Computation, e: Eps) -> str:
    """Return where eps is added and what comes of it.

    Torch masks the gradient of `std` at 0, but not that of a square root.
    """
    if e.power < 0:
        return "eps is added to the inverse root: a zero row gives NaN"
    cut = any(s.op in ("detach", "item") for s in c.trail) or not c.grad
    consequence = "small rows come out larger than with eps under it" if cut else "NaN gradient at a zero row"
    if any(s.op == "std" for s in c.trail):
        consequence = "rows of small spread come out larger than with eps under it"
    return f"eps is added after the root: {consequence}"


def _beside_norm(c: Computation) -> bool:
    return any(s.op == "norm" for s in c.trail) and not c.explicit_square


@rule("NRM303", name="eps-out-of-range", fix=Applicability.SAFE, about=("eps",))
def eps_out_of_range(norm: Norm) -> Iterator[Problem]:
    """Has an eps that does nothing, or too much.

    With too small an eps rows of zeros, such as padding, become NaN; too large a one makes all outputs smaller. 0 or
    less is no protection; 1e-8 is 0 once it is added in fp16; 1e-2 is as large as the mean square of real activations.

    Instead: Add it to a statistic in fp32, or take one that fp16 holds, such as 1e-5

    ```py
    import torch

    def rms_norm(x, weight):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + 0.1)).type_as(x) * weight  # error: [eps-out-of-range]
    ```
    ```diff
    -    return (h * torch.rsqrt(ms + 0.1)).type_as(x) * weight
    +    return (h * torch.rsqrt(ms + 1e-6)).type_as(x) * weight
    ```

    Fix safety: safe for 0 and less. Unsafe for other numbers: a model may have been trained with them.
    """
    for c in norm.judged:
        for e in c.eps:
            if e.how == "clamp" and e.default == 0 and len(c.eps) > 1:
                continue  # a floor of 0 under another eps keeps rounding from going negative
            why = "" if norm.in_test else _out_of_range(c, e)
            narrowed = 0 < (e.default or 0) < SMALLEST_HALF  # NRM205 says where; with a wide sum this eps is right
            if why:
                dtypes = FP16 if "fp16" in why else ()
                repaired = None if narrowed or e.how == "subtract" else partial(repair.put_right, norm, e, "NRM303")
                nothing = e.how != "subtract" and (e.default or 0) <= 0
                yield Problem(e.at, why, repaired, dtypes, WARNING if nothing else "")


def _out_of_range(c: Computation, e: Eps) -> str:
    value = e.default
    if e.how == "subtract":
        return "eps is subtracted: a row of zeros gives NaN"
    if value is None:
        return ""
    if value <= 0:
        return f"eps is {value:g}: a row of zeros gives NaN"
    if value >= LARGE:
        return f"eps is {value:g}, as large as the mean square of real activations"
    half = c.sees_fp16 and not c.guarded and e.dtype in (DType.INPUT, DType.FP16) and c.statistic.accumulate.wide
    lost = half and value < SMALLEST_HALF
    return f"eps {value:g} is 0 in fp16, where it is added: a row of zeros gives NaN" if lost else ""


@rule("NRM304", name="unused-eps", fix=Applicability.SAFE, unless=("NRM509",), severity=WARNING)
def unused_eps(norm: Norm) -> Iterator[Problem]:
    """Accepts or stores an eps that nothing uses.

    A checkpoint that was trained with 1e-5 gets another eps, or no protection at all.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps  # error: [unused-eps]
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight
    ```
    ```diff
    -        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight
    +        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    An eps that one path uses and another doesn't is reported where it is lost.

    Fix safety: safe where the default is the number that acts, or none does; unsafe otherwise, for a model was trained
    with that number, and where just one path has one of its own.
    """
    own = norm.meant or ((norm.owner.alone or not norm.owner.method) and all(map(_written_out, norm.computations)))
    if norm.owner.unused_eps is not None and own:
        unused = norm.owner.unused_eps
        message = "eps is taken but never used: what callers pass changes nothing"
        yield Problem(unused, message, Part(partial(repair.use, norm, unused)))
        return
    given = {e.at for c in norm.computations for e in c.eps if e.name and e.at != NOWHERE}
    taken = norm.owner.takes_eps and (norm.owner.alone or not norm.owner.method)
    for c in norm.computations if (given or taken) and norm.meant else ():
        ignored = bool(given) and bool(c.eps) and all(e.value is not None and e.at not in given for e in c.eps)
        if ignored or (taken and c.returned and _written_out(c)):
            place = c.eps[0].at if c.eps[0].at != NOWHERE else c.statistic.span
            message = f"on this path eps is {c.eps[0].value:g}, whatever was given"
            yield Problem(place, message, partial(repair.taken_here, norm, place))


def _written_out(c: Computation) -> bool:
    """Return whether the eps is a literal number in the formula."""
    return bool(c.eps) and all(e.written for e in c.eps)


@rule("NRM305", name="eps-zero-in-half", default=False, fix=Applicability.UNSAFE, dtypes=FP16)
def eps_zero_in_half(norm: Norm) -> Iterator[Problem]:
    """Has an eps that is 0 in fp16, such as the default of `F.normalize`, 1e-12: a row of zeros gives NaN.

    Rows of padding are zeros, and one NaN reaches the loss and every gradient.

    ```py
    import torch
    import torch.nn.functional as F
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = dim**0.5
            self.gamma = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return F.normalize(x, dim=-1) * self.scale * self.gamma  # error: [eps-zero-in-half]
    ```
    ```diff
    -        return F.normalize(x, dim=-1) * self.scale * self.gamma
    +        return F.normalize(x, dim=-1, eps=1e-6) * self.scale * self.gamma
    ```

    What is written out as `x / (x.norm(dim=-1, keepdim=True) + 1e-8)` is the same.

    Fix safety: unsafe, for rows whose norm is below the new eps are scaled less.
    """
    unit = norm.owner.intent == "l2" and norm.owner.method
    for c in norm.computations:
        if not c.sees_fp16 or c.guarded:
            continue
        if c.statistic.default_eps and c.statistic.square is DType.INPUT:  # a row of a weight isn't padding
            message = "F.normalize's eps of 1e-12 is 0 in fp16: a row of zeros gives NaN"
            yield Problem(c.statistic.span, message, partial(repair.given_to_normalize, c.statistic.span))
            continue
        own = c.returned and (unit or (c in norm.judged and not c.explicit_square))  # else NRM201 asks for an upcast
        for e in c.eps if own and not c.statistic.accumulate.wide else ():
            if e.dtype in (DType.INPUT, DType.FP16) and 0 < (e.default or 0) < SMALLEST_HALF:
                message = f"eps {e.default:g} is 0 in fp16: a row of zeros gives NaN"
                yield Problem(e.at, message, partial(repair.put_right, norm, e, "NRM305"))
