"""Check properties of a norm besides its values: determinism, gradients, state, the initial gain, and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from normlint.text.verdict import PRECISION, SKIPPED, Probe, percent
from normlint.verify.bench import measure, words
from normlint.verify.bench.bench import (
    USER_ERRORS,
    Bench,
    LeftOutError,
    Outcome,
    RaisedError,
    as_outcome,
    effective,
    wide,
)
from normlint.verify.bench.causes import of_gradient
from normlint.verify.bench.probes import PLAIN, Case
from normlint.verify.bench.reference import Reference
from normlint.verify.job import ADDED, FLOOR_OF_ROOT, FLOOR_OF_SQUARE
from normlint.verify.names import input_role, is_rate
from normlint.verify.subject import CannotBuildError, Made

PASSED_EPS: Final = 0.3
D: Final = 16
FAINT: Final = 1e-4
OWN: Final = "own"
SAME: Final = 1e-3
ROWS: Final = 2  # the salt of the random input whose rows are changed one by one


def holds(name: str, fine: bool, message: str, order: int) -> Outcome:
    """Return the outcome of a check in fp32 that either passes or fails, without a measured error."""
    return Outcome(Probe(name, "fp32", 0.0 if fine else 1.0, 0.0, "" if fine else message), order)


def within(name: str, error: float, limit: float, message: str, order: int) -> Outcome:
    """Return the outcome of a check in fp32 that measured `error` and allows at most `limit`."""
    return Outcome(Probe(name, "fp32", error, limit, "" if error <= limit else message), order)


def plain(bench: Bench, salt: int) -> Tensor:
    """Return an ordinary fp32 input in a shape the norm takes, which there always is."""
    return bench.filled(bench.adapted(PLAIN) or PLAIN, salt)


def determinism(bench: Bench) -> Iterator[Outcome]:
    """Check in training mode that the same input gives the same output, and that it is not changed in place."""
    made, x = bench.made(bench.size(D)), plain(bench, 1)
    given = x.clone()
    with torch.no_grad():
        y, z = bench.run(made, given), bench.run(made, x.clone())
    fine = y.shape == z.shape and not bool(_differ(y, z).any())
    yield holds("determinism", fine, "the same input gives two different outputs", 13)
    message = "the input is changed in place: the caller's tensor is overwritten"
    yield holds("input not mutated", torch.equal(given, x), message, 12)


def _differ(y: Tensor, z: Tensor) -> Tensor:
    """Return a mask of the elements that are not exactly equal; NaN equals NaN."""
    return ~(torch.eq(y, z) | (torch.isnan(y) & torch.isnan(z)))


def independence(bench: Bench) -> Iterator[Outcome]:
    """Check that changing one token leaves the outputs of the other tokens exactly as they were."""
    made, x = bench.made(bench.size(D)), plain(bench, ROWS)
    count = math.prod(x.shape[:-1])
    if count < 2:
        return
    with torch.no_grad():
        y, z = bench.run(made, x.clone()), bench.run(made, with_row_changed(x, 0))
    if y.shape != x.shape or z.shape != x.shape:
        return  # the value probes report a wrong shape
    others = shares_moved(y.reshape(count, -1), z.reshape(count, -1), 0)[1:]
    moved = sum(share != 0 for share in others)
    message = f"changing one token changes {moved} of the {count - 1} others, by up to {percent(max(others))}"
    yield holds("token independence", moved == 0, message, 14)


def with_row_changed(x: Tensor, row: int) -> Tensor:
    """Return a copy of the input in which one row is reversed, scaled and shifted."""
    other = x.clone()
    rows = other.reshape(-1, x.shape[-1])
    rows[row] = rows[row].flip(-1) * 3 + 1  # no norm takes it for the same row in another scale
    return rows.reshape(x.shape)


def shares_moved(before: Tensor, after: Tensor, row: int) -> tuple[float, ...]:
    """Return how far each row of the output moved, as a share of the largest element outside `row`; 0: not at all."""
    off = torch.where(_differ(before, after), (after - before).abs(), 0.0).double().amax(-1)
    size = torch.cat((before[:row], before[row + 1 :])).abs().nan_to_num(0.0, 0.0).amax().clamp(min=1e-30)
    return tuple(share if math.isfinite(share) else math.inf for share in (off / size).tolist())


def evaluation(bench: Bench) -> Iterator[Outcome]:
    """Check that eval mode is deterministic, with dropout rates set to 0.5, and gives the values of training mode."""
    d = bench.size(D)
    made, x = bench.randomise(bench.fresh(d), d), plain(bench, 11)
    if made.module is None:
        return
    x.reshape(-1, x.shape[-1])[0] *= FAINT  # shows another eps
    with torch.no_grad():
        trained = bench.run(made, x.clone())  # the norm may update its state here, as in training
        for part in made.module.modules():
            for name in [name for name, value in vars(part).items() if _is_probability(name, value)]:
                setattr(part, name, 0.5)
        made.module.eval()
        y, z = bench.run(made, x.clone()), bench.run(made, x.clone())
    if not trained.shape == y.shape == z.shape or not torch.isfinite(trained).all():
        return
    message = "in eval mode the same input gives two different outputs"
    if not _differ(y, z).any():
        off = ((y.double() - trained.double()).abs().amax() / trained.abs().amax().clamp(min=1e-30)).item()
        message = "" if off <= words.NEAR else f"in eval mode the output is another one, by up to {percent(off)}"
    yield holds("evaluation", not message, message, 36)


def _is_probability(name: str, value: Any) -> bool:
    return is_rate(name) and isinstance(value, float) and 0 <= value < 1


def initial(bench: Bench) -> Iterator[Outcome]:
    """Check the shape and dtype of a fresh norm's gain, and that the norm scales by 1 and shifts by 0."""
    d = bench.size(D)
    made, x, meaning = bench.fresh(d), plain(bench, 4), bench.subject.meaning
    gain, shift = effective(made, d)
    if meaning.kind != "l2" and gain is not None:
        message = words.lone_gain(gain, d)
        yield holds("gain shape", not message, message, 72)
        half = made.initial_dtype in (torch.float16, torch.bfloat16)
        message = f"the gain is made in {str(made.initial_dtype).removeprefix('torch.')}: a module in fp32 keeps it so"
        yield replace(holds("gain dtype", not half, message, 74), status=PRECISION)
    if meaning.filled_later:
        return
    message = words.unfilled(gain, shift)
    if not message and meaning.kind != "l2":
        with torch.no_grad():
            y = bench.run(made, x.clone())
        ref, spread = bench.reference.with_spread(wide(x))
        if y.shape == ref.shape and measure.elementwise(y, ref, spread) > measure.LIMIT[torch.float32]:
            message = "" if meaning.zero_gain and not y.any() else words.initial(y, ref, gain, made.offset)
    yield holds("initial gain", not message, message, 65)


