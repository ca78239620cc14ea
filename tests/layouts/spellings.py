"""Sound norms whose count, root or eps is spelled as no table has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.layouts import Layout


@dataclass(frozen=True)
class Spelling:
    """An expression, and what it needs above the class, in it, and in the constructor."""

    text: str
    init: str = ""
    top: str = ""
    body: str = ""
    params: str = ""
    made: str = "RMSNorm(D)"


# each of them is D, and D ** 0.5 when a root is taken of it
COUNTS: Final[dict[str, Spelling]] = {
    "the last length": Spelling("x.shape[-1]"),
    "size(-1)": Spelling("x.size(-1)"),
    "size(dim=-1)": Spelling("x.size(dim=-1)"),
    "the last of all lengths": Spelling("x.size()[-1]"),
    "the length of the last axis by its number": Spelling("x.shape[x.ndim - 1]"),
    "the length from a starred tuple": Spelling("tuple(x.shape)[-1]"),
    "the number of elements by the rows": Spelling("(x.numel() // x.shape[:-1].numel())"),
    "torch.numel of one row": Spelling("torch.numel(x[..., :1, :][0])"),
    "numel of a selected row": Spelling("x[0, 0].numel()"),
    "nelement of the gain": Spelling("self.weight.nelement()"),
    "numel of the gain": Spelling("self.weight.numel()"),
    "the gain's shape": Spelling("self.weight.shape[0]"),
    "len of the gain": Spelling("len(self.weight)"),
    "len of a row": Spelling("len(x[0, 0])"),
    "a stride": Spelling("torch.empty(x.shape[-2:]).stride(0)"),
    "the product of the normalized shape": Spelling("math.prod(self.shape)", "self.shape = (dim,)", "import math\n"),
    "numpy's product": Spelling("int(np.prod(self.shape))", "self.shape = (dim,)", "import numpy as np\n"),
    "functools.reduce": Spelling(
        "functools.reduce(operator.mul, self.shape, 1)", "self.shape = (dim,)", "import functools\nimport operator\n"
    ),
    "a float": Spelling("float(x.shape[-1])"),
    "a numpy scalar": Spelling("self.count", "self.count = np.float64(dim)", "import numpy as np\n"),
    "a numpy integer": Spelling("int(self.count)", "self.count = np.int64(dim)", "import numpy as np\n"),
    "an attribute": Spelling("self.dim", "self.dim = dim"),
    "an attribute of another name": Spelling("self.hidden_size", "self.hidden_size = dim"),
    "a property": Spelling(
        "self.count", "self.dim = dim", body="    @property\n    def count(self):\n        return self.dim\n"
    ),
    "a cached property": Spelling(
        "self.count",
        "self.dim = dim",
        "import functools\n",
        "    @functools.cached_property\n    def count(self):\n        return self.dim\n",
    ),
    "a method": Spelling("self.count()", "self.dim = dim", body="    def count(self):\n        return self.dim\n"),
    "a static method": Spelling(
        "self.count(x)", body="    @staticmethod\n    def count(t):\n        return t.shape[-1]\n"
    ),
    "a helper function": Spelling("count(x)", top="def count(t):\n    return t.shape[-1]\n"),
    "a lambda": Spelling("count(x)", top="count = lambda t: t.shape[-1]\n"),
    "a lambda that is kept": Spelling("self.count(x)", "self.count = lambda t: t.size(-1)"),
    "a constant of the module": Spelling("WIDTH", top="WIDTH = 8\n"),
    "a constant of the class": Spelling("self.WIDTH", body="    WIDTH = 8\n"),
    "a number": Spelling("8"),
    "two thirds of twelve": Spelling("(12 * 2 // 3)"),
    "a dict of settings": Spelling('self.config["dim"]', 'self.config = {"dim": dim}'),
    "a dict that is asked": Spelling('self.config.get("dim", 1)', "self.config = dict(dim=dim)"),
    "a namespace": Spelling(
        "self.config.dim", "self.config = SimpleNamespace(dim=dim)", "from types import SimpleNamespace\n"
    ),
    "a named tuple": Spelling(
        "self.config.dim",
        "self.config = Config(dim)",
        "from typing import NamedTuple\n\n\nclass Config(NamedTuple):\n    dim: int\n",
    ),
    "a dataclass": Spelling(
        "self.config.dim",
        "self.config = Config(dim)",
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Config:\n    dim: int\n",
    ),
    "an enumeration": Spelling("Size.DIM.value", top="import enum\n\n\nclass Size(enum.Enum):\n    DIM = 8\n"),
    "a buffer": Spelling("self.count", 'self.register_buffer("count", torch.tensor(float(dim)))'),
    "a buffer's item": Spelling("self.count.item()", 'self.register_buffer("count", torch.tensor(float(dim)))'),
    "a buffer that isn't saved": Spelling(
        "self.count", 'self.register_buffer("count", torch.full((1,), float(dim)), persistent=False)'
    ),
    "a parameter without gradient": Spelling(
        "self.count", "self.count = nn.Parameter(torch.tensor(float(dim)), requires_grad=False)"
    ),
    "a tensor": Spelling("torch.tensor(x.shape[-1], dtype=torch.float32)"),
    "a tensor as wide as the input": Spelling("torch.tensor(float(x.shape[-1]), dtype=h.dtype, device=h.device)"),
    "a sum of ones": Spelling("torch.ones_like(h).sum(-1, keepdim=True)"),
    "ones times ones": Spelling("(torch.ones_like(h) @ torch.ones(x.shape[-1], 1, dtype=h.dtype))"),
    "the shape as a tensor": Spelling("torch.tensor(x.shape, dtype=torch.float32)[-1]"),
    "new_tensor": Spelling("h.new_tensor(x.shape[-1])"),
    "new_full": Spelling("h.new_full((), x.shape[-1])"),
    "a constructor's argument of its own": Spelling(
        "self.count", "self.count = count", params=", count=1", made="RMSNorm(D, count=D)"
    ),
    "a keyword": Spelling(
        "self.count", 'self.count = options["count"]', params=", **options", made="RMSNorm(D, count=D)"
    ),
    "functools.partial": Spelling(
        "self.count()",
        "self.count = functools.partial(int, dim)",
        "import functools\n",
    ),
    "itemgetter": Spelling("last(x.shape)", top="from operator import itemgetter\n\nlast = itemgetter(-1)\n"),
    "attrgetter": Spelling('attrgetter("shape")(x)[-1]', top="from operator import attrgetter\n"),
    "getattr": Spelling('getattr(self, "dim")', 'setattr(self, "dim", dim)'),
    "vars": Spelling('vars(self)["dim"]', "self.dim = dim"),
    "einops' parse_shape": Spelling('parse_shape(x, "b l d")["d"]', top="from einops import parse_shape\n"),
    "unpacked": Spelling("(lambda b, l, d: d)(*x.shape)"),
    "a walrus": Spelling("(d := x.shape[-1])"),
    "max of the shape": Spelling("max(x.shape)"),
    "half of twice": Spelling("(2 * x.shape[-1] / 2)"),
    "a chain of attributes": Spelling(
        "self.inner.inner.dim",
        "self.inner = SimpleNamespace(inner=SimpleNamespace(dim=dim))",
        "from types import SimpleNamespace\n",
    ),
    "in_features of a layer": Spelling("self.proj.in_features", "self.proj = nn.Linear(dim, dim)"),
    "the weight of a layer": Spelling("self.proj.weight.shape[1]", "self.proj = nn.Linear(dim, dim)"),
    "normalized_shape of torch's own": Spelling("self.other.normalized_shape[0]", "self.other = nn.LayerNorm(dim)"),
    "the length of a range": Spelling("len(range(x.shape[-1]))"),
    "bit shifts": Spelling("(1 << 3)"),
    "sys.maxsize and min": Spelling("min(x.shape[-1], sys.maxsize)", top="import sys\n"),
    "parsed from a string": Spelling('int("8")'),
    "a mean of ones": Spelling("(h.shape[-1] * torch.ones_like(h).mean())"),
    "heads times their width": Spelling("self.heads * self.width", "self.heads, self.width = 2, dim // 2"),
}
# of {0}, which is D: √D
ROOTS: Final[dict[str, str]] = {
    "** 0.5": "({0}) ** 0.5",
    "** .5": "({0}) ** .5",
    "math.sqrt": "math.sqrt({0})",
    "math.hypot": "math.hypot(({0}) ** 0.5, 0.0)",
    "np.sqrt": "float(np.sqrt({0}))",
    "pow": "pow({0}, 0.5)",
    "math.pow": "math.pow({0}, 1 / 2)",
    "logarithms": "math.exp(0.5 * math.log({0}))",
    "log2": "2 ** (math.log2({0}) / 2)",
    "one over the inverse root": "1 / ({0}) ** -0.5",
    "a tensor's root": "torch.tensor(float({0})).sqrt()",
    "a tensor's inverse root": "torch.tensor(float({0})).rsqrt().reciprocal()",
    "torch.sqrt of a new tensor": "torch.sqrt(h.new_tensor(float({0})))",
    "torch.pow": "torch.pow(torch.tensor(float({0})), 0.5)",
    "fractions": "({0}) ** float(Fraction(1, 2))",
    "a root of a root's square": "math.sqrt(math.sqrt({0}) ** 2)",
    "the length of ones": "torch.ones(int({0})).norm()",
    "torch.linalg of ones": "torch.linalg.vector_norm(torch.ones(int({0}))).item()",
    "np.linalg of ones": "float(np.linalg.norm(np.ones(int({0}))))",
    "statistics and cmath": "abs(cmath.sqrt({0}))",
    "operator.pow": "operator.pow({0}, 0.5)",
    "decimal": "float(Decimal(int({0})).sqrt())",
}
EPS: Final[dict[str, Spelling]] = {
    "of the constructor": Spelling("self.eps", "self.eps = eps", params=", eps=1e-6"),
    "as a numpy scalar": Spelling("self.eps", "self.eps = np.float32(1e-6).item()", "import numpy as np\n"),
    "as a tensor": Spelling("torch.tensor(1e-6)"),
    "as a buffer": Spelling("self.eps.float()", 'self.register_buffer("eps", torch.tensor(1e-6), persistent=False)'),
    "as a parameter": Spelling("self.eps", "self.eps = nn.Parameter(torch.tensor(1e-6), requires_grad=False)"),
    "by math": Spelling("math.exp(-6 * math.log(10))", top="import math\n"),
    "as a power of two": Spelling("2 ** -20"),
    "as a power of ten": Spelling("10 ** -6"),
    "by sys": Spelling("sys.float_info.epsilon * 2 ** 32", top="import sys\n"),
    "by finfo": Spelling("torch.finfo(h.dtype).eps * 8"),
    "by the finfo of fp32": Spelling("torch.finfo(torch.float32).eps * 8"),
    "as a class constant": Spelling("self.EPS", body="    EPS = 1e-6\n"),
    "as a module constant": Spelling("EPS", top="EPS = 1e-6\n"),
    "of a dict": Spelling('self.config["eps"]', 'self.config = {"eps": 1e-6}'),
    "of a dict by default": Spelling('self.config.get("rms_norm_eps", 1e-6)', "self.config = {}"),
    "as a property": Spelling("self.eps", body="    @property\n    def eps(self):\n        return 1e-6\n"),
    "as a method": Spelling("self.eps()", body="    def eps(self):\n        return 1e-6\n"),
    "as None, and a default": Spelling("(self.eps or 1e-6)", "self.eps = eps", params=", eps=None"),
    "as None, and a default by if": Spelling(
        "(1e-6 if self.eps is None else self.eps)", "self.eps = eps", params=", eps=None"
    ),
    "parsed from a string": Spelling('float("1e-6")'),
    "as a sum": Spelling("5e-7 + 5e-7"),
    "by full_like": Spelling("torch.full_like(h[..., :1], 1e-6)"),
    "by getattr": Spelling('getattr(self, "variance_epsilon", 1e-6)'),
    "of the environment": Spelling('float(os.environ.get("RMS_EPS", "1e-6"))', top="import os\n"),
    "by the unit in the last place": Spelling("math.ulp(1.0) * 2 ** 32", top="import math\n"),
    "by functools.partial": Spelling("small()", top="import functools\n\nsmall = functools.partial(float, 1e-6)\n"),
}
IMPORTS: Final = """import cmath
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
"""
CLASS: Final = """{top}import torch
import torch.nn.functional as F
from torch import nn
{imports}

