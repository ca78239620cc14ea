"""The choices: phrase by phrase, what each one looks like in source text.

A template's `{x}` is set in parentheses where an attribute or operator would need it, `{x__}` where a factor would,
`{x_}` never. Unsound choices stand in the same tables, named in `UNSOUND`: a defect is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Reduction:
    """How the statistic is taken: over squares (mean, sum) or over the rows themselves (norm, var, std ...)."""

    family: str
    text: str
    keep: str = ", keepdim=True"


@dataclass(frozen=True, slots=True)
class Count:
    """How the feature count enters, and which power of the mean square is left: 1, 0.5, or 0 when all is done."""

    family: str
    text: str
    power: float = 1.0
    needs_self: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """How eps joins: inside the root or outside, for which power of the mean square."""

    text: str
    power: float = 1.0
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """How the root is taken, from which power, and whether the input is multiplied by it or divided."""

    text: str
    sense: str
    power: float = 1.0


SQUARES: Final[dict[str, str]] = {
    "x.pow(2)": "{x}.pow(2)",
    "x ** 2": "{x} ** 2",
    "x * x": "{x} * {x}",
    "torch.square(x)": "torch.square({x_})",
    "torch.pow(x, 2)": "torch.pow({x_}, 2)",
    "x.square()": "{x}.square()",
    "the square forgotten": "{x}",
    "x.abs() for the square": "{x}.abs()",
    "torch.abs(x) for the square": "torch.abs({x_})",
}

REDUCTIONS: Final[dict[str, Reduction]] = {
    "mean(-1, keepdim)": Reduction("mean", "{v}.mean({axis_}{keep_})"),
    "mean(-1, True)": Reduction("mean", "{v}.mean({axis_}{keep_})", ", True"),
    "mean(dim=-1)": Reduction("mean", "{v}.mean(dim={axis_}{keep_})"),
    "mean(axis=-1, keepdims)": Reduction("mean", "{v}.mean(axis={axis_}{keep_})", ", keepdims=True"),
    "torch.mean(v, dim=-1)": Reduction("mean", "torch.mean({v_}, dim={axis_}{keep_})"),
    "torch.mean(v, -1)": Reduction("mean", "torch.mean({v_}, {axis_}{keep_})"),
    "sum(-1)": Reduction("sum", "{v}.sum({axis_}{keep_})"),
    "sum(dim=-1)": Reduction("sum", "{v}.sum(dim={axis_}{keep_})"),
    "torch.sum(v, -1, True)": Reduction("sum", "torch.sum({v_}, {axis_}{keep_})", ", True"),
    "torch.sum(v, dim=-1)": Reduction("sum", "torch.sum({v_}, dim={axis_}{keep_})"),
    "x.norm(dim=-1)": Reduction("norm", "{x}.norm(dim={axis_}{keep_})"),
    "x.norm(2, dim=-1)": Reduction("norm", "{x}.norm(2, dim={axis_}{keep_})"),
    "x.norm(p=2, dim=-1)": Reduction("norm", "{x}.norm(p=2, dim={axis_}{keep_})"),
    "torch.norm(x, 2, -1, True)": Reduction("norm", "torch.norm({x_}, 2, {axis_}{keep_})", ", True"),
    "torch.norm(x, dim=-1)": Reduction("norm", "torch.norm({x_}, dim={axis_}{keep_})"),
    "torch.linalg.norm(x, dim=-1)": Reduction("norm", "torch.linalg.norm({x_}, dim={axis_}{keep_})"),
    "torch.linalg.vector_norm(x, dim=-1)": Reduction("norm", "torch.linalg.vector_norm({x_}, dim={axis_}{keep_})"),
    "F.normalize(x, dim=-1)": Reduction("normalize", "F.normalize({x_}, dim={axis_})"),
    "F.normalize(x, p=2.0, dim=-1)": Reduction("normalize", "F.normalize({x_}, p=2.0, dim={axis_})"),
    "F.normalize(x, 2.0, -1)": Reduction("normalize", "F.normalize({x_}, 2.0, {axis_})"),
    "F.normalize(x, dim=-1, eps)": Reduction("normalize", "F.normalize({x_}, dim={axis_}, eps={eps_})"),
    "x.var(-1, unbiased=False)": Reduction("var", "{x}.var({axis_}, unbiased=False{keep_})"),
    "x.var(dim=-1, unbiased=False)": Reduction("var", "{x}.var(dim={axis_}{keep_}, unbiased=False)"),
    "x.var(dim=-1, correction=0)": Reduction("var", "{x}.var(dim={axis_}, correction=0{keep_})"),
    "torch.var(x, dim=-1, unbiased=False)": Reduction("var", "torch.var({x_}, dim={axis_}, unbiased=False{keep_})"),
    "torch.var(x, -1, correction=0)": Reduction("var", "torch.var({x_}, {axis_}, correction=0{keep_})"),
    "torch.var_mean(unbiased=False)": Reduction("var_mean", "torch.var_mean({x_}, dim={axis_}, unbiased=False{keep_})"),
    "torch.var_mean(correction=0)": Reduction("var_mean", "torch.var_mean({x_}, {axis_}, correction=0{keep_})"),
    "x.std(-1, unbiased=False)": Reduction("std", "{x}.std({axis_}, unbiased=False{keep_})"),
    "torch.std(x, dim=-1, correction=0)": Reduction("std", "torch.std({x_}, dim={axis_}, correction=0{keep_})"),
    "mean() over everything": Reduction("mean", "{v}.mean()", ""),
    "torch.mean(v) over everything": Reduction("mean", "torch.mean({v_})", ""),
    "mean(dtype=) over everything": Reduction("mean", "{v}.mean(dtype=torch.float32)", ""),
    "sum() over everything": Reduction("sum", "{v}.sum()", ""),
    "torch.sum(v) over everything": Reduction("sum", "torch.sum({v_})", ""),
    "x.norm() over everything": Reduction("norm", "{x}.norm()", ""),
    "torch.linalg.vector_norm(x) over everything": Reduction("norm", "torch.linalg.vector_norm({x_})", ""),
    "x.var() over everything": Reduction("var", "{x}.var(unbiased=False)", ""),
    "torch.var(x) over everything": Reduction("var", "torch.var({x_}, unbiased=False)", ""),
    "F.normalize(x) by default": Reduction("normalize", "F.normalize({x_})"),
    "F.normalize(x, p=2.0) by default": Reduction("normalize", "F.normalize({x_}, p=2.0)"),
    "F.normalize(x, eps) by default": Reduction("normalize", "F.normalize({x_}, eps={eps_})"),
    "x.var(-1), unbiased": Reduction("var", "{x}.var({axis_}{keep_})"),
    "x.var(dim=-1), unbiased": Reduction("var", "{x}.var(dim={axis_}{keep_})"),
    "x.var(unbiased=True)": Reduction("var", "{x}.var(dim={axis_}, unbiased=True{keep_})"),
    "torch.var(correction=1)": Reduction("var", "torch.var({x_}, dim={axis_}, correction=1{keep_})"),
    "torch.var(x, dim=-1), unbiased": Reduction("var", "torch.var({x_}, dim={axis_}{keep_})"),
    "torch.var_mean(x, dim=-1), unbiased": Reduction("var_mean", "torch.var_mean({x_}, dim={axis_}{keep_})"),
    "x.std(-1), unbiased": Reduction("std", "{x}.std({axis_}{keep_})"),
    "torch.std(x, dim=-1), unbiased": Reduction("std", "torch.std({x_}, dim={axis_}{keep_})"),
}

COUNTS: Final[dict[str, Count]] = {
    "a mean": Count("mean", "{s_}"),
    "over shape[-1]": Count("sum", "{s} / {x}.shape[-1]"),
    "over size(-1)": Count("sum", "{s} / {x}.size(-1)"),
    "over self.dim": Count("sum", "{s} / self.dim", needs_self=True),
    "times one over D": Count("sum", "{s} * (1.0 / {x}.shape[-1])"),
    "by .div(D)": Count("sum", "{s}.div({x}.shape[-1])"),
    "by torch.div(_, D)": Count("sum", "torch.div({s_}, {x}.size(-1))"),
    "times D ** -0.5": Count("norm", "{s} * {x}.shape[-1] ** -0.5", 0.5),
    "over D ** 0.5": Count("norm", "{s} / {x}.shape[-1] ** 0.5", 0.5),
    "over math.sqrt(D)": Count("norm", "{s} / math.sqrt({x}.shape[-1])", 0.5),
    "times self.scale": Count("norm", "{s} * self.scale", 0.5, needs_self=True),
    "times self.dim ** -0.5": Count("norm", "{s} * self.dim ** -0.5", 0.5, needs_self=True),
    "squared over D": Count("norm", "{s}.pow(2) / {x}.shape[-1]"),
    "a variance": Count("var", "{s_}"),
    "a variance and a mean": Count("var_mean", "{s_}"),
    "a deviation": Count("std", "{s_}", 0.5),
    "a deviation squared": Count("std", "{s} ** 2"),
    "by D ** 0.5": Count("normalize", "{s} * {x}.shape[-1] ** 0.5", 0),
    "by math.sqrt(D)": Count("normalize", "{s} * math.sqrt({x}.shape[-1])", 0),
    "by self.scale": Count("normalize", "{s} * self.scale", 0, needs_self=True),
    "by self.dim ** 0.5": Count("normalize", "self.dim ** 0.5 * {s}", 0, needs_self=True),
    "over D ** -0.5": Count("normalize", "{s} / {x}.shape[-1] ** -0.5", 0),
    "never divided": Count("sum", "{s_}"),
    "over shape[0]": Count("sum", "{s} / {x}.shape[0]"),
    "over size(0)": Count("sum", "{s} / {x}.size(0)"),
    "over shape[-2]": Count("sum", "{s} / {x}.shape[-2]"),
    "over numel": Count("sum", "{s} / {x}.numel()"),
    "over D once more": Count("mean", "{s} / {x}.shape[-1]"),
    "times D again": Count("mean", "{s} * {x}.shape[-1]"),
    "times D ** 0.5 the wrong way": Count("norm", "{s} * {x}.shape[-1] ** 0.5", 0.5),
    "over D instead of its root": Count("norm", "{s} / {x}.shape[-1]", 0.5),
    "by D ** -0.5 the wrong way": Count("normalize", "{s} * {x}.shape[-1] ** -0.5", 0),
    "over math.sqrt(D) the wrong way": Count("normalize", "{s} / math.sqrt({x}.shape[-1])", 0),
    "by D instead of its root": Count("normalize", "{s} * {x}.shape[-1]", 0),
}

AXES: Final[dict[str, str]] = {
    "the last axis": "-1",
    "a tuple of the last axis": "(-1,)",
    "a list of the last axis": "[-1]",
    "self.axis": "self.axis",
    "a class's AXIS": "self.AXIS",
    "the axes of self.shape": "tuple(range(-len(self.shape), 0))",
    "axis 0": "0",
    "axis -2": "-2",
    "axes 0 and 1": "(0, 1)",
    "axes 1 and 2": "(1, 2)",
    "axes -2 and -1": "(-2, -1)",
}

KEEPS: Final[dict[str, str]] = {
    "kept": "{m_}",
    "unsqueeze(-1)": "{m}.unsqueeze(-1)",
    "[..., None]": "{m}[..., None]",
    "view(..., 1)": "{m}.view(*{x}.shape[:-1], 1)",
    "torch.unsqueeze": "torch.unsqueeze({m_}, -1)",
    "not kept": "{m_}",
    "keepdim=False": "{m_}",
}

CENTRES: Final[dict[str, str]] = {
    "mean(-1)": "{x}.mean({axis_}, keepdim=True)",
    "mean(-1, True)": "{x}.mean({axis_}, True)",
    "mean(dim=-1)": "{x}.mean(dim={axis_}, keepdim=True)",
    "mean(axis=-1)": "{x}.mean(axis={axis_}, keepdims=True)",
    "torch.mean(x, dim=-1)": "torch.mean({x_}, dim={axis_}, keepdim=True)",
    "sum over D": "{x}.sum({axis_}, keepdim=True) / {x}.shape[-1]",
    "mean and unsqueeze": "{x}.mean({axis_}).unsqueeze(-1)",
    "mean() over everything": "{x}.mean()",
    "torch.mean(x) over everything": "torch.mean({x_})",
    "mean not kept": "{x}.mean({axis_})",
    "torch.mean not kept": "torch.mean({x_}, dim={axis_})",
}

SUBTRACTS: Final[dict[str, str]] = {
    "x - mean": "{x} - {mu}",
    "x.sub(mean)": "{x}.sub({mu_})",
    "torch.sub(x, mean)": "torch.sub({x_}, {mu_})",
    "x.sub_(mean)": "{x}.sub_({mu_})",
    "x -= mean": "{x} -= {mu_}",
}

UNSOUND: Final[frozenset[str]] = frozenset(
    name
    for table, first in (
        (SQUARES, "the square forgotten"),
        (REDUCTIONS, "mean() over everything"),
        (COUNTS, "never divided"),
        (AXES, "axis 0"),
        (KEEPS, "not kept"),
        (CENTRES, "mean() over everything"),
        (SUBTRACTS, "x.sub_(mean)"),
    )
    for name in tuple(table)[tuple(table).index(first) :]
)