def gradients(bench: Bench) -> Iterator[Outcome]:
    """Compare the gradients of the input, a leaf that requires grad, and of the gain with the reference's."""
    made, x = bench.made(bench.size(D)), plain(bench, 5)
    up = torch.randn(x.shape, generator=bench.generator(6)).double()
    leaf = x.clone().requires_grad_()
    got, got_gain = _autograd(bench, made, leaf, up)
    want, want_gain = _exact(bench.reference, made, x, up)
    eps = torch.finfo(torch.float32).eps
    if got is None:
        yield holds("input gradient", False, "the output has no gradient with respect to the input", 60)
    else:
        gain = effective(made, x.shape[-1])[0]
        terms = bench.reference.gradient_terms(wide(x), up, gain)
        off = measure.rowwise(got, want, terms, eps)
        why = of_gradient(got, wide(x), up, bench.reference, gain) if off > measure.GRADIENT_LIMIT else ""
        yield within("input gradient", off, measure.GRADIENT_LIMIT, words.gradient("input", off * eps) + why, 60)
    if made.gain is not None and want_gain is not None:
        if got_gain is None:
            yield holds("gain gradient", not made.trained, "the gain gets no gradient", 62)
        else:
            off = measure.rowwise(got_gain.reshape(-1), want_gain.reshape(-1), 0.0, eps)
            yield within("gain gradient", off, measure.GRADIENT_LIMIT, words.gradient("gain", off * eps), 62)
    if made.shift is not None and made.module is not None and made.shift.requires_grad:
        fine = _trains_shift(bench, made, x) or any(_trains_shift(bench, made, x, flag) for flag in _flags(made.module))
        yield holds("shift gradient", fine, "the shift gets no gradient", 63)


