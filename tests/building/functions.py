"""Functions, and what cannot be built."""

from __future__ import annotations

from normlint.verify.job import Meaning
from tests.building.case import CORE, SQUARES, Case, cls, layer, rms

BODY = "    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + "
FUNCTIONS = {
    "the input alone": Case(f"def norm(x):\n{BODY}1e-6)\n", rms("", eps=1e-6), 1e-6, False),
    "a weight and an eps": Case(f"def norm(x, weight, eps=1e-5):\n{BODY}eps) * weight\n", rms(), 1e-5, True, True),
    "an eps that is required": Case(f"def norm(x, w, eps):\n{BODY}eps) * w\n", rms("w"), 1e-6, True, True),
    "a weight that may be left out": Case(
        f"def norm(x, weight=None):\n    w = 1 if weight is None else weight\n{BODY}1e-6) * w\n", rms(eps=1e-6)
    ),
    "forty inputs that it does nothing with": Case(
        f"def norm(x, weight, {', '.join(f'a{i}' for i in range(40))}):\n{BODY}1e-6) * weight\n", rms(eps=1e-6)
    ),
    "a gain of one more": Case(f"def norm(x, g):\n{BODY}1e-6) * (1 + g)\n", rms("g", offset=1.0, eps=1e-6)),
    "a normalized_shape, a weight and a bias": Case(
        "def norm(x, normalized_shape, weight, bias, eps: float):\n"
        "    return F.layer_norm(x, normalized_shape, weight, bias, eps)\n", layer(), 1e-6, True, True,
    ),
    "a dim that is required": Case(
        "def norm(t, dim):\n    return t / t.norm(dim=dim, keepdim=True)\n", Meaning("l2"), None, False
    ),
    "a weight of channels": Case(
        f"def norm(x, weight):\n    return x * torch.rsqrt({SQUARES} + 1e-6) * weight[:, None, None]\n",
        rms(axes=(1,), eps=1e-6), 1e-6, True, False, (4,),
    ),
    "a weight that broadcasts": Case(
        "def norm(x, weight):\n    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * weight\n",
        rms(axes=(1,), eps=1e-6), 1e-6, True, False, (3, 4),
    ),
}  # fmt: skip


UNBUILT = {
    "a helper that isn't there": (
        "class Norm(Core):\n    def __init__(self, dim):\n        super().__init__(dim)\n"
        "    def forward(self, x):\n        return my_kernel(x) * self.weight\n", "my_kernel",
    ),
    "a name missing in the constructor": (cls(", dim", "dim", "self.act = ACT2FN['silu']"), "ACT2FN"),
    "a package that isn't installed": (cls(", dim", "dim", "import no_such_package"), "no_such_package"),
    "an argument that nobody can guess": (cls(", dim, callback", "dim"), "a value for callback"),
    "a constructor that raises": (
        cls(", dim", "dim", "raise ValueError('dim must be prime')"),
        "a constructor that runs (ValueError: dim must be prime)",
    ),
    "a condition with no neutral value": (
        CORE + "    def forward(self, x, cond):\n"
        "        return self._norm(x) * self.weight * (cond.sin() + x.roll(1, -1))\n",
        "a value for cond",
    ),
    "an attribute that nobody sets": (
        CORE + "    def forward(self, x):\n        return self._norm(x) * self.weight * self.factor\n",
        "the attribute factor",
    ),
    "an entry that isn't there": ("", "Norm"),
}  # fmt: skip
