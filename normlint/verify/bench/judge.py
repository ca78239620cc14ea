"""Run all probes on a norm and derive its verdict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

import torch
from torch import Tensor

from normlint.text.verdict import EFFECTIVE_EPS, MATCH, PRECISION, SKIPPED, WRONG, Probe, Verdict
from normlint.verify.bench import measure, words
from normlint.verify.bench.bench import Bench, LeftOutError, Outcome, RaisedError, effective, wide
from normlint.verify.bench.causes import ROW_OVERFLOWS, cause
from normlint.verify.bench.effective_eps import Settled, fit, of_half, rows, settle
from normlint.verify.bench.moving import movable
from normlint.verify.bench.probes import CLONES_DIFFER, FP32, HALVES, PLAIN, SHORT, Case, with_rank
from normlint.verify.bench.properties import CHECKS, D, others, plain
from normlint.verify.bench.sweep import sweep
from normlint.verify.subject import CannotBuildError, Made, Subject

ALL: Final = (torch.float32, torch.float16, torch.bfloat16)
EMPTY: Final = "empty"
PASSED: Final = "eps as passed"
EXACT: Final = 1e-6
GAIN_SHAPE: Final = (64, 1024)
SMALL_GAIN: Final = 1.5 * 2**-9  # 1 + w is 1 in bf16
Check = Callable[[], Iterator[Outcome]]


@dataclass(frozen=True, slots=True)
class More:
    """Additions to the usual probes: the only shape the norm takes (features last), more cases, and named checks."""

    shape: tuple[int, ...] | None = None
    cases: tuple[Case, ...] = ()
    checks: tuple[tuple[str, Callable[[Bench], Iterator[Outcome]]], ...] = ()


def judge(
    subject: Subject,
    *,
    device: str = "cpu",
    dtypes: Sequence[torch.dtype] | None = None,
    seed: int = 0,
    draws: bool = False,
    more: More | None = None,
) -> Verdict:
    """Run all probes and return the verdict on this device and with this version of torch.

    `draws`: also measure the curves that a report draws. `more`: additions to the usual probes.
    """
    more = more or More()
    bench = Bench(subject, device, seed, more.shape)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=()):
        warnings.simplefilter("ignore")
        try:
            settled = _settled(bench)
            bench.reference = settled.reference
            seen = ALL if subject.meaning.halves else ALL[:1]
            outcomes = tuple(_outcomes(bench, settled, tuple(dtypes or seen), more))
            drawn = sweep(bench, tuple(dtypes or seen)) if draws else None
        except CannotBuildError as error:
            return Verdict(SKIPPED, f"needs {error}", device)
    return replace(_verdict(outcomes, settled, device), sweep=drawn)


def _verdict(outcomes: tuple[Outcome, ...], settled: Settled, device: str) -> Verdict:
    failed = sorted((o for o in outcomes if not o.probe.passed), key=lambda o: (o.status != WRONG, o.order))
    # an eps that was fitted to code that isn't the norm means nothing
    normal = outcomes[0].probe.passed or failed[0].probe.probe == EFFECTIVE_EPS
    worst = failed[0].probe if failed else max((o.probe for o in outcomes), key=_share_of_limit, default=None)
    return Verdict(
        failed[0].status if failed else MATCH,
        failed[0].probe.message if failed else "",
        device,
        settled.effective if normal else None,
        settled.given,
        settled.form if normal else "",
        worst,
        tuple(o.probe for o in outcomes),
    )


def _share_of_limit(probe: Probe) -> float:
    return probe.error / probe.limit if probe.limit else 0.0


def _outcomes(bench: Bench, settled: Settled, dtypes: tuple[torch.dtype, ...], more: More) -> Iterator[Outcome]:
    """Yield the outcomes of all probes, or of the plain one alone where it raises."""
    first = tuple(_run_check(PLAIN.name, "fp32", PLAIN.label, partial(_check_output, bench, PLAIN, 100)))
    for one in first:
        values = one.order not in (RAISED, SHAPE)
        if one.probe.passed or (values and bench.subject.meaning.reported):
            continue
        if doubt := bench.subject.doubt(values=values) or (values and _unknown_factor(bench)):
            raise CannotBuildError(f"{doubt} ({one.probe.message})")
    yield from first
    if any(o.order == RAISED for o in first):
        return
    yield Outcome(Probe(EFFECTIVE_EPS, "fp32", settled.error, 0.0, settled.message), 20)
    cases = [case for case in (*FP32, *HALVES, *more.cases) if case.dtype in dtypes]
    checks: list[tuple[str, str, str, Check]] = [
        (case.name, SHORT[case.dtype], case.label, partial(_check_output, bench, case, 101 + n))
        for n, case in enumerate(cases)
    ]
    halves = [dtype for dtype in dtypes if dtype != torch.float32]
    checks += [("row gain", SHORT[h], f"{SHORT[h]} input", partial(_row_gain, bench, h)) for h in halves]
    checks += [(name, "fp32", name, partial(check, bench)) for name, check in (*more.checks, *CHECKS)]
    checks.append(("moves to another device", "fp32", "moves to another device", partial(movable, bench)))
    yield from chain.from_iterable(_run_check(*check) for check in checks)


def _has_effect(bench: Bench, made: Made, parameter: Tensor, x: Tensor) -> bool:
    """Return whether the output depends on a parameter, which is changed for good."""
    with torch.no_grad():
        before = bench.run(made, x.clone())
        parameter.add_(1)
        try:
            return not torch.equal(before, bench.run(made, x.clone()))
        except RaisedError:  # it tests the parameter
            return True


def _unknown_factor(bench: Bench) -> str:
    """Return what must be known of a gain that isn't applied as it is, or of another parameter that scales; else ""."""
    made, x = bench.fresh(bench.size(D)), plain(bench, 5)
    for name, other in others(made, x.shape[-1]):
        if not bool(((other == 0) | (other == 1)).all()) and _has_effect(bench, made, other, x):
            return f"to know what `{name}` does"
    gain, _ = effective(made, x.shape[-1])
    if made.gain is None or gain is None or not gain.isfinite().all() or ((gain - 1).abs() < EXACT).all():
        return ""
    with torch.no_grad():
        y, exact = bench.run(made, x.clone()), wide(x)
    if y.shape != x.shape or not _has_effect(bench, made, made.gain, x):
        return ""
    off = measure.elementwise(y, *bench.reference.with_spread(exact))
    return "to know how its gain is computed" if off <= measure.LIMIT[torch.float32] else ""


