"""A text before and after its fixes, run in torch: what is worse, and what else has changed."""

from __future__ import annotations

import contextlib
import io
import linecache
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import torch

from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.selection import Demand, Selection

D: Final = 8
WISH: Final = FixRequest(Demand(Selection(("ALL",), ("NRM602",)), unsafe=True))
LIMITS: Final = {torch.float64: 1e-3, torch.float32: 1e-3, torch.bfloat16: 4e-2, torch.float16: 6e-3}
SLOPE: Final = 0.1 * torch.arange(D, dtype=torch.float64)


def fixed(text: str) -> Fixed:
    """All rules but NRM602, unsafe fixes as well."""
    done = fix_file("a.py", WISH, text.encode())
    assert isinstance(done, Fixed)
    return done


def probes() -> Iterator[tuple[str, torch.Tensor]]:
    """Inputs: plain, large, small, far from zero, with a row of zeros; in each dtype."""
    plain = torch.randn(3, 5, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    zeros = plain.clone()
    zeros[1, 2] = 0
    for dtype in LIMITS:
        yield f"{dtype}", plain.to(dtype)
        yield f"{dtype} zeros", zeros.to(dtype)
        yield f"{dtype} large", (plain * 3e3).to(dtype)
        yield f"{dtype} small", (plain * 1e-3).to(dtype)
        if dtype not in (torch.float16, torch.bfloat16):
            yield f"{dtype} far", (plain + 300).to(dtype)


def gain(dtype: torch.dtype) -> torch.Tensor:
    """What every gain is: anything but ones."""
    return (1 + SLOPE).to(dtype)


class Raised(str):
    """What was raised, by name."""


class Subject:
    """A text that has been executed."""

    def __init__(self, text: str) -> None:
        self.space: dict[str, Any] = {"__name__": "subject", "D": D}
        name = f"<subject {hash(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # torch.jit asks for it
        with _quiet():
            exec(compile(text, name, "exec", dont_inherit=True), self.space)

    def value(self, expression: str, x: torch.Tensor) -> Any:
        """Of an expression of x and w; what it raises by name."""
        torch.manual_seed(0)
        space = {**self.space, "x": x, "w": gain(x.dtype), "torch": torch}
        call = torch.nn.Module.__call__
        torch.nn.Module.__call__ = _readied(call, x.dtype)  # type: ignore[method-assign]
        try:
            with _quiet():
                return eval(expression, space)
        except Exception as error:  # noqa: BLE001 - what a text raises is what it gives
            return Raised(type(error).__name__)
        finally:
            torch.nn.Module.__call__ = call  # type: ignore[method-assign]

    def gradient(self, expression: str, x: torch.Tensor) -> Any:
        """Of a weighted sum."""
        x = x.clone().requires_grad_()
        out = self.value(expression, x)
        if not isinstance(out, torch.Tensor) or not out.requires_grad:
            return "no gradient"
        try:
            (out * _weights(out)).sum().backward()
        except RuntimeError:
            return "no gradient"
        return x.grad


def _weights(out: torch.Tensor) -> torch.Tensor:
    return torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)


def _readied(call: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """A module is moved to the input's dtype and its vectors off their first values, when it is called first."""

    def inner(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "readied"):
            self.to(dtype)
            for one in self.modules():
                one.readied = True  # type: ignore[assignment]
                for values in (vars(one), one._parameters, one._buffers):
                    for v in values.values():
                        if isinstance(v, torch.Tensor) and v.shape == (D,) and v.is_floating_point():
                            v.data.add_(SLOPE.to(v.dtype))
        return call(self, *args, **kwargs)

    return inner


def reference(meant: str, x: torch.Tensor) -> torch.Tensor:
    """The norm in fp64, with the gain that `value` sees."""
    h = x.double()
    if meant.startswith("layer"):
        c = h - h.mean(-1, keepdim=True)
        module = meant == "layer+"
        return (
            c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + (1e-6 if module else 1e-5)) * gain(h.dtype)
            + SLOPE * module
        )
    h = h * 2 if meant == "rms2" else h
    ms = h.pow(2).mean(-1, keepdim=True) + (0.0 if meant == "rms0" else 1e-6)
    return h * torch.where(ms > 0, ms, 1).rsqrt() * gain(h.dtype)


def error(got: Any, meant: Any, dtype: torch.dtype) -> float:
    """How far off it is, in units of what its dtype allows; what is no such tensor is infinitely far off."""
    if not isinstance(got, torch.Tensor) or not isinstance(meant, torch.Tensor) or got.shape != meant.shape:
        return inf
    off = (got.detach().double() - meant.detach()).abs() / (meant.detach().abs() + 0.05)
    return float(off.nan_to_num(inf, inf, inf).max()) / LIMITS[dtype] + (got.dtype != dtype)


def same(one: Any, two: Any) -> bool:
    """To the bit; what raised may be what it likes."""
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        return one.dtype == two.dtype and one.shape == two.shape and torch.equal(one.nan_to_num(), two.nan_to_num())
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return isinstance(one, Raised) or (
        type(one) is type(two) and not isinstance(one, torch.Tensor) and bool(one == two)
    )


@dataclass(frozen=True)
class Judged:
    """`worse`: where the text after the fixes is worse, or other than it must be. `off`: where it is still wrong."""

    worse: tuple[str, ...]
    off: tuple[str, ...]
    better: bool


def judged(before: str, after: str, norm: str, meant: str, others: Sequence[str] = ()) -> Judged:
    """What running both shows; `meant` is one of `reference`, or empty: what the text before gives in fp64."""
    one, two = Subject(before), Subject(after)
    worse, off, better = [], [], False
    for name, x in probes():
        wide = x.double()
        right = reference(meant, x) if meant else one.value(norm, wide.clone())
        was, now = (error(s.value(norm, x.clone()), right, x.dtype) for s in (one, two))
        worse += [f"{name}: off by {was:.3g}, then by {now:.3g}"] * (
            now > max(1.0, 10 * was if was > 10 else 1.25 * was)
        )
        off += [f"{name}: {now:.3g}"] * (now > 1)
        better = better or now < 0.9 * was
        for other in others:
            if not same(one.value(other, x.clone()), two.value(other, x.clone())):
                worse.append(f"{name}: {other} is another")
    x = next(probes())[1]
    grads = [s.gradient(norm, x) for s in (one, two)]
    if meant:
        leaf = x.clone().requires_grad_()
        right = reference(meant, leaf)
        (right * _weights(right)).sum().backward()
        grads.append(leaf.grad)
    was, now = (error(g, grads[-1 if meant else 0], x.dtype) for g in grads[:2])
    worse += [f"gradient: off by {was:.3g}, then by {now:.3g}"] * (now > max(100.0, 1.25 * was))
    off += [f"gradient: {now:.3g}"] * (now > 100)
    return Judged(tuple(worse), tuple(off), better or now < was)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