def _flags(module: Any) -> list[str]:
    """Return the module's own options that are on or off, one of which may choose what is trained."""
    known = vars(torch.nn.Module())
    return [name for name, value in vars(module).items() if isinstance(value, bool) and name not in known]


def _trains_shift(bench: Bench, made: Made, x: Tensor, flag: str = "") -> bool:
    """Return whether the shift gets a gradient, with one of the module's options the other way round."""
    module, shift = made.module, made.shift
    if flag:
        setattr(module, flag, not getattr(module, flag))
    try:
        with torch.enable_grad():
            y = bench.run(made, x.clone())
            found = torch.autograd.grad(y.sum(), shift, allow_unused=True) if y.requires_grad else (None,)  # type: ignore[arg-type]
        return found[0] is not None
    except USER_ERRORS as error:
        raise as_outcome(error) from error
    finally:
        if flag:
            setattr(module, flag, not getattr(module, flag))


def zero_gradient(bench: Bench) -> Iterator[Outcome]:
    """Check that the gradient at a row of zeros is finite."""
    made, x = bench.made(bench.size(D)), plain(bench, 7)
    x.reshape(-1, x.shape[-1])[0] = 0
    got, _ = _autograd(bench, made, x.requires_grad_(), torch.ones(x.shape))
    if got is None:
        return
    fine = bool(torch.isfinite(got).all())
    message = "" if fine else "the gradient at a row of zeros is not finite: one padding row spoils every weight"
    error = 0.0 if fine or bench.subject.meaning.kind == "l2" else 1.0
    yield Outcome(Probe("gradient at zero", "fp32", error, 0.0, message), 45)


def half_gradient(bench: Bench) -> Iterator[Outcome]:
    """Check that a hand-written backward has its statistic in fp32, which in bf16 scales whole rows wrongly."""
    case = bench.adapted(Case("half gradient", "input", (64, 1024), torch.bfloat16))
    limit = None if case is None or not bench.subject.meaning.halves else measure.row_gain_limit(case.shape[-1])
    if case is None or limit is None or bench.subject.meaning.kind == "l2":
        return
    small = bench.made(bench.size(D), torch.bfloat16)
    with torch.enable_grad():
        try:
            y = bench.run(small, plain(bench, 10).bfloat16().requires_grad_())
        except RaisedError:  # as the inputs in half precision say
            return
    if not _is_handwritten(y.grad_fn):
        return
    made = bench.made(case.shape[-1], torch.bfloat16)
    x, up = (torch.randn(case.shape, generator=bench.generator(n)).to(bench.device, torch.bfloat16) for n in (92, 93))
    got, _ = _autograd(bench, made, x.clone().requires_grad_(), wide(up))
    want, _ = _exact(bench.reference, made, x, wide(up))
    if got is not None:
        error = measure.row_gain(got, want)
        message = f"rows of the gradient are scaled off by {error:.2g} times its precision: a statistic saved in bf16"
        yield replace(within("half gradient", error, limit, f"bf16: {message}", 91), status=PRECISION)


