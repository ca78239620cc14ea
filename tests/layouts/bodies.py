"""Whole bodies: branches, loops, closures, imports and names that are bound anew."""

from __future__ import annotations

from tests.layouts import HEAD, Layout

FUNCTION = "rms_norm(x, w)"

LAYOUTS: dict[str, Layout] = {
    "match and case": Layout(
        """
def rms_norm(x, w, eps=1e-6, mode="plain"):
    h = {up:x}
    match mode:
        case "plain":
            h = {norm:h|eps}
        case "none":
            return x
        case _:
            raise ValueError(mode)
    return {down:h|x} * w
""",
        FUNCTION,
        ('rms_norm(x, w, mode="none")',),
    ),
    "match on the number of axes": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    match x.dim():
        case 1:
            raise ValueError("rows")
        case _:
            h = {up:x}
            return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "an async function": Layout(
        """
import asyncio


async def _rms_norm(x, w, eps=1e-6):
    h = {up:x}
    await asyncio.sleep(0)
    return {down:{norm:h|eps}|x} * w


def rms_norm(x, w):
    return asyncio.run(_rms_norm(x, w))
""".replace("import asyncio", "import asyncio\n" + HEAD, 1),
        FUNCTION,
    ),
    "a generator": Layout(
        """
def rms_norms(xs, w, eps=1e-6):
    for x in xs:
        h = {up:x}
        yield {down:{norm:h|eps}|x} * w
""",
        "next(rms_norms([x], w))",
    ),
    "a comprehension": Layout(
        """
def rms_norms(xs, w, eps=1e-6):
    return [{down:{up:x} * {inv:{up:x}|eps}|x} * w for x in xs]
""",
        "rms_norms([x], w)[0]",
    ),
    "try and finally": Layout(
        """
calls = []


def rms_norm(x, w, eps=1e-6):
    try:
        h = {up:x}
        return {down:{norm:h|eps}|x} * w
    finally:
        calls.append(x.dtype)
""",
        FUNCTION,
        ("(rms_norm(x, w), calls[-1])[1]",),
    ),
    "a with statement over half of it": Layout(
        """
import contextlib


def rms_norm(x, w, eps=1e-6):
    with contextlib.nullcontext(), contextlib.nullcontext():
        h = {up:x}
        s = {inv:h|eps}
    return {down:h * s|x} * w
""".replace("import contextlib", "import contextlib\n" + HEAD, 1),
        FUNCTION,
    ),
    "a global eps": Layout(
        """
EPS = 1e-6


def set_eps(value):
    global EPS
    EPS = value


def rms_norm(x, w):
    global EPS
    h = {up:x}
    return {down:{norm:h|EPS}|x} * w
""",
        FUNCTION,
    ),
    "a nonlocal statistic": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    scale = None

    def measure(t):
        nonlocal scale
        scale = {inv:t|eps}

    h = {up:x}
    measure(h)
    return {down:h * scale|x} * w
""",
        FUNCTION,
    ),
    "a nested function with the same names": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    def report(x, h):
        return x.mean(-1, keepdim=True), h

    h = {up:x}
    rms_norm.seen = report(x, x)[0]
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
        ("(rms_norm(x, w), rms_norm.seen)[1]",),
    ),
    "a loop over groups": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    parts = []
    for part in x.split(1, dim=0):
        h = {up:part}
        parts.append({down:{norm:h|eps}|x})
    return torch.cat(parts, dim=0) * w
""",
        FUNCTION,
    ),
    "a name that is bound anew again and again": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    dtype = x.dtype
    y = x
    x = {up:x}
    x = {norm:x|eps}
    x = {down:x|y}
    x = x * w
    assert dtype == y.dtype
    return x
