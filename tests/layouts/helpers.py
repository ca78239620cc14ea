"""Classes, helpers and bases: what else calls them must go on as before."""

from __future__ import annotations

from tests.layouts import Layout

FUNCTION = "rms_norm(x, w)"
HELPER = """
def _scale(h, eps=1e-6):
    return {inv:h|eps}


class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        return {down:h * _scale(h, self.eps)|x} * self.weight
"""
LAYOUTS: dict[str, Layout] = {
    "a helper that a metric calls as well": Layout(
        HELPER + "\n\ndef loudness(x):\n    return 1 / _scale(x)\n", others=("loudness(x)",)
    ),
    "a helper that a gate calls as well": Layout(
        HELPER + "\n\nclass Gate(nn.Module):\n    def forward(self, x):\n        return torch.sigmoid(_scale(x))\n",
        others=("Gate()(x)",),
    ),
    "a helper that the text exports": Layout(HELPER + '\n\n__all__ = ["RMSNorm", "_scale"]\n', others=()),
    "a helper that is passed on": Layout(
        HELPER + "\n\ndef table(x, how=_scale):\n    return how(x)\n", others=("table(x)",)
    ),
    "a helper of the statistic that another function prints": Layout(
        """
def mean_square(t):
    return {ms:t}


def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:h * torch.rsqrt(mean_square(h) + eps)|x} * w


def energy(x):
    return mean_square(x)
""",
        FUNCTION,
        ("energy(x)",),
    ),
    "a helper that two norms share": Layout(
        """
def _norm(h, eps):
    return {norm:h|eps}


class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        return {down:_norm({up:x}, self.eps)|x} * self.weight


class GatedRMSNorm(RMSNorm):
    def forward(self, x):
        return {down:_norm({up:x}, self.eps)|x} * self.weight * 2
""",
    ),
    "a helper that a norm and an L2 norm share": Layout(
        """
def power(h):
    return (h * h).sum(-1, keepdim=True)


def l2_norm(x, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(power(h) + eps)).type_as(x)


def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    return {down:h * torch.rsqrt(power(h) / x.shape[-1] + eps)|x} * w
""",
        FUNCTION,
        ("l2_norm(x)", "power(x)"),
    ),
    "a helper whose sum a norm forgets to divide": Layout(
        """
def power(h):
    return (h * h).sum(-1, keepdim=True)


def l2_norm(x, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(power(h) + eps)).type_as(x)


def rms_norm(x, w, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(power(h) + eps)).type_as(x) * w
""",
        FUNCTION,
        ("l2_norm(x)", "power(x)"),
    ),
    "a helper that upcasts for one caller only": Layout(
        """
def prepare(x):
    return {up:x}


def rms_norm(x, w, eps=1e-6):
    h = prepare(x)
    return {down:{norm:h|eps}|x} * w


def mask(x):
    return prepare(x) > 0, prepare(x)
""",
        FUNCTION,
        ("mask(x)[1]",),
    ),
    "a method that its subclass calls for something else": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def _norm(self, h):
        return {norm:h|self.eps}

    def forward(self, x):
        return {down:self._norm({up:x})|x} * self.weight


class Scores(RMSNorm):
    def forward(self, x):
        return self._norm(x).sum(-1)
""",
        others=("Scores(D)(x).dtype",),
    ),
    "a method that is called from outside": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def scale(self, h):
        return {inv:h|self.eps}

    def forward(self, x):
        h = {up:x}
        return {down:h * self.scale(h)|x} * self.weight


def strength(norm, x):
    return norm.scale(x).log()
""",
        others=("strength(RMSNorm(D), x)",),
    ),
    "a static method": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    @staticmethod
    def _norm(h, eps):
        return {norm:h|eps}

    def forward(self, x):
        return {down:RMSNorm._norm({up:x}, self.eps)|x} * self.weight
"""
    ),
    "a class method": Layout(
        """
class RMSNorm(nn.Module):
    EPS = 1e-6

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    @classmethod
    def _norm(cls, h):
        return {norm:h|cls.EPS}

    def forward(self, x):
        return {down:self._norm({up:x})|x} * self.weight
"""
    ),
    "a property for the eps": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self._eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    @property
    def eps(self):
        return self._eps

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a property for the gain": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    @property
    def gain(self):
        return self.weight

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.gain
"""
    ),
    "a dataclass that holds the eps": Layout(
        """
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Config:
    dim: int = 8
    eps: float = 1e-6


class RMSNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.ones(config.dim))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.config.eps}|x} * self.weight
""",
        "RMSNorm(Config(D))(x)",
    ),
    "a dataclass that is the norm": Layout(
        """
from dataclasses import dataclass

import torch


@dataclass
class RMSNorm:
    weight: torch.Tensor
    eps: float = 1e-6

    def __call__(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
""",
        "RMSNorm(w)(x)",
    ),
    "__call__ in place of forward": Layout(
        """
class RMSNorm:
    def __init__(self, weight, eps=1e-6):
        self.weight = weight
        self.eps = eps

    def __call__(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
""",
        "RMSNorm(w)(x)",
    ),
    "keyword-only constructor": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, *, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
""",
        "RMSNorm(dim=D)(x)",
    ),
    "starred constructor": Layout(
        """
class RMSNorm(nn.Module):
    def __init__(self, *shape, **options):
        super().__init__()
        self.eps = options.get("eps", 1e-6)
        self.weight = nn.Parameter(torch.ones(*shape))

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a constructor that calls its base by name": Layout(
        """
class Base(nn.Module):
$INIT

class RMSNorm(Base):
    def __init__(self, dim, *, eps=1e-6):
        Base.__init__(self, dim, eps)

    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a base class whose hook makes the norm": Layout(
        """
class Base(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        return {down:self.normalise(h)|x} * self.weight

    def normalise(self, h):
        raise NotImplementedError


class RMSNorm(Base):
    def normalise(self, h):
        return {norm:h|self.eps}


class Identity(Base):
    def normalise(self, h):
        return h
""",
        others=("Identity(D)(x)",),
    ),
    "a base class that also serves a plain scale": Layout(
        """
class Base(nn.Module):
$INIT
    def prepare(self, x):
        return {up:x}


class RMSNorm(Base):
    def forward(self, x):
        h = self.prepare(x)
        return {down:{norm:h|self.eps}|x} * self.weight


class Scale(Base):
    def forward(self, x):
        return self.prepare(x) * self.weight
""",
        others=("Scale(D)(x)",),
    ),
    "multiple inheritance": Layout(
        """
class HasEps:
    eps = 1e-6


class HasWeight(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))


class RMSNorm(HasEps, HasWeight):
    def forward(self, x):
        h = {up:x}
        return {down:{norm:h|self.eps}|x} * self.weight
"""
    ),
    "a mixin with the statistic": Layout(
        """
class Statistic:
    def inverse(self, h):
        return {inv:h|self.eps}


class RMSNorm(Statistic, nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        return {down:h * self.inverse(h)|x} * self.weight


class Temperature(Statistic):
    eps = 1.0

    def __call__(self, x):
        return self.inverse(x).mean()
""",
        others=("Temperature()(x)",),
    ),
}