def _is_handwritten(node: Any, depth: int = 4) -> bool:
    """Return whether one of the last `depth` steps before the output has a backward written in Python."""
    if node is None or depth == 0:
        return False
    own = isinstance(node, torch.autograd.function.BackwardCFunction)
    return own or any(_is_handwritten(before, depth - 1) for before, _ in node.next_functions)


def _autograd(bench: Bench, made: Made, leaf: Tensor, up: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the norm's gradients of input and gain, None for each that does not exist."""
    wanted = [leaf] if made.gain is None else [leaf, made.gain.requires_grad_()]
    with torch.enable_grad():
        y = bench.run(made, leaf)
        if not y.requires_grad:
            return None, None
        if y.shape != up.shape:
            raise RaisedError(f"gives shape {tuple(y.shape)} for an input of shape {tuple(up.shape)}")
        try:
            # differentiates a scalar: torch imports sympy to look at any other shape
            found = torch.autograd.grad((y * up.to(y)).sum(), wanted, allow_unused=True)
        except USER_ERRORS as error:
            raise as_outcome(error) from error
    got = [None if g is None else g.cpu() for g in found]
    return got[0], got[1] if len(got) > 1 else None


def _exact(reference: Reference, made: Made, x: Tensor, up: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the reference's gradients of input and gain in fp64, None for the gain where there is none."""
    gain, shift = effective(made, x.shape[-1])
    exact = wide(x).requires_grad_()
    wanted = [exact] if gain is None else [exact, gain.requires_grad_()]
    with torch.enable_grad():
        found = torch.autograd.grad((reference(exact, gain, shift) * up).sum(), wanted)
    return found[0], found[1] if len(found) > 1 else None


def passed_eps(bench: Bench) -> Iterator[Outcome]:
    """Check that an eps that is passed is the one that takes effect."""
    if not bench.subject.takes_eps or bench.subject.meaning.eps_computed:
        return
    d = bench.size(D)
    try:
        made = bench.randomise(bench.fresh(d, eps=PASSED_EPS), d)
    except CannotBuildError as refused:
        raise LeftOutError(str(refused)) from refused
    x = plain(bench, 8) * 0.01
    with torch.no_grad():
        y = bench.run(made, x.clone())
    if y.shape != x.shape:
        return
    gain, shift = effective(made, d)

    def off(ref: Reference) -> float:
        return measure.elementwise(y, *ref.with_spread(wide(x), gain, shift))

    error, limit = min(map(off, _with_eps(bench.reference))), measure.LIMIT[torch.float32]
    yield within("eps as passed", error, limit, _acting_instead(off, bench.reference, limit), 64)


def _acting_instead(off: Callable[[Reference], float], reference: Reference, limit: float) -> str:
    """Describe what takes effect in place of the passed eps."""
    for ref, acting in ((replace(reference, eps=0.0), "has no effect"), (reference, f"{reference.eps:g} acts")):
        if off(ref) <= limit:
            return f"eps={PASSED_EPS} is passed, but {acting}"
    return f"eps={PASSED_EPS} is passed, but doesn't act as eps"


def _with_eps(reference: Reference) -> Iterator[Reference]:
    """Yield a reference for each sound way in which the passed eps may enter."""
    for form in dict.fromkeys((reference.form, ADDED, FLOOR_OF_SQUARE, FLOOR_OF_ROOT)):
        for summed in dict.fromkeys((reference.summed, True)):
            yield Reference(reference.kind, form, PASSED_EPS, summed)


def saved(bench: Bench) -> Iterator[Outcome]:
    """Check that gain and shift are in the state dict or move with the module; a buffer is one on purpose."""
    made = bench.made(bench.size(D))
    if made.module is None or (made.gain is None and made.shift is None):
        return
    state = [t for t in made.module.state_dict(keep_vars=True).values() if isinstance(t, Tensor)]
    passing = [t for t in made.module.buffers() if all(t is not kept for kept in state)]  # not saved, but moved
    for name, one in (("gain", made.gain), ("shift", made.shift)):
        if one is not None and all(one is not t for t in passing):
            fine = any(t is one or (t.data_ptr() == one.data_ptr() and t.numel() >= one.numel()) for t in state)
            message = f"the {name} is not in state_dict: it is neither saved, moved nor trained"
            yield holds(f"{name} in state_dict", fine, message, 48)


def quiet(bench: Bench) -> Iterator[Outcome]:
    """Check that a second fp32 call prints nothing; printing once, or in another dtype only, is allowed."""
    made, x = bench.made(bench.size(D)), plain(bench, 12)
    bench.run(made, x.clone())
    before = len(bench.printed.getvalue())
    bench.run(made, x.clone())
    text = bench.printed.getvalue()[before:].strip()
    message = f"prints at every call: {text.splitlines()[0][:60]!r}" if text else ""
    yield holds("prints nothing", not text, message, 78)


def others(made: Made, d: int) -> list[tuple[str, Tensor]]:
    """Return the parameters of the module with one number a feature that are neither its gain nor its shift."""
    found = () if made.module is None else made.module.named_parameters(recurse=False)
    return [(name, p) for name, p in found if p.numel() == d and p is not made.gain and p is not made.shift]


def effects(bench: Bench) -> Iterator[Outcome]:
    """Check that each element of another parameter scales or shifts its own feature, in all rows alike.

    Where a gain or a bias has no effect, the way to call the norm that agrees may be one that leaves out what the norm
    forgets; and where another parameter has another effect, what agrees may do so for its first values alone.
    """
    d = bench.size(D)
    made, x = bench.made(d), plain(bench, 5)
    for name, p in others(made, d):
        if name in bench.subject.meaning.held or not p.is_floating_point():
            continue
        moved = [_moved(bench, made, p, x, at) for at in (0, d // 2, d - 1)]
        forgotten = p.requires_grad and input_role(name) in ("gain", "shift") and not any(moved)
        what = "to know what `{}` does" if any(moved) else "a way to call it in which `{}` has an effect"
        fine = moved == [OWN] * len(moved) or not (any(moved) or forgotten)
        yield replace(holds("effect of parameters", fine, f"needs {what.format(name)}", 99), status=SKIPPED)


def _moved(bench: Bench, made: Made, p: Tensor, x: Tensor, at: int) -> str:
    """Return what changes with one element of a parameter: OWN for its feature by one factor or summand; "" nothing."""
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(at), p.shape))
    element = p.detach()[place].clone()
    with torch.no_grad():
        before, afters = bench.run(made, x.clone()).double(), []
        for step in (0.7, -0.3):
            p[place] = element + step
            try:
                afters.append(bench.run(made, x.clone()).double())
            except RaisedError:  # it tests the parameter
                afters.append(before)
        p[place] = element
    after = next((y for y in afters if not torch.equal(before, y)), before)
    if before.shape != x.shape or after is before:
        return ""
    was, now = (y.reshape(-1, x.shape[-1]) for y in (before, after))
    column = torch.tensor([at])
    alone = torch.equal(was.index_fill(1, column, 0), now.index_fill(1, column, 0))
    steps = (now[:, at] / was[:, at], now[:, at] - was[:, at])
    steady = any(bool(torch.allclose(step, step[:1], rtol=SAME, atol=SAME)) for step in steps)
    return OWN if alone and steady else "more"


CHECKS: Final[tuple[tuple[str, Callable[[Bench], Iterator[Outcome]]], ...]] = (
    ("determinism", determinism),
    ("token independence", independence),
    ("evaluation", evaluation),
    ("initial gain", initial),
    ("input gradient", gradients),
    ("gradient at zero", zero_gradient),
    ("half gradient", half_gradient),
    ("eps as passed", passed_eps),
    ("gain in state_dict", saved),
    ("prints nothing", quiet),
)
