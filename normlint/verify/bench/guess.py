"""Judge a live module or function; what the caller doesn't say about it is read from it or found by trial."""

from __future__ import annotations

import contextlib
import io
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from normlint.text.verdict import Verdict
from normlint.verify.bench.bench import USER_ERRORS, Bench, Outcome, RaisedError
from normlint.verify.bench.judge import More, judge
from normlint.verify.bench.live import EPS, Call, Live, LiveFunction, LiveModule, attribute, compiled_like, parameters
from normlint.verify.bench.probes import LAYOUTS, PREFERRED_RANKS
from normlint.verify.bench.properties import D, plain, within
from normlint.verify.bench.reference import Reference, flat
from normlint.verify.job import FLOOR_OF_ROOT, Meaning
from normlint.verify.subject import Made

GAINS: Final = ("weight", "gamma", "scale", "g", "a_2", "gain")
SHIFTS: Final = ("bias", "beta", "b_2", "shift")
KINDS: Final = ("rms", "layer", "l2")
MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller says about the norm; None where it says nothing.

    `shape`: the only shape that the norm takes. `inputs`: returns all its arguments, given the tensor to normalise.
    """

    kind: str | None = None
    eps: float | None = None
    axis: int = -1
    shape: tuple[int, ...] | None = None
    inputs: Callable[[Tensor], Any] | None = None


def verdict(
    target: Any, asked: Asked, device: str | None = None, dtypes: Sequence[torch.dtype] | None = None, seed: int = 0
) -> Verdict:
    """Return the verdict on a live module or function, run on `device` or else where its parameters are."""
    with running(), contextlib.redirect_stdout(io.StringIO()):  # only the judge checks what is printed
        subject = live(target, asked)
    more = More(features_last(asked.shape, subject), LAYOUTS, (("second output", partial(_second_output, subject)),))
    with running():
        return judge(subject, device=device or place(target), dtypes=dtypes, seed=seed, more=more)


def place(target: Any) -> str:
    """Return the device of the first parameter, "cpu" where there is none."""
    return next((str(p.device) for p in getattr(target, "parameters", tuple)()), "cpu")


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Suppress warnings, restore the random state afterwards, and raise torch's limit on recompilations."""
    with _raised_recompile_limit(), warnings.catch_warnings(), torch.random.fork_rng(devices=()):
        warnings.simplefilter("ignore")
        yield


