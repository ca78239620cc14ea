"""What names say was meant, where the computation leaves it open; and the habits of single code bases."""

from __future__ import annotations

import re

_OTHER = re.compile(
    r"batch_?norm|instance_?norm|group_?norm|graph_?norm|weight_?norm|spectral|response|grn|unit_?var|rev_?in\b|zero_?mean|standardi[sz]e|advantage|whiten|orthogonal|glorot|xavier|kaiming|(?:^|_)init(?:_|$)"
    r"|adain|ada_?in|weight_?standard|wnorm|clip_grad|grad_norm",
    re.IGNORECASE,
)
_RMS = "(?<![A-Z])RMS|(?<![a-z])rms|Rms|[Rr][Mm][Ss](?=_?[Nn]orm)"  # and no transforms; RMSE and RMSD are no norms
_INTENTS = (
    ("norm", re.compile(r"bias_?free|simple_?norm", re.IGNORECASE)),  # a variance without a centre is meant
    ("pixel", re.compile(r"pixel_?norm", re.IGNORECASE)),
    ("rms", re.compile(rf"(?:{_RMS})(?!_?(?i:prop)|[EDed](?![a-z]))|[Rr]oot_[Mm]ean_[Ss]quare")),
    ("l2", re.compile(r"L2|(?<![a-z])l2|(?i:scale_?norm|unit_?norm|cosine)")),  # and no Channel2
    ("layer", re.compile(r"layer_?norm|LN\b|\bln_|_ln\b", re.IGNORECASE)),
    ("norm", re.compile(r"norm(?!ali[sz])", re.IGNORECASE)),  # to normalise is said of data, too
)
AGAINST = re.compile(
    r"advantage|reward|return|image|pixel|patch|latent|column|loss|metric|guidance"
    r"|audio|loudness|energy|speech|signal|wav",
    re.IGNORECASE,
)


def summary_intent(docstring: str) -> str:
    """The same for the first line of a docstring, which may speak of the norm of something else."""
    found = intent(re.sub(r"\W+", "_", docstring.strip().partition("\n")[0]))
    return "" if found == "norm" else found


def intent(qualname: str) -> str:
    """rms, l2, layer or norm; "other" for norms over something else than features; "" where the name is silent."""
    if _OTHER.search(qualname):
        return "other"
    return next((kind for kind, pattern in _INTENTS if pattern.search(qualname)), "")


def is_grouping(name: str) -> bool:
    """`group_size`, `num_groups`, `ngroups`: over how many features a grouped norm goes; `q_group_size` is no such."""
    return re.fullmatch(r"group_size|n_?groups|num_groups", name) is not None


def is_scale_norm(name: str) -> bool:
    """ScaleNorm (x-transformers): an L2 norm with one gain for all features, which starts at √D."""
    return "scalenorm" in name.replace("_", "").lower()


def starts_at_zero(name: str) -> bool:
    """ZeroInitNorm: the branch that it ends adds nothing at first, as its name says."""
    return re.search(r"zero_?init|init_?zero", name, re.IGNORECASE) is not None


def stays_wide(name: str) -> bool:
    """FP32LayerNorm (fairseq, diffusers), ref_rms_norm: its output may stay wide, as its name says."""
    words = r"fp32|float32|fp64|float64|(?:^|[._])(?:ref|reference|golden|expected)(?:_|$)"
    return re.search(words, name, re.IGNORECASE) is not None


def is_written_by_intent(parameter: str) -> bool:
    """`out` and `residual`, into which fused norms (vLLM's `fused_add_rms_norm`) write what they give back."""
    return parameter.startswith(("out", "residual"))


def is_scale(parameter: str) -> bool:
    """A `scale` that is set elsewhere may hold the √D that an L2 norm lacks here."""
    return "scale" in parameter.lower()


def normalises(qualname: str) -> bool:
    """`normalize` and the like, which `intent` leaves open, since data is normalised, too."""
    return "normali" in qualname.lower()
