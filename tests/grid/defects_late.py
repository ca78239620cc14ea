"""The defects from eps on: its place, the formula, the module around it (NRM3xx, NRM4xx and NRM5xx)."""

from __future__ import annotations

from typing import Final

from tests.grid.defect import (
    ALIASES,
    FRESH_GAINS,
    GAINED,
    LAYER,
    MODULES,
    NATIVE,
    OFFSET,
    PLAIN,
    RMS,
    SQUARED,
    STATISTIC,
    Defect,
    Fixed,
    phrases,
    reductions,
)
from tests.grid.endings import GAINS, INITS
from tests.grid.recipe import LAYERED
from tests.grid.spellings import SQUARES

DIRECT: Final = ("torch.rsqrt", "_.rsqrt()", "_ ** -0.5", "over torch.sqrt", "over _.sqrt()", "over _ ** 0.5")
WITH_EPS: Final = (*reductions("mean", "sum", "norm", "var", "var_mean", "std"), "F.normalize(x, dim=-1, eps)")
_ROOTED: Final = ("scale", "product", "statistic", "rooted", "eps")

EPSILON: Final = (
    Defect(
        "NRM301",
        "no eps",
        {"join": ("no eps", "no eps with the norm"), "eps_from": ("eps nowhere",)},
        {"wrap": NATIVE, "reduction": reductions("mean", "sum", "norm", *LAYERED)},
        _ROOTED,
    ),
    Defect(
        "NRM302",
        "eps outside the root",
        {"join": ("root + eps", "eps + root", "root.add(eps)")},
        {"root": DIRECT, "wrap": NATIVE, "reduction": (*SQUARED, *reductions("var", "var_mean"))},
        _ROOTED,
    ),
    Defect(
        "NRM302",
        "eps outside the root, inverted",
        {"join": ("no eps",), "root": ("1 / (sqrt + eps)", "(sqrt + eps) ** -1")},
        {"wrap": NATIVE, "reduction": (*SQUARED, *reductions("var", "var_mean"))},
        _ROOTED,
    ),
    Defect(
        "NRM303",
        "eps out of range",
        {"eps_value": ("0.0", "-1e-6", "0.1", "1e-2")},
        {
            "wrap": NATIVE,
            "ctor": ("no constructor", "dim and eps", "hidden_size and eps", "annotated, keyword-only eps"),
            "reduction": (*SQUARED, *reductions("var", "var_mean")),
        },
    ),
    Defect(
        "NRM304",
        "a literal where eps belongs",
        {"eps_from": ("stored, a literal used",)},
        {"structure": MODULES, "reduction": WITH_EPS},
    ),
    Defect(
        "NRM304",
        "eps accepted, a literal used",
        {"eps_from": ("accepted, a literal used",)},
        {
            "ctor": ("no constructor", "dim and eps", "hidden_size and eps", "annotated, keyword-only eps"),
            "reduction": WITH_EPS,
        },
    ),
    Defect(
        "NRM304",
        "eps stored, nothing used",
        {"eps_from": ("stored, nothing used",), "join": ("no eps", "no eps with the norm")},
        {"structure": MODULES},
    ),
)

FORMULA: Final = (
    Defect(
        "NRM401",
        "the scale inverted",
        {
            "root": (
                "over torch.rsqrt",
                "over _.rsqrt()",
                "over _ ** -0.5",
                "over 1 / torch.sqrt",
                "times torch.sqrt",
                "times _.sqrt()",
                "times _ ** 0.5",
                "times the norm",
            )
        },
        {},
        _ROOTED,
    ),
    Defect(
        "NRM402",
        "no root",
        {"root": ("over the mean square", "1 / mean square", "_.reciprocal() without a root", "_ ** -1")},
        {},
        _ROOTED,
    ),
    Defect(
        "NRM402",
        "the root of a root",
        {
            "root": (
                "over _ ** 2",
                "rsqrt of sqrt",
                "over sqrt of sqrt",
                "over _ ** 0.25",
                "_ ** -0.25",
                "rsqrt of the norm",
                "over sqrt of the norm",
            )
        },
        {},
        _ROOTED,
    ),
    Defect(
        "NRM403",
        "no square",
        {"square": phrases(SQUARES, "the square forgotten")},
        {"reduction": SQUARED},
        ("square", *STATISTIC),
    ),
    Defect("NRM404", "the centre kept in the product", {"sides": ("the statistic only",)}, LAYER),
    Defect(
        "NRM404", "the centre kept in the statistic", {"sides": ("the product only",)}, {**LAYER, "reduction": SQUARED}
    ),
    Defect(
        "NRM405",
        "detached",
        {"grad": ("detach()", ".data")},
        {"reduction": reductions("mean", "sum", "norm", *LAYERED)},
        STATISTIC,
    ),
    Defect(
        "NRM405",
        "under no_grad",
        {"grad": ("no_grad",)},
        {"reduction": reductions("mean", "sum", "norm", "var", "std")},
        STATISTIC,
    ),
    Defect(
        "NRM405",
        "detached before or after",
        {"grad": ("input detached", "root detached")},
        {"reduction": reductions("mean", "sum", "norm", "var", "std")},
    ),
    Defect(
        "NRM406",
        "one plus ones",
        {"gain": OFFSET, "init": ("ones", "torch.full ones", "ones_like")},
        {"structure": MODULES, "back_at": ("after the gain",)},
    ),
    Defect(
        "NRM406", "zeros, nothing added", {"init": ("zeros", "zeros of a tuple")}, {"structure": MODULES, "gain": PLAIN}
    ),
)

_MADE: Final[Fixed] = {"structure": MODULES, "gain": PLAIN}

MODULE: Final = (
    Defect("NRM501", "a plain tensor", {"init": phrases(INITS, "a plain tensor of ones")[:2]}, _MADE, ("init",)),
    Defect(
        "NRM502",
        "the input scaled in place",
        {"apply": ("x.mul_(r)", "x *= r", "x.div_(r)", "x /= r")},
        {**RMS, "cast": ALIASES, "gain": FRESH_GAINS, "reduction": reductions("mean", "sum", "norm")},
        ("product",),
    ),
    Defect(
        "NRM502",
        "the input centred in place",
        {"subtract": ("x.sub_(mean)", "x -= mean")},
        {**LAYER, "cast": ALIASES},
        ("centre",),
    ),
    Defect(
        "NRM503", "a print", {"noise": ("print(x.shape)", "an f-string printed", "a labelled print")}, {}, ("noise",)
    ),
    Defect("NRM504", "the gain's shape", {"init": phrases(INITS, "one number of ones(1)")}, _MADE, ("init",)),
    Defect(
        "NRM505",
        "a gain nobody uses",
        {"gain": ("a gain made, never applied",), "init": ("ones", "ones_like")},
        {"structure": MODULES, "wrap": NATIVE},
        (),
    ),
    Defect(
        "NRM505",
        "a bias nobody uses",
        {"bias": ("a bias made, never applied",)},
        {**LAYER, "structure": MODULES, "wrap": NATIVE, "gain": tuple(n for n in GAINED if not GAINS[n].test)},
        (),
    ),
)