RAISED: Final = 5
SHAPE: Final = 10


def _run_check(name: str, short: str, about: str, check: Check) -> Iterator[Outcome]:
    """Yield a check's outcomes; if the norm raises, the check fails."""
    try:
        yield from check()
    except LeftOutError:
        return
    except RaisedError as error:
        if name == EMPTY:  # a norm need not take an empty input
            yield Outcome(Probe(name, short, 0.0, 0.0, f"{about}: {error}"))
            return
        if name == PASSED and str(error).startswith("raises AssertionError"):  # the text refuses other eps
            return
        if "zero" in name and str(error).startswith("raises ValueError"):  # rows of zeros are refused
            return
        message = f"{about}: {error}"
        yield Outcome(Probe(name, short, 1.0, 0.0, message), RAISED if name == PLAIN.name and short == "fp32" else 35)


def _settled(bench: Bench) -> Settled:
    """Measure the eps that takes effect on one row at many scales, and return the reference that follows."""
    subject, d = bench.subject, bench.size(D)
    made = bench.made(d)
    gain, _ = effective(made, d)
    x, direction = rows(d, subject.meaning.kind == "layer", bench.device, bench.generator(50))
    found = None
    try:
        y = _outputs_without_shift(bench, x, d)
    except (RaisedError, LeftOutError):
        y = None
    if y is not None:
        plain = direction if gain is None else direction * gain
        scaled = plain / d**0.5 if subject.meaning.kind == "l2" else plain
        found = fit(y, scaled) if scaled.shape == (d,) else None
    return settle(found, subject.meaning, None if subject.meaning.eps_computed else made.eps, d)


def _outputs_without_shift(bench: Bench, x: Tensor, d: int) -> Tensor | None:
    """Return the norm's output for `x` (rows, d) with the shift set to zero; None if it changes the shape."""
    made = bench.made(d)
    shift = None if made.shift is None else made.shift.detach().clone()
    with torch.no_grad():
        if made.shift is not None:
            made.shift.zero_()
        shape = bench.shape or with_rank(tuple(x.shape), bench.subject.ranks)
        alone = bench.shape is not None or len(shape) == 1  # run each row by itself, repeated to fill the shape
        given = [row.expand(shape) for row in x] if alone else [x.reshape(shape)]
        found = [bench.run(made, one.clone()) for one in given]
        if made.shift is not None and shift is not None:
            made.shift.copy_(shift)
    if any(y.shape != one.shape for y, one in zip(found, given, strict=True)):
        return None
    return torch.stack([y.reshape(-1, d)[0] for y in found]) if alone else found[0].reshape(x.shape)


