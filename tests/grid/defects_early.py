"""The defects of the statistic: what is reduced, over what, and in which dtype (NRM1xx and NRM2xx)."""

from __future__ import annotations

from typing import Final

from tests.grid.defect import (
    ALIASES,
    CAST,
    GAINED,
    GLOBAL_COUNTS,
    GLOBAL_SQUARED,
    LAYER,
    MODULES,
    NATIVE,
    RMS,
    ROOMY,
    SQUARED,
    STATISTIC,
    WRONG_AXES,
    Defect,
    Fixed,
    phrases,
    reductions,
)
from tests.grid.recipe import STRUCTURES
from tests.grid.spellings import COUNTS, REDUCTIONS

_EVERYTHING: Final[Fixed] = {"gain": GAINED, "axis": ("the last axis",), "keep": ("kept",)}

REDUCTION: Final = (
    Defect(
        "NRM101",
        "no dim in the mean square",
        {"reduction": GLOBAL_SQUARED, "count": GLOBAL_COUNTS},
        {**RMS, **_EVERYTHING},
        STATISTIC,
    ),
    Defect(
        "NRM101",
        "no dim in the norm",
        {"reduction": ("x.norm() over everything", "torch.linalg.vector_norm(x) over everything")},
        {**RMS, **_EVERYTHING},
        STATISTIC,
    ),
    Defect(
        "NRM101",
        "no dim in the variance",
        {
            "reduction": (*GLOBAL_SQUARED, "x.var() over everything", "torch.var(x) over everything"),
            "count": GLOBAL_COUNTS,
        },
        {**LAYER, **_EVERYTHING},
        STATISTIC,
    ),
    Defect(
        "NRM101",
        "no dim in the mean",
        {"centre": ("mean() over everything", "torch.mean(x) over everything")},
        {**LAYER, "gain": GAINED, "reduction": reductions("mean", "sum", "var", "std")},
        ("mean", "centre"),
    ),
    Defect(
        "NRM102",
        "keepdim forgotten",
        {"keep": ("not kept", "keepdim=False")},
        {"reduction": reductions("mean", "sum", "norm", "var", "std")},
        STATISTIC,
    ),
    Defect(
        "NRM102",
        "keepdim forgotten in the mean",
        {"centre": ("mean not kept", "torch.mean not kept")},
        {**LAYER, "reduction": reductions("mean", "sum", "var", "std")},
        ("mean", "centre"),
    ),
    Defect(
        "NRM103",
        "the wrong axis",
        {"axis": WRONG_AXES},
        {
            **RMS,
            "structure": MODULES,
            "gain": GAINED,
            "keep": ("kept",),
            "reduction": reductions("mean", "sum", "norm"),
        },
        STATISTIC,
    ),
    Defect(
        "NRM103",
        "the wrong axis in F.normalize",
        {"axis": WRONG_AXES[:2]},
        {**RMS, "structure": MODULES, "gain": GAINED, "reduction": reductions("normalize")},
        STATISTIC,
    ),
    Defect(
        "NRM103",
        "the wrong axes",
        {"axis": WRONG_AXES},
        {**LAYER, "structure": MODULES, "gain": GAINED, "keep": ("kept",)},
        (),
        repeats=True,
    ),
    Defect(
        "NRM104", "the sum", {"count": phrases(COUNTS, "never divided")}, {"reduction": reductions("sum")}, STATISTIC
    ),
    Defect(
        "NRM104",
        "the mean counted twice",
        {"count": phrases(COUNTS, "never divided")},
        {"reduction": reductions("mean")},
        STATISTIC,
    ),
    Defect(
        "NRM104",
        "the norm",
        {"count": phrases(COUNTS, "never divided")},
        {**RMS, "reduction": reductions("norm"), "gain": GAINED},
        STATISTIC,
    ),
    Defect(
        "NRM104",
        "F.normalize",
        {"count": phrases(COUNTS, "never divided")},
        {**RMS, "reduction": reductions("normalize"), "gain": GAINED},
        STATISTIC,
    ),
    Defect("NRM105", "unbiased", {"reduction": phrases(REDUCTIONS, "x.var(-1), unbiased")}, LAYER, STATISTIC),
    Defect(
        "NRM106",
        "default dim",
        {"reduction": phrases(REDUCTIONS, "F.normalize(x) by default", "by default")},
        {
            **RMS,
            "structure": tuple(s for s in MODULES if s != "a method for the scale"),
            "gain": GAINED,
            "axis": ("the last axis",),
        },
        STATISTIC,
    ),
)

_HALF: Final[Fixed] = {"eps_value": ROOMY, "wrap": NATIVE}
_NARROW: Final[Fixed] = {**_HALF, "reduction": (*SQUARED, *reductions("var")), "cast_at": CAST}

PRECISION: Final = (
    Defect(
        "NRM201",
        "no upcast",
        {"cast_at": ("nowhere",), "back_at": ("nowhere", "before the gain", "after the gain")},
        {**_HALF, "reduction": (*SQUARED, *reductions("var", "var_mean"))},
        ("square", *STATISTIC, "mean", "centre"),
    ),
    Defect(
        "NRM202",
        "upcast after the square",
        {"cast_at": ("cast after the square", "cast after the mean")},
        {**_HALF, "reduction": SQUARED},
        ("square", "upcast", *STATISTIC),
    ),
    Defect(
        "NRM202",
        "upcast by the mean's dtype",
        {"cast_at": ("cast by the mean's dtype",), "cast": (".float()",)},
        {**_HALF, "reduction": SQUARED},
        ("square", *STATISTIC),
    ),
    Defect(
        "NRM202",
        "upcast after the variance",
        {"cast_at": ("cast after the mean",)},
        {**_HALF, **LAYER, "reduction": reductions("var")},
        STATISTIC,
    ),
    Defect("NRM203", "never cast back", {"back_at": ("nowhere",)}, {"cast_at": CAST}),
    Defect(
        "NRM204",
        "one-pass variance",
        {"variance": ("one pass", "one pass, mean * mean")},
        {**LAYER, "reduction": SQUARED, "cast": ALIASES},
        STATISTIC,
    ),
    Defect(
        "NRM205",
        "statistic narrowed",
        {"narrow": ("statistic.half()", "statistic.to(torch.float16)", "statistic.to(torch.bfloat16)")},
        _NARROW,
        STATISTIC,
    ),
    Defect(
        "NRM205",
        "scale narrowed",
        {"narrow": ("scale in the input's dtype",)},
        {
            **_NARROW,
            "cast_at": ("a fresh name", "in the statistic only"),
            "structure": tuple(s for s in STRUCTURES if s != "a method for the scale"),
        },
        ("scale", "product"),
    ),
    Defect(
        "NRM205",
        "output in a fixed half",
        {"back": ("cast back by .half()", "cast back by .to(torch.float16)", "cast back by .to(torch.bfloat16)")},
        {**_HALF, "cast_at": CAST},
    ),
)