class RMSNorm(nn.Module):
{body}    def __init__(self, dim{params}):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        {init}

    def forward(self, x):
        h = x.float()
        {forward}
"""
BACK: Final = ".type_as(x) * self.weight"
WAYS: Final[dict[str, str]] = {
    "a sum divided by": "return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / ({0}) + 1e-6))" + BACK,
    "a sum by .div with": "return (h * (h.pow(2).sum(-1, keepdim=True).div({0}) + 1e-6).rsqrt())" + BACK,
    "einsum divided by": (
        'return (h / torch.sqrt(torch.einsum("...d,...d->...", h, h).unsqueeze(-1) / ({0}) + 1e-6))' + BACK
    ),
}
ROOTED: Final[dict[str, str]] = {
    "F.normalize times": "return (F.normalize(h, dim=-1) * ({0}))" + BACK,
    "a length divided by": "return (h / (h.norm(dim=-1, keepdim=True) / ({0})).clamp_min(1e-9))" + BACK,
}


def _layout(one: Spelling, forward: str, meant: str, imports: str = "") -> Layout:
    words = {"top": one.top, "body": f"{one.body}\n" if one.body else "", "init": one.init or "self.dim_ = dim"}
    text = CLASS.format(params=one.params, imports=imports, forward=forward, **words)
    return Layout(text, f"{one.made}(x)", (f"tuple({one.made}.state_dict())",), meant)


def every() -> Iterator[tuple[str, Layout]]:
    """All of them, each once or twice."""
    for number, (name, one) in enumerate(COUNTS.items()):
        way, line = list(WAYS.items())[number % len(WAYS)]
        yield f"{way} the count as {name}", _layout(one, line.format(one.text), "rms")
        root, written = list(ROOTS.items())[number % len(ROOTS)]
        by, line = list(ROOTED.items())[number % len(ROOTED)]
        if "ones" not in one.text:  # that is a tensor of one element a row
            text = line.format(written.format(one.text))
            yield f"{by} √D by {root}, of the count as {name}", _layout(one, text, "rms0", IMPORTS)
    plain = Spelling("self.scale")
    for name, root in ROOTS.items():
        for by, line in ROOTED.items():
            kept = Spelling("self.scale", f"self.scale = {root.format('dim').replace('h.new_tensor', 'torch.tensor')}")
            yield f"{by} √D by {name}, kept", _layout(kept, line.format(plain.text), "rms0", IMPORTS)
    for name, one in EPS.items():
        line = "return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + {0}))" + BACK
        yield f"eps {name}", _layout(one, line.format(one.text), "")


LAYOUTS: Final[dict[str, Layout]] = dict(every())