def _check_output(bench: Bench, wanted: Case, salt: int) -> Iterator[Outcome]:
    """Check the shape, the dtype and the values of the output for one input."""
    case = bench.adapted(wanted)
    if case is None:
        return
    made = bench.made(case.shape[-1], case.dtype)
    x = bench.filled(case, salt)
    kept = x.clone()
    try:
        with torch.no_grad():
            made, y = bench.run_pinned(made, x.detach() if case.twist in CLONES_DIFFER else x.clone())
    except RaisedError as error:
        if not case.twist or not bench.subject.doubt(values=False):
            raise
        # refusing such a layout with an exception, as `view` does, is allowed
        yield Outcome(Probe(case.name, SHORT[case.dtype], 0.0, 0.0, f"{case.label}: {error}"))
        return
    yield _compared(bench, case, made, kept, y)


def _compared(bench: Bench, case: Case, made: Made, x: Tensor, y: Tensor) -> Outcome:
    short, limit = SHORT[case.dtype], measure.LIMIT[case.dtype]
    if y.shape != x.shape:
        return Outcome(Probe(case.name, short, 1.0, 0.0, words.of_shape(y, case)), SHAPE)
    if y.dtype != x.dtype:
        return Outcome(Probe(case.name, short, 1.0, 0.0, words.of_dtype(y, case)), 50)
    ref, spread = bench.expected(made, x)
    note = ""
    if bench.subject.meaning.kind == "l2" and case.twist:
        y, note = _without_zero_rows(x, y, ref)
    error = measure.elementwise(y, ref, spread)
    if error <= limit:
        return Outcome(Probe(case.name, short, error, limit, note))
    for held, why in of_half(bench.reference, case.dtype):
        near = measure.elementwise(y, *bench.expected(made, x, held))
        if near <= limit:
            message = why and f"{case.label}: {why}"
            return Outcome(Probe(case.name, short, error if why else near, limit, message), _order(case), PRECISION)
    why = cause(case, x, y, bench.reference, effective(made, case.shape[-1]))
    message = words.of_value(case, y, ref, error, why)
    if bench.subject.meaning.kind == "l2" and why == ROW_OVERFLOWS:  # torch's own norm does so too
        return Outcome(Probe(case.name, short, 0.0, limit, message))
    lenient = case.extreme and (bench.subject.meaning.lenient or bench.subject.meaning.kind == "l2")
    return Outcome(Probe(case.name, short, error, limit, message), _order(case), PRECISION if lenient else WRONG)


def _order(case: Case) -> int:
    if case.dtype != torch.float32:
        return 52
    return 40 if case.twist == "zero row" else 30


def _without_zero_rows(x: Tensor, y: Tensor, ref: Tensor) -> tuple[Tensor, str]:
    """Return an L2 norm's output with NaN rows that belong to zero rows taken from `ref`, and a note of that or ""."""
    zero = (x.cpu() == 0).all(-1, keepdim=True) & ~torch.isfinite(y)
    return torch.where(zero, ref.to(y), y), "a row of zeros gives NaN" if zero.any() else ""


def _row_gain(bench: Bench, dtype: torch.dtype) -> Iterator[Outcome]:
    """Check in half precision that whole rows aren't scaled wrongly, on ordinary input and without the shift."""
    case = bench.adapted(Case("row gain", "input", GAIN_SHAPE, dtype))
    limit = None if case is None else measure.row_gain_limit(case.shape[-1])
    if case is None or limit is None or bench.subject.meaning.kind == "l2":  # F.normalize rounds its norm to half
        return
    made = bench.made(case.shape[-1], dtype)
    if others(made, case.shape[-1]):  # which may scale by another number once it is rounded
        return
    x = torch.randn(case.shape, generator=bench.generator(90)).to(bench.device, dtype)
    with torch.no_grad():
        if made.shift is not None:
            made.shift.zero_()
        try:
            y = bench.run(made, x.clone())
        except RaisedError:  # as the other inputs in half precision say
            return
    if y.shape != x.shape or y.dtype != dtype:
        return
    references = [bench.reference, *(held for held, why in of_half(bench.reference, dtype) if not why)]
    exact, parts = wide(x), effective(made, x.shape[-1])
    error = min(measure.row_gain(y, held(exact, *parts)) for held in references)
    why = f"rows are scaled off by {error:.2g} times its precision: a statistic kept in {SHORT[dtype]}"
    message = "" if error <= limit else f"{SHORT[dtype]} input: {why}"
    yield Outcome(Probe("row gain", SHORT[dtype], error, limit, message), 90, PRECISION)
    if dtype == torch.bfloat16 and made.offset == 1 and made.gain is not None:
        with torch.no_grad():
            made.gain.fill_(SMALL_GAIN)
            error = measure.row_gain(bench.run(made, x.clone()), bench.expected(made, x)[0])
        message = "" if error <= limit else "1 + w is rounded to bf16: a gain of 0.003 is lost"
        yield Outcome(Probe("small gain", SHORT[dtype], error, limit, message), 92, PRECISION)
