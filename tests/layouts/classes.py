"""Classes in classes, decorated methods, several norms in one function, and torch spelled in every way."""

from __future__ import annotations

from tests.layouts import HEAD, Layout

FUNCTION = "rms_norm(x, w)"

LAYOUTS: dict[str, Layout] = {
    "nested classes": Layout(
        """
class Block(nn.Module):
    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = {up:x}
            return {down:{norm:h|self.eps}|x} * self.weight

    def __init__(self, dim):
        super().__init__()
        self.norm = Block.RMSNorm(dim)

    def forward(self, x):
        return x + self.norm(x)
""",
        "Block.RMSNorm(D)(x)",
    ),
    "a class made in a function": Layout(
        """
def make(dim, eps=1e-6):
    class RMSNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = {up:x}
            return {down:{norm:h|eps}|x} * self.weight

    return RMSNorm()
""",
        "make(D)(x)",
    ),
    "a decorated forward": Layout(
        """
import functools


def traced(level):
    def wrap(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    return wrap


class RMSNorm(nn.Module):
$INIT
    @traced(level=2)
    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
""".replace("import functools", "import functools\n" + HEAD, 1)
    ),
    "a decorator that casts": Layout(
        """
import functools


def in_float(function):
    @functools.wraps(function)
    def inner(self, x):
        return function(self, x.float()).to(x.dtype)

    return inner


class RMSNorm(nn.Module):
$INIT
    @in_float
    def forward(self, x):
        return {norm:x|self.eps} * self.weight
""".replace("import functools", "import functools\n" + HEAD, 1)
    ),
    "torch.jit.script": Layout(
        """
@torch.jit.script
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "torch.compile with arguments": Layout(
        """
@torch.compile(dynamic=True, disable=True)
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "torch.compiler.disable on a method": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    @torch.compiler.disable
    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "autocast switched off": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            h = {up:x}
            return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "norms of queries and keys in one function": Layout(
        """
class Attention(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.q_weight = nn.Parameter(torch.ones(dim))
        self.k_weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        q, k = x * 2, x * 3
        hq, hk = {up:q}, {up:k}
        q_norm = {down:{norm:hq|self.eps}|x} * self.q_weight
        k_norm = {down:{norm:hk|self.eps}|x} * self.k_weight
        return q_norm, k_norm
""",
        "Attention(D)(x)[0]",
        meant="rms2",
    ),
    "one norm right and one wrong in a function": Layout(
        """
def rms_norms(x, w, eps=1e-6):
    a = x.float()
    first = (a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * w
    h = {up:x}
    second = {down:{norm:h|eps}|x} * w
    return first, second
""",
        "rms_norms(x, w)[1]",
        ("rms_norms(x, w)[0]",),
    ),
    "a norm whose input is used again": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        residual = x
        x = {up:x}
        x = {norm:x|self.eps}
        return {down:x|residual} * self.weight + 0 * residual
"""
    ),
    "a norm beside a residual": Layout(
        """
class RMSNormBlock(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        y = {down:{norm:h|self.eps}|x} * self.weight
        return x + y, y
""",
        "RMSNormBlock(D)(x)[1]",
    ),
    "einops for the statistic's row": Layout(
        """
import torch
from torch import nn
from einops import rearrange


class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = rearrange({up:x}, "b l d -> (b l) d")
        y = {norm:h|self.eps}
        y = rearrange(y, "(b l) d -> b l d", b=x.shape[0])
        return {down:y|x} * self.weight
"""
    ),
    "type parameters": Layout(
        """
def identity[T](value: T) -> T:
    return value


def rms_norm[T: torch.Tensor](x: T, w: T, eps: float = 1e-6) -> T:
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "an overload and a protocol above it": Layout(
        """
from typing import Protocol, overload

import torch


class Normalizer(Protocol):
    def __call__(self, x: torch.Tensor) -> torch.Tensor: ...


@overload
def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor: ...
@overload
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor: ...
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "a default from the class": Layout(
        """
class RMSNorm(nn.Module):
    EPS = 1e-6

    def __init__(self, dim, eps=EPS):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "functools.partial of the function": Layout(
        """
import functools


def _rms_norm(x, w, eps):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w


rms_norm = functools.partial(_rms_norm, eps=1e-6)
""".replace("import functools", "import functools\n" + HEAD, 1),
        FUNCTION,
    ),
    "a table of functions": Layout(
        """
def _rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w


NORMS = {"rms": _rms_norm, "none": lambda x, w: x}
""",
        'NORMS["rms"](x, w)',
        ('NORMS["none"](x, w)',),
    ),
    "getattr and setattr on the module": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        setattr(self, "eps", eps)
        self.register_parameter("weight", nn.Parameter(torch.ones(dim)))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|getattr(self, "eps")}|x} * self.weight
"""
    ),
    "a wrapper around the forward of another": Layout(
        """
class _Core(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, h):
        return {norm:h|self.eps}


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.core = _Core()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return {down:self.core({up:x})|x} * self.weight
"""
    ),
    "a Sequential of norm and linear": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight


head = nn.Sequential(RMSNorm(8), nn.Linear(8, 8))
""",
    ),
    "a module-level norm": Layout(
        """
def measure(x):
    return {inv:x|1e-6}


def rms_norm(x, w):
    h = {up:x}
    return {down:h.mul(measure(h))|x}.mul(w)


def peak(x):
    return measure(x).max()
""",
        FUNCTION,
        ("peak(x)",),
    ),
    "torch functions for every step": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return torch.mul(w, {down:torch.mul(h, {inv:h|eps})|x})
""",
        FUNCTION,
    ),
    "out of a dictionary": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    state = {"h": {up:x}}
    state["s"] = {inv:state["h"]|eps}
    return {down:state["h"] * state["s"]|x} * w
""",
        FUNCTION,
    ),
    "attributes of an object": Layout(
        """
from types import SimpleNamespace

import torch


def rms_norm(x, w, eps=1e-6):
    o = SimpleNamespace(h={up:x})
    o.s = {inv:o.h|eps}
    return {down:o.h * o.s|x} * w
""",
        FUNCTION,
    ),
    "x.mul(x) for the square": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:h.mul(torch.rsqrt(h.mul(h).mean(-1, keepdim=True) + eps))|x}.mul(w)
""",
        FUNCTION,
    ),
    "a function that takes the norm and gives the gradient": Layout(
        """
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
        ("Function.apply(x)",),
    ),
}
