"""Read what names say was meant, where the computation leaves it open, and the conventions of known code bases."""

from __future__ import annotations

import re

_OTHER = re.compile(
    r"batch_?norm|graph_?norm|weight_?norm|spectral|response|grn|unit_?var|rev_?in\b|zero_?mean|standardi[sz]e|advantage|whiten|orthogonal|glorot|xavier|kaiming|(?:^|_)init(?:_|$)"
    r"|adain|ada_?in|weight_?standard|wnorm|clip_grad|grad_norm|(?<![a-z])l1_?(?:rms_?)?norm",
    re.IGNORECASE,
)
_GROUPS = re.compile(r"(?:instance|group)_?norm", re.IGNORECASE)
_RMS = "(?<![A-Z])RMS|(?<![a-z])rms|Rms|[Rr][Mm][Ss](?=_?[Nn]orm)"  # and no transforms; RMSE and RMSD are no norms
_SPELLED = "[Rr]oot_[Mm]ean_[Ss]quare(?!d?_(?i:err|dev|diff))"
_INTENTS = (
    ("norm", re.compile(r"bias_?free|simple_?norm", re.IGNORECASE)),  # a variance without a centre is meant
    ("pixel", re.compile(r"pixel_?(?:wise_?)?norm", re.IGNORECASE)),
    ("rms", re.compile(rf"(?:{_RMS})(?!_?(?i:prop)|[EDed](?![a-z]))|{_SPELLED}")),
    ("l2", re.compile(r"L2|(?<![a-z])l2|(?i:scale_?norm|unit_?norm|cosine)")),  # and no Channel2
    ("layer", re.compile(r"layer_?norm|LN\b|\bln_|_ln\b", re.IGNORECASE)),
    ("norm", re.compile(r"norm(?!ali[sz])", re.IGNORECASE)),  # to normalise is said of data, too
)
AGAINST = re.compile(
    r"advantage|reward|return|image|pixel|patch|latent|column|loss|metric|guidance"
    r"|audio|loudness|energy|speech|signal|wav",
    re.IGNORECASE,
)

COMPLEX = re.compile(r"\bcomplex(?!ity)", re.IGNORECASE)  # a cast to float drops half of such a number


def summary_intent(docstring: str) -> str:
    """Return the intent of a docstring's first line; empty for a bare "norm", which may be that of something else."""
    found = intent(re.sub(r"\W+", "_", docstring.strip().partition("\n")[0]))
    return "" if found == "norm" else found


def intent(qualname: str) -> str:
    """Return the norm that a name means; "" if it names none.

    That is "groups" for group and instance norms, of which no rule knows the axes, and "other" for what else isn't
    over features.
    """
    if _OTHER.search(qualname):
        return "other"
    if _GROUPS.search(qualname):
        return "groups"
    return next((kind for kind, pattern in _INTENTS if pattern.search(qualname)), "")


def is_grouping(name: str) -> bool:
    """Return whether a parameter is the size or number of a grouped norm's groups: `group_size`, `num_groups`."""
    return re.fullmatch(r"group_size|n_?groups|num_groups", name) is not None


def is_uncentred(name: str) -> bool:
    """Return whether a name says that the mean isn't subtracted, as PositionNormUncentered2d (B-cos networks) does."""
    return re.search(r"un_?cent(?:er|re)", name, re.IGNORECASE) is not None


def is_over_time(name: str) -> bool:
    """Return whether a name says that time is reduced as well, as Conv-TasNet's global and cumulative norms do."""
    return is_global(name) or re.search(r"(?i:cumul)|(?<![A-Za-z])cLN", name) is not None


def is_global(name: str) -> bool:
    """Return whether a name says that channels and all of time are reduced, as Conv-TasNet's gLN does."""
    return re.search(r"(?i:global_?(?:channel_?)?layer)|(?<![A-Za-z])gLN", name) is not None


def is_scale_norm(name: str) -> bool:
    """Return whether a name means ScaleNorm (x-transformers): an L2 norm with one gain for all, at first √D."""
    return "scalenorm" in name.replace("_", "").lower()


def starts_at_zero(name: str) -> bool:
    """Return whether a name says that a gain starts at zero, as ZeroInitNorm does: its branch adds nothing at first."""
    return re.search(r"zero_?init|init_?zero", name, re.IGNORECASE) is not None


def stays_wide(name: str) -> bool:
    """Return whether a name says that the output may stay wide, as FP32LayerNorm and ref_rms_norm do."""
    words = r"fp32|float32|fp64|float64|(?:^|[._])(?:ref|reference|golden|expected)(?:_|$)"
    return re.search(words, name, re.IGNORECASE) is not None


def is_written_by_intent(parameter: str) -> bool:
    """Return whether a parameter is an output that fused norms write into: `out`, `residual` (vLLM)."""
    return parameter.startswith(("out", "residual"))


def is_scale(parameter: str) -> bool:
    """Return whether a parameter is a `scale`, which may hold the √D that an L2 norm lacks here."""
    return "scale" in parameter.lower()


def normalises(qualname: str) -> bool:
    """Return whether a name says `normalize`, which `intent` ignores, since data is normalised, too."""
    return "normali" in qualname.lower()