""",
        FUNCTION,
    ),
    "augmented assignments": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    s = {ms:h}
    s += eps
    y = h * 1
    y *= torch.rsqrt(s)
    y = {down:y|x}
    y = y * w
    return y
""",
        FUNCTION,
    ),
    "a tuple on both sides": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h, dtype = {up:x}, x.dtype
    s, _ = {inv:h|eps}, None
    return {down:h * s|x} * w
""",
        FUNCTION,
    ),
    "starred arguments and keywords": Layout(
        """
def _rms_norm(h, eps, **unused):
    return {norm:h|eps}


def rms_norm(x, w, *args, **kwargs):
    h = {up:x}
    return {down:_rms_norm(h, *(args or (1e-6,)), **kwargs)|x} * w
""",
        FUNCTION,
    ),
    "keyword-only and positional-only parameters": Layout(
        """
def rms_norm(x, /, w, *, eps=1e-6):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "an import in the function": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    import torch

    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "torch by another name": Layout(
        """
import torch as t


def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:h * t.rsqrt({ms:h} + eps)|x} * w
""",
        FUNCTION,
    ),
    "conditional imports": Layout(
        """
try:
    from apex.normalization import FusedRMSNorm as fused
except ImportError:
    fused = None

if fused is None:
    import torch
    from torch import nn


class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        if fused is not None:
            return fused(x)
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a star import": Layout(
        """
from torch import *
from torch.nn import *
import torch


class RMSNorm(Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = Parameter(ones(dim))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a coding line, a licence and no last line end": Layout(
        "# -*- coding: utf-8 -*-\n# Größe\nimport torch\ndef rms_norm(x, w, eps=1e-6):\n    h = {up:x}\n"
        "    return {down:{norm:h|eps}|x} * w",
        FUNCTION,
    ),
    "two equal subexpressions": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    return {down:{up:x} * torch.rsqrt(({up:x} * {up:x}).mean(-1, keepdim=True) + eps)|x} * w
""",
        FUNCTION,
    ),
    "the statistic written twice": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    top, low = h.chunk(2, dim=-1)
    y = torch.cat([top * {inv:h|eps}, low * {inv:h|eps}], dim=-1)
    return {down:y|x} * w
""",
        FUNCTION,
    ),
    "both branches of a flag": Layout(
        """
def rms_norm(x, w, eps=1e-6, late=True):
    h = {up:x}
    if late:
        return {down:{norm:h|eps}|x} * w
    return {down:{norm:h|eps} * w|x}
""",
        FUNCTION,
        meant="rms",
    ),
    "a dtype that is kept": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        input_dtype = x.dtype
        x = {up:x}
        variance = {ms:x}
        x = x * torch.rsqrt(variance + self.eps)
        return self.weight * x.to(input_dtype)
"""
    ),
    "the statistic deleted once it is used": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    scale = {inv:h|eps}
    y = h * scale
    del h, scale
    return {down:y|x} * w
""",
        FUNCTION,
    ),
    "a loop that runs once": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h, done = {up:x}, False
    while not done:
        h, done = {norm:h|eps}, True
    return {down:h|x} * w
""",
        FUNCTION,
    ),
    "asserts between the steps": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    assert 0 < eps < 1, f"eps is {eps}"
    h = {up:x}
    assert h.shape == x.shape, (
        "rows"
    )
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "try, except and else": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    try:
        eps = float(eps)
    except ValueError:
        raise TypeError("eps") from None
    else:
        h = {up:x}
        y = {norm:h|eps}
    return {down:y|x} * w
""",
        FUNCTION,
    ),
    "a dictionary of norms by name": Layout(
        """
def rms_norms(xs, w, eps=1e-6):
    wide = {name: {up:x} for name, x in xs.items()}
    return {name: {down:{norm:wide[name]|eps}|x} * w for name, x in xs.items()}
""",
        'rms_norms({"q": x}, w)["q"]',
    ),
    "one of a tuple": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return ({down:{norm:h|eps}|x} * w, None)[0]
""",
        FUNCTION,
    ),
}
