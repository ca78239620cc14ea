"""Names that torch doesn't have, in a norm: found where nothing else can be meant, and left alone elsewhere."""

from __future__ import annotations

import pytest

from normlint.rules import analyse

TORCH = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
NORM = """
def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = {mean}
    var = {var}
    return ((h - mean) * {root}).type_as(x) * weight + bias
"""
SOUND = {
    "mean": "h.mean(-1, keepdim=True)",
    "var": "h.var(-1, correction=0, keepdim=True)",
    "root": "torch.rsqrt(var + eps)",
}


def found(head: str, **changed: str) -> list[str]:
    text = f"{head}{NORM.format(**SOUND | changed)}"
    spans = [f.span for f in analyse(text).findings if f.code == "NRM506"]
    return [text[span.start : span.end] for span in spans]


WRONG = {
    "a keyword": ({"var": "h.var(-1, unbaiased=False, keepdim=True)"}, ["unbaiased"]),
    "a keyword of a function": ({"var": "torch.var(h, dim=-1, unbaised=False, keepdim=True)"}, ["unbaised"]),
    "another library's keyword": ({"mean": "h.mean(axes=-1, keepdim=True)"}, ["axes"]),
    "a keyword in two words": ({"mean": "h.mean(-1, keep_dim=True)"}, ["keep_dim"]),
    "a function": ({"var": "torch.vart(h, -1, correction=0, keepdim=True)"}, ["vart"]),
    "a root": ({"root": "torch.rsqtr(var + eps)"}, ["rsqtr"]),
    "a method": ({"var": "(h - mean).squre().mean(-1, keepdim=True)"}, ["squre"]),
    "one that torch has": ({"mean": "torch.Tensor.mean(input=h, dim=-1, keepdim=True)"}, []),
    "numpy's names": ({"mean": "h.mean(axis=-1, keepdims=True)"}, []),
    "keywords that aren't known": ({"var": "h.var(-1, **kwargs)"}, []),
    "a name far from all of torch's": ({"root": "torch.fused_inverse_root(var + eps)"}, []),
    "a vendor's own name": ({"mean": "torch.npu_mean(h, -1, True)"}, []),
    "a method of one's own": ({"var": "h.centred_second_moment(-1)"}, []),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_name_that_torch_does_not_have_is_found(case: str) -> None:
    changed, spans = WRONG[case]
    assert found(TORCH, **changed) == spans


CONSTRUCTED = """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.{made}(dim))

    def forward(self, x):
        h = x.float()
        c = h - h.mean(-1, keepdim=True)
        return (c * torch.rsqrt(c.square().mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
"""


@pytest.mark.parametrize(("made", "words"), [("ones", []), ("one", ["torch has no `torch.one`: is `ones` meant?"])])
def test_a_name_that_torch_does_not_have_is_found_in_the_constructor(made: str, words: list[str]) -> None:
    report = analyse(f"{TORCH}{CONSTRUCTED.format(made=made)}")
    assert [one.message for one in report.findings if one.code == "NRM506"] == words


@pytest.mark.parametrize("library", ["jax.numpy as jnp", "mlx.core as mx", "tensorflow as tf", "numpy as np", "cupy"])
def test_a_method_may_be_another_library_s(library: str) -> None:
    assert found(f"{TORCH}import {library}\n", mean="h.mean(axes=-1, keepdim=True)") == []


def test_what_is_meant_is_read() -> None:
    changed = {"var": "torch.vart(h, -1, unbaiased=False, keepdim=True)"}
    wrong, sound = (analyse(f"{TORCH}{NORM.format(**one)}").norms for one in (SOUND | changed, SOUND))
    assert [n.spine for n in wrong] == [n.spine for n in sound]
