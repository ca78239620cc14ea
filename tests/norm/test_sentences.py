"""What is said of a norm in words: what it computes, and what is wrong in capitals."""

from __future__ import annotations

import pytest

import normlint
from normlint.norm.spine import _shown

PLAIN = "return weight * x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)"
SAID = {
    PLAIN: "RMSNorm over the last axis, eps 1e-06 under the root, fp32 statistics",
    PLAIN.replace(".float()", ""): "RMSNorm over the last axis, eps 1e-06 under the root, statistics in the input's",
    PLAIN.replace("(-1, keepdim=True)", "()"): "RMSNorm over ALL axes (expected: the last), eps 1e-06 under the root",
    PLAIN.replace(" + eps", ""): "RMSNorm over the last axis, NO eps",
    PLAIN.replace(" + eps", " + plan.eps"): "RMSNorm over the last axis, eps `plan.eps` under the root",
    PLAIN.replace("rsqrt", "sqrt"): "RMSNorm over the last axis, multiplied by the root (expected: divided by it)",
    PLAIN.replace("* torch.rsqrt(", "/ ("): "RMSNorm over the last axis, divided without a root (expected: by",
    PLAIN.replace("torch.rsqrt", ""): "RMSNorm over the last axis, multiplied by the mean square (expected: divided by",
    PLAIN.replace("torch.rsqrt", "root"): "RMSNorm over the last axis, fp32 statistics",
    PLAIN.replace(" + eps", " + plan['eps']"): "RMSNorm over the last axis, an eps under the root, fp32",
    PLAIN.replace("pow(2)", "abs()"): "RMSNorm over the last axis, of the VALUES (expected: their squares)",
    PLAIN.replace("mean(", "sum("): "RMSNorm over the last axis, of the SUM of squares (expected: their mean)",
    "return F.rms_norm(x, x.shape[-1:], weight, eps)": "RMSNorm over the last axis, fp32 statistics",
    "return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() * weight": (
        "LayerNorm over the last axis, UNBIASED variance (expected: divided by the count)"
    ),
    "return x / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt() * weight": (
        "LayerNorm over the last axis, centred in the STATISTIC ALONE"
    ),
    "return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * weight": (
        "RMSNorm over the last axis, eps 1e-06 OUTSIDE the root (expected: under it)"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "said"), SAID.items())
def test_a_norm_in_words(body: str, said: str) -> None:
    head = "import torch\nimport torch.nn.functional as F\n\ndef rms_norm(x, weight, plan, eps=1e-6):\n"
    (norm,) = normlint.list_norms(f"{head}    {body}\n")
    assert norm.sentence.startswith(said)


@pytest.mark.parametrize(("words", "shown"), [
    ("x", "x"),
    ("clone(x, Mono(coef=1.0, factors=()))", "clone(x, …)"),
    ("stack((a, Tup(items=(", "stack((a, …))"),
    ("module torch.nn.Linear(" + "x" * 40, "module torch.nn.Linear(xxxxxxx…)"),
])  # fmt: skip
def test_what_is_long_or_internal_is_cut_with_its_brackets_closed(words: str, shown: str) -> None:
    assert _shown(words) == shown