def features_last(shape: tuple[int, ...] | None, subject: Live) -> tuple[int, ...] | None:
    """Return the only shape that the norm takes with its features moved to one last axis; None for any shape."""
    if shape is None:
        return None
    lead = list(shape[: len(shape) - max(len(subject.call.inner), 1)])
    if subject.call.axis != -1:
        lead = [n for i, n in enumerate(shape) if i != subject.call.axis % len(shape)]
    return (*lead, math.prod(shape) // math.prod(lead))


def _second_output(subject: Live, bench: Bench) -> Iterator[Outcome]:
    """Check that a second result of the input's shape and dtype is the tensor that is normalised: a residual sum."""
    x = plain(bench, 12)
    second = replace(subject, call=replace(subject.call, output=1)).make(bench.size(D), device=bench.device)
    try:
        with torch.no_grad():
            y, x = bench.run(second, x.clone()), x.cpu()
    except RaisedError:  # there is none
        return
    if y.shape == x.shape and y.dtype == x.dtype:
        off = ((y - x).abs().amax() / x.abs().amax()).item() / torch.finfo(x.dtype).eps
        yield within("second output", off, 4.0, "the second output is not the tensor that is normalised", 61)


@contextlib.contextmanager
def _raised_recompile_limit() -> Iterator[None]:
    """Raise torch's limit on recompilations, since the probes have more shapes and dtypes than it allows."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is None:
        yield
        return
    name = "recompile_limit" if hasattr(dynamo.config, "recompile_limit") else "cache_size_limit"
    with dynamo.config.patch({name: 64}):
        yield


def live(target: Any, asked: Asked) -> Live:
    """Return the subject for a live module or function."""
    original = getattr(target, "_orig_mod", target)
    if isinstance(original, nn.Module):
        found: Live = _module_subject(target, original, asked)
    else:
        found = _function_subject(target, asked)
    found.ranks = _ranks(found) if asked.shape is None else (len(features_last(asked.shape, found) or ()),)
    kinds = (asked.kind,) if asked.kind else _named_kinds(original)
    found.meaning = _closest_meaning(found, kinds, features_last(asked.shape, found))
    return found


def _module_subject(target: Any, module: nn.Module, asked: Asked) -> LiveModule:
    paths = list(_gain_candidates(module))
    gain, shift = (next((p for n in names for p in paths if p.split(".")[-1] == n), "") for names in (GAINS, SHIFTS))
    eps = _eps_of(module) if asked.eps is None else asked.eps
    meaning = Meaning("", eps=eps, gain=gain, shift=shift, filled_later=True)
    inner = _normalized_shape(module)
    sizes = [t.numel() for t in (attribute(module, gain), attribute(module, shift)) if t is not None and t.numel() > 1]
    size = math.prod(inner) if inner else next(iter(sizes), None)
    compiled = None if target is module else partial(compiled_like, target)
    call = Call(-1 if len(inner) > 1 else asked.axis, inner, asked.inputs)
    size = size if asked.shape is None or len(inner) > 1 else asked.shape[asked.axis]
    return LiveModule(module, compiled, meaning=meaning, sizes=(size,) if size else None, call=call)


def _gain_candidates(module: nn.Module) -> Iterator[str]:
    """Yield the dotted paths of tensors that may be a gain or shift, the module's own first."""
    named = [(n, t) for n, t in vars(module).items() if isinstance(t, Tensor)]
    named += sorted((*module.named_parameters(), *module.named_buffers()), key=lambda item: item[0].count("."))
    # at most one axis is longer than 1: a matrix is no gain
    yield from (n for n, t in named if t.is_floating_point() and t.numel() == max(t.shape, default=1))


def _function_subject(target: Any, asked: Asked) -> LiveFunction:
    taken = _filled_by_inputs(target, asked)
    names = {name: default for name, default in parameters(target).items() if name not in taken}
    default = next((names[n] for n in EPS if isinstance(names.get(n), float)), None)
    if target is torch.nn.functional.rms_norm:
        default = torch.finfo(torch.float32).eps  # of the dtype it computes in
    gain, shift = (next((n for n in group if n in names), "") for group in (GAINS, SHIFTS))
    meaning = Meaning("", eps=default if asked.eps is None else asked.eps, gain=gain, shift=shift, filled_later=True)
    takes_eps = any(n in names for n in EPS)
    sizes = None if asked.shape is None else (asked.shape[asked.axis],)
    call = Call(asked.axis, inputs=asked.inputs)
    return LiveFunction(target, meaning=meaning, sizes=sizes, takes_eps=takes_eps, call=call)


def _filled_by_inputs(target: Any, asked: Asked) -> tuple[str, ...]:
    """Return the names of the parameters that the caller's own `inputs` fill."""
    if asked.inputs is None:
        return ()
    found = asked.inputs(torch.ones(asked.shape or (2, 3, D)))
    if isinstance(found, dict):
        return tuple(found)
    return tuple(parameters(target))[: len(found) if isinstance(found, (tuple, list)) else 1]


def _eps_of(module: nn.Module) -> float | None:
    """Return the stored eps, for a torch.nn.RMSNorm without one that of fp32, in which it computes; else None."""
    held = [(part, n) for part in module.modules() for n in EPS]
    found = [getattr(part, n) for part, n in held if isinstance(getattr(part, n, None), (int, float, Tensor))]
    if not found and any(isinstance(part, nn.RMSNorm) for part in module.modules()):
        return torch.finfo(torch.float32).eps
    return float(found[0]) if found else None


def _normalized_shape(module: nn.Module) -> tuple[int, ...]:
    """Return the module's `normalized_shape` as a tuple, () where it has none."""
    shape = getattr(module, "normalized_shape", ())
    shape = (shape,) if isinstance(shape, int) else shape
    fits = isinstance(shape, (tuple, list)) and all(isinstance(n, int) for n in shape)
    return tuple(shape) if fits else ()


def _ranks(subject: Live) -> tuple[int, ...]:
    """Return the numbers of axes that the norm runs with; also 3 if it runs with 1 at most, so that it is reported."""
    d = subject.sizes[0] if subject.sizes else 8
    axis = subject.call.axis
    least = axis + 1 if axis >= 0 else -axis
    if isinstance(subject, LiveModule) and subject.compiled is not None:
        return (max(3, least),)
    made, ranks = subject.make(d), range(least, 6)
    for shapes in ([(*(2, 3, 4, 5)[: r - 1], d) for r in ranks], [(d,) * r for r in ranks]):
        found = tuple(len(s) for s in shapes if math.prod(s) <= MOST and _runs(made, s))
        if any(rank > 1 for rank in found):
            return found  # axes of equal length are tried only if no others work
    return (*found, max(3, least))


def _runs(made: Made, shape: tuple[int, ...]) -> bool:
    """Return whether the norm returns a tensor of this shape for an input of this shape."""
    try:
        with torch.no_grad():
            y = made.run(torch.ones(shape))
    except USER_ERRORS:
        return False
    return isinstance(y, Tensor) and y.shape == shape


def _named_kinds(target: Any) -> tuple[str, ...]:
    """Return the kinds of norm that the type or name allows, all where neither tells."""
    name = getattr(target, "__name__", type(target).__name__).lower().replace("_", "")
    if isinstance(target, nn.RMSNorm) or "rms" in name:
        return ("rms",)
    if isinstance(target, nn.LayerNorm) or "layernorm" in name:
        return ("layer",)
    return ("l2",) if "l2" in name else KINDS


def _closest_meaning(subject: Live, kinds: tuple[str, ...], shape: tuple[int, ...] | None = None) -> Meaning:
    """Return the meaning with the kind and offset whose reference comes closest to the output for one input."""
    meant = subject.meaning
    candidates = [
        replace(meant, kind=kind, offset=offset, form=FLOOR_OF_ROOT if kind == "l2" else meant.form)
        for kind in kinds
        for offset in ((0.0, 1.0) if meant.gain else (0.0,))
    ]
    scored = [(error, n) for n, error in enumerate(_errors(subject, candidates, shape))]
    return candidates[min(scored)[1]]


def _errors(subject: Live, candidates: list[Meaning], shape: tuple[int, ...] | None) -> Iterator[float]:
    d = subject.sizes[0] if subject.sizes else D
    made = subject.make(d)
    g = torch.Generator().manual_seed(0)
    shape = shape or (*(2,) * (next((r for r in PREFERRED_RANKS if r in subject.ranks), 3) - 1), d)
    x = torch.randn(shape, generator=g) + 0.5
    with torch.no_grad():
        for one in (made.gain, made.shift):
            if one is not None:
                one.copy_(torch.rand(one.shape, generator=g) + 0.5)
        try:
            y = made.run(x.clone())
        except USER_ERRORS:
            y = None
        for meant in candidates:
            yield _error(meant, made, x, y)


def _error(meant: Meaning, made: Made, x: Tensor, y: Any) -> float:
    d = x.shape[-1]
    gain = None if made.gain is None else flat(made.gain.double() + meant.offset, d)
    shift = None if made.shift is None else flat(made.shift.double(), d)
    ref = Reference(meant.kind, eps=meant.eps or 0.0)(x.double(), gain, shift)
    if not isinstance(y, Tensor) or y.shape != ref.shape:
        return 0.0
    return ((y.double() - ref).abs().max() / ref.abs().max()).nan_to_num(1e30).item()
