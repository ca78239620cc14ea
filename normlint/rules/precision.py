"""NRM2xx: the dtypes of the square, the statistic and the output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import VARIANCE_AS_DIFFERENCE, Abs, Apply, Centred, Input, Mono, Offset, Step, leaves
from normlint.norm.conventions import COMPLEX, intent, stays_wide
from normlint.norm.evidence import differs_by_choice
from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.rules.registry import FP16, HALVES, Fixes, Problem, rule
from normlint.text.finding import WARNING, Applicability, Span
from normlint.text.operations import LENGTHS

casts = Fixes("casts")
centring = Fixes("formula")
offsets = Fixes("gains")

_OPERANDS = 2
_OPEN = (DType.INPUT, DType.PARAM)


def _square_span(c: Computation) -> Span:
    squares = [s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"]
    return max(squares, key=lambda span: span.end, default=c.statistic.span)


def _squares_in_half(c: Computation) -> bool:
    return _in_half(c) and c.explicit_square and c.degree == 2 and not _of_complex(c)


def _of_complex(c: Computation) -> bool:
    """Return whether an absolute value is squared, which is only useful for complex numbers."""
    return any(isinstance(f.atom, Abs) and f.power == 2 for f in c.statistic.inner.factors)


def _in_half(c: Computation) -> bool:
    return c.sees_half and c.statistic.square in _OPEN and not c.scaled_before


@rule("NRM201", name="missing-upcast", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def missing_upcast(norm: Norm) -> Iterator[Problem]:
    """Squares in half precision.

    No error is raised, but in fp16 one feature of 256 or more loses its whole row; in bf16 rows are off by tenths of a
    percent. 300² is 90,000, more than fp16 can hold (65,504). The mean is then inf, and its inverse root 0.
    `torch.var` accumulates in fp32: only the variance itself overflows, from a spread of 256.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        ms = x.pow(2).mean(-1, keepdim=True)  # error: [missing-upcast]
        return x * torch.rsqrt(ms + eps) * weight
    ```
    ```diff
    -    ms = x.pow(2).mean(-1, keepdim=True)
    -    return x * torch.rsqrt(ms + eps) * weight
    +    ms = x.float().pow(2).mean(-1, keepdim=True)
    +    return (x * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```

    The cast may stand in the caller of a helper, and a path that only fp32 takes needs none.

    Fix safety: safe: what came out in fp32 stays the same, and halves no longer overflow.
    """
    seeing = [c for c in norm.judged if c.sees_half and not c.fused and not _promoted(c)]
    lacking = [c for c in seeing if _squares_in_half(c) and not _widened_later(c)]
    if seeing and len(lacking) == len(seeing) and not COMPLEX.search(norm.owner.name):
        repair = partial(casts.upcast, tuple(lacking))
        for c in lacking:
            yield Problem(_square_span(c), _overflow(c), repair)


def _promoted(c: Computation) -> bool:
    """Return whether the statistic is in fp32 only because another fp32 factor, such as a gate, promoted the input."""
    wide = any(s.op == "cast" and s.dtype is not None and s.dtype.wide for s in deep_steps(c.statistic.inner.factors))
    return c.statistic.square.wide and len(c.input.factors) > 1 and not wide


def _overflow(c: Computation) -> str:
    """Return what overflows in half; `var` accumulates in fp32, so that only its result does."""
    output = "0" if c.power < 0 else "inf"
    if c.statistic.spelled in ("var", "var_mean"):
        return f"takes the variance in the input's dtype: in fp16 inf from a spread of 256, output {output}"
    if c.statistic.spelled in LENGTHS.split():
        return (
            f"squares `{c.statistic.spelled}` in the input's dtype: in fp16 inf where it exceeds 256, output {output}"
        )
    return f"squares the input in its own dtype: in fp16 inf from |x| = 256, output {output}"


def _widened_later(c: Computation) -> bool:
    return c.statistic.accumulate.wide or c.widened is not None


@rule("NRM202", name="late-upcast", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def late_upcast(norm: Norm) -> Iterator[Problem]:
    """Upcasts after the square, when the overflow has happened.

    The upcast comes too late: a row with one feature of 256 or more comes out as zeros, and 1e-4 squared is 0 in fp16.
    `x.pow(2).float()` casts an inf.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        ms = x.pow(2).float().mean(-1, keepdim=True)  # error: [late-upcast]
        return (x * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```diff
    -    ms = x.pow(2).float().mean(-1, keepdim=True)
    +    ms = x.float().pow(2).mean(-1, keepdim=True)
    ```

    `torch.linalg.vector_norm(x, dim=-1, dtype=torch.float32)` casts before it squares, and is fine.

    Fix safety: safe: the same cast, one step earlier.
    """
    late = tuple(c for c in norm.judged if _squares_in_half(c) and _widened_later(c))
    for c in late:
        what = "variance" if c.statistic.spelled in ("var", "var_mean") else "square"
        limit = "a spread of 256" if what == "variance" else "|x| = 256"
        message = f"the {what} is taken before the upcast: in fp16 it is inf from {limit}"
        yield Problem(_square_span(c), message, partial(casts.earlier, late))


@rule("NRM204", name="one-pass-variance", fix=Applicability.SAFE, severity=WARNING)
def one_pass_variance(norm: Norm) -> Iterator[Problem]:
    """Takes the variance as E[x²] − E[x]², which cancels.

    In fp32 the output is up to 4e-3 off where the mean is 100 times the spread; at 1e4 times some rows are NaN, for the
    difference comes out negative. Where the mean is large beside the spread, both terms are large and nearly equal.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        var = h.pow(2).mean(-1, keepdim=True) - mean.pow(2)  # error: [one-pass-variance]
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```
    ```diff
    -    var = h.pow(2).mean(-1, keepdim=True) - mean.pow(2)
    +    var = h.var(-1, unbiased=False, keepdim=True)
    ```

    Nothing is reported in doubles, or where a part of the input was subtracted from it before.

    Fix safety: safe: the same variance, without the cancellation.
    """
    for c in norm.judged:
        if c.statistic.spelled == VARIANCE_AS_DIFFERENCE and c.statistic.square is not DType.FP64 and not _shifted(c):
            repair = partial(centring.centre_first, norm, c.statistic)
            message = "E[x²] − E[x]² cancels where the mean is large: the variance is wrong, or below 0"
            yield Problem(c.statistic.span, message, repair)


def _shifted(c: Computation) -> bool:
    """Return whether a part of the input was subtracted from it before, which brings the mean near 0."""
    centred = (f.atom for f in c.statistic.inner.factors if isinstance(f.atom, Centred))
    made = (f.atom for one in centred for f in one.base.factors if isinstance(f.atom, Apply) and f.atom.name == "-")
    pairs = ([frozenset(leaves(arg)) for arg in one.args if isinstance(arg, Mono)] for one in made)
    return any(len(pair) == _OPERANDS and pair[0] == pair[1] for pair in pairs)


@rule("NRM206", name="half-precision-norm", default=False, fix=Applicability.SAFE, about=("dtype",), dtypes=FP16)
def half_precision_norm(norm: Norm) -> Iterator[Problem]:
    """Takes `norm` or `F.normalize` in half precision.

    A row whose length exceeds 65,504 comes out as zeros: 4096 features of size 1024 do. torch accumulates the
    length in fp32, so nothing else overflows. `std`, accumulated in fp32 too, never gets there: the spread of
    halves is no more than half their range.

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
            return F.normalize(x, dim=-1) * self.scale * self.gamma  # error: [half-precision-norm]
    ```
    ```diff
    -        return F.normalize(x, dim=-1) * self.scale * self.gamma
    +        return (F.normalize(x.float(), dim=-1) * self.scale).type_as(x) * self.gamma
    ```

    Fix safety: safe: the same norm, taken in fp32.
    """
    found = tuple(c for c in norm.judged if _in_half(c) and not c.explicit_square and c.statistic.reduce == "sum")
    for c in found:
        message = f"`{c.statistic.spelled}` of a half overflows where it exceeds 65,504"
        yield Problem(c.statistic.span, message, partial(casts.upcast, found))


_HALF = (DType.FP16, DType.BF16)


@rule("NRM203", name="missing-downcast", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def missing_downcast(norm: Norm) -> Iterator[Problem]:
    """Returns fp32 for a half input, so that what follows runs in fp32, or fails.

    Outside autocast, what follows runs in fp32, at twice the memory, or fails at the next matrix product: "expected
    mat1 and mat2 to have the same dtype".

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
            return h * self.weight  # error: [missing-downcast]
    ```
    ```diff
    -        return h * self.weight
    +        return h.type_as(x) * self.weight
    ```

    A gain in fp32 that promotes the product is LLaMA's way, and fine.

    Where a flag, or a test that can't be read, decides whether it is cast back, nothing is reported; nor in a function
    that casts its gain as well, as references in tests do.

    Fix safety: safe: the dtype that came in goes out; what fp32 callers get doesn't change. Unsafe where the text has
    a caller that speaks of fp32 and may count on it.
    """
    owner = norm.owner
    wraps = any("." in g.param.name for c in norm.judged for g in c.gains)  # one of torch's norms, and no other layer
    alone = owner.alone and all(c.input.is_clear for c in norm.judged)  # not of what an unread call returns
    whole = intent(owner.name) != "" or not owner.module or alone or wraps  # else amid others, whose callers may cast
    meant = norm.meant and whole and not stays_wide(owner.name) and not _is_helper(norm)
    narrowed = any(_narrowed(c) or _fixed(c) for c in norm.judged)  # which NRM205 says
    back = [c for c in norm.judged if c.sees_half and c.returned and not c.output.wide and _is_cast_back(c)]
    wide = tuple(c for c in norm.judged if meant and _returned_wide(c) and (not narrowed or _widened_last(c)))
    wide = tuple(c for c in wide if not any(differs_by_choice(c, other) for other in back))
    for c in wide if owner.module else (c for c in wide if not _is_reference(c)):
        message = f"the output stays {c.output.value} for an fp16 or bf16 input"
        yield Problem(c.span, message, partial(casts.downcast, norm, wide))


def _is_helper(norm: Norm) -> bool:
    """Return whether this is a function that takes neither a gain nor an eps, and names no layer: part of some math."""
    taken = norm.owner.takes_eps or any(c.gains for c in norm.computations)
    return not norm.owner.module and not taken and not re.fullmatch(r"_*(rms_?|layer_?)?norm", norm.owner.name, re.I)


def _is_reference(c: Computation) -> bool:
    """Return whether the gains are cast to fp32 or wider, too, so that the output is meant to stay so."""
    own = [gain.cast for gain in c.gains if gain.cast is not None and gain.cast not in c.input_steps]
    return bool(own) and all(s.dtype is not None and s.dtype.wide for s in own)


def _is_cast_back(c: Computation) -> bool:
    half = (DType.INPUT, DType.PARAM, DType.FP16, DType.BF16)
    return any(s.op == "cast" and s.dtype in half for s in (*c.trail, *c.input_steps))


def _returned_wide(c: Computation) -> bool:
    given = c.sees_half and c.input.has_data  # what the text made has the dtype that it was made in
    return c.returned and given and c.gain_may_be_half and c.output.wide and not (c.partial or _may_be_integers(c))


def _may_be_integers(c: Computation) -> bool:
    """Return whether the input may be integers, such as pixels divided by 255; the output must not go back to those."""
    offset = [f.atom.inner for f in c.input.factors if isinstance(f.atom, Offset)]
    scaled = any(abs(m.coef) != 1 for m in (c.input, *offset))
    return scaled or any(isinstance(atom, Input) and atom.integral for atom in leaves(c.input))


def _widened_last(c: Computation) -> bool:
    """Return whether the whole product is cast to fp32."""
    casts = [s for s in c.input_steps if s.op == "cast"]
    return bool(casts) and casts[-1].dtype is DType.FP32 and casts[-1].span.end >= c.joined.end


@rule("NRM205", name="half-precision-statistic", fix=Applicability.SAFE, about=("dtype",), dtypes=HALVES)
def half_precision_statistic(norm: Norm) -> Iterator[Problem]:
    """Casts the statistic to half before the root or the product, or fixes a half dtype.

    A rounded scale puts all features of its row off by the same factor, so that the error doesn't average out. A root
    taken in bf16 is off by up to 0.6 %, one rounded to it by 0.4 %; in fp16 a variance beyond 65,504 is inf, and its
    rows zeros. A hard-coded half gives any other input the wrong dtype.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        return x * scale.to(x.dtype) * weight  # error: [half-precision-statistic]
    ```
    ```diff
    -    return x * scale.to(x.dtype) * weight
    +    return (x * scale).to(x.dtype) * weight
    ```

    Fix safety: safe where the statistic stays in fp32 until the product. A hard-coded half dtype gives way to the
    input's by an unsafe fix: a caller who passes fp32 may count on the half.
    """
    for c in norm.judged:
        if (step := _narrowed(c)) is not None:
            several = tuple(other for other in norm.judged if _narrowed(other) == step)
            repair = partial(casts.widen, several, step.span)
            message = "the statistic is rounded to half before the product: rows come out up to 0.6 % off in bf16"
            yield Problem(step.span, message, repair)
        elif (fixed := _fixed(c)) is not None:
            several = tuple(other for other in norm.judged if _fixed(other) == fixed)
            repair = partial(casts.follow, several, fixed.span)
            yield Problem(fixed.span, "a hard-coded half dtype, whatever the input's was", repair)


def _narrowed(c: Computation) -> Step | None:
    """Return a cast of the statistic alone to half; None if there is none."""
    step = next((s for s in c.own_steps() if s.op == "cast" and _narrows(c, s.dtype)), None)
    centre = c.centre.steps if c.centre is not None and step is None else ()
    step = next((s for s in centre if s.op == "cast" and s.dtype in _HALF), step)
    wide = c.statistic.accumulate.wide and c.statistic.square.wide  # else it never was, which another rule says
    return step if step is not None and (wide or step.dtype in _HALF) else None


def _fixed(c: Computation) -> Step | None:
    """Return a cast of input, gain or product to a half dtype that neither input nor gain needs to have; or None."""
    casts = (*(s for s in c.input_steps if s.op == "cast"), *(g.cast for g in c.gains if g.cast is not None))
    steps = [s for s in casts if s.dtype in _HALF]
    open_ = c.returned and c.entered is DType.INPUT and not _made_half(c)
    known = [set(p).pop() for p in (c.possible, c.possible_gain) if len(p) == 1]
    return next((s for s in steps if s.dtype is not None and open_ and s.dtype.value not in known), None)


def _made_half(c: Computation) -> bool:
    """Return whether other code computes the input in a half dtype, which the norm keeps."""
    came = {s.dtype for s in deep_steps(c.statistic.inner.factors) if s.op == "cast"}
    return not came.isdisjoint(_HALF) and any(isinstance(f.atom, Apply) for f in c.input.factors)


def _narrows(c: Computation, dtype: DType | None) -> bool:
    return dtype in _HALF or (dtype is DType.INPUT and c.sees_half and not c.partial)  # the gain may well be fp32


@rule(
    "NRM207", name="offset-in-half", default=False, fix=Applicability.SAFE, unless=("NRM201", "NRM206"),
    about=("dtype",), dtypes=HALVES,
)  # fmt: skip
def offset_in_half(norm: Norm) -> Iterator[Problem]:
    """Adds 1 to its weight in the weight's own dtype.

    Small weights have no effect, and others are off by up to 0.0039: beside 1, bf16 has steps of 0.0078. The weight
    itself has eight bits of its own, however small it is, which the sum in fp32 keeps.

    ```py
    import torch
    from torch import nn

    class GemmaRMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
            return (h * (1 + self.weight)).type_as(x)  # error: [offset-in-half]
    ```
    ```diff
    -        return (h * (1 + self.weight)).type_as(x)
    +        return (h * (1 + self.weight.float())).type_as(x)
    ```

    `F.layer_norm` wants its weight in the dtype of its input: a sum that it is given is not reported.

    Fix safety: safe: weights in fp32 give what they gave.
    """
    for c in norm.judged:
        for g in c.gains if c.gain_may_be_half and not c.fused else ():
            if g.offset is not None and g.param.role == "parameter" and g.dtype in (*_OPEN, *_HALF):
                message = f"{g.offset:g} + `{g.param.label}` is rounded to a half: what is below 0.004 is lost in bf16"
                yield Problem(g.span, message, partial(offsets.widened, norm, g))
