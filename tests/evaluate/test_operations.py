"""Every operation of torch has one class, and an operation does in the analysis what it does in torch."""

from __future__ import annotations

import types
from collections import Counter
from typing import Any

import pytest

from normlint.evaluate.ops import OPS
from normlint.evaluate.ops.classes import UNFOLLOWED
from normlint.rules import analyse
from normlint.text.marks import REDUCING
from normlint.text.operations import CLASSES, SUMMING
from tests.sound import with_imports

WORDS = {word: name for name, words in CLASSES.items() for word in words.split()}


def functions(owner: Any) -> set[str]:
    """The public functions and methods of a space of torch's."""
    found = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {n for n, f in found.items() if callable(f) and not isinstance(f, type | types.ModuleType)}


@pytest.mark.parametrize("space", ["Tensor", "", "nn.functional", "linalg", "special"])
def test_every_function_and_method_of_torch_has_a_class(space: str) -> None:
    owner: Any = pytest.importorskip("torch")
    for part in filter(None, space.split(".")):
        owner = getattr(owner, part)
    assert {name for name in functions(owner) if name not in WORDS and name.rstrip("_") not in WORDS} == set()


def test_no_operation_has_two_classes() -> None:
    assert [word for word, times in Counter(" ".join(CLASSES.values()).split()).items() if times > 1] == []


def test_every_operation_that_has_a_class_is_followed_or_said_not_to_be() -> None:
    assert {word for word, name in WORDS.items() if word not in OPS} == {w for w, n in WORDS.items() if n in UNFOLLOWED}
    assert set(OPS) <= set(WORDS)


def test_what_makes_a_statistic_is_what_the_sieve_looks_for() -> None:
    assert {word for word, name in WORDS.items() if name in ("statistic", "fused norm")} == set(REDUCING) - {
        *SUMMING.split()
    }


_COMPARISONS = set("eq ne gt ge lt le not_equal greater greater_equal less less_equal".split())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("degree", [0, 1])
def test_an_elementwise_operation_has_the_degree_of_its_class(degree: int) -> None:
    """F(4·x) is 4^degree · f(x), for every operation that takes a tensor alone or with another of the same degree."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 4), torch.rand(2, 3, 4)
    joint = {"atan2", "arctan2", "maximum", "minimum", "fmax", "fmin", "hypot", "copysign"} | _COMPARISONS
    tried = 0
    for name in CLASSES[f"degree {degree}"].split():
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name, None)
        for operands in ((x,), (x, -1)) if name not in joint else ((x, y),):
            scaled = [4 * o if o is x or o is y else o for o in operands]
            try:
                torch.manual_seed(1)
                before = function(*operands)
                torch.manual_seed(1)
                after = function(*scaled)
            except (TypeError, RuntimeError, IndexError, ValueError, AttributeError):
                continue
            one, two = (r[0] if isinstance(r, tuple | list) else r for r in (before, after))
            assert torch.allclose(two.to(torch.float64), one.to(torch.float64) * 4**degree), (name, len(operands))
            tried += 1
    assert tried > 15


RMS = "x.pow(2).mean(-1, keepdim=True)"
WAYS = {
    "exp of a logarithm": f"r = torch.exp(-0.5 * torch.log({RMS} + 1e-6))\nreturn x * r * w",
    "exp2 of log2": f"r = torch.exp2(torch.log2({RMS} + 1e-6) / -2)\nreturn x * r * w",
    "addcdiv": f"return torch.addcdiv(torch.zeros_like(x), x, torch.sqrt({RMS} + 1e-6)) * w",
    "a row times a column": "ms = (x.unsqueeze(-2) @ x.unsqueeze(-1)).squeeze(-1) / x.shape[-1]",
    "bmm": "ms = torch.bmm(x.unsqueeze(1), x.unsqueeze(2)).squeeze(2) / x.shape[-1]",
    "einsum of a list": "ms = torch.einsum('bd,bd->b', [x, x]).unsqueeze(-1) / x.shape[-1]",
    "vecdot": "ms = torch.linalg.vecdot(x, x).unsqueeze(-1) / x.shape[-1]",
    "a mean of a mean of one": f"ms = {RMS}.mean(-1, keepdim=True)",
    "the last of running sums": "ms = (x * x).cumsum(-1)[..., -1:] / x.shape[-1]",
    "the last of running sums without its axis": "ms = ((x * x).cumsum(dim=-1)[..., -1] / x.shape[-1]).unsqueeze(-1)",
    "pooling to one": "ms = F.adaptive_avg_pool1d(x * x, 1)",
    "pooling over all": "ms = F.avg_pool1d(x * x, x.shape[-1])",
    "aten": "ms = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(x, 2), [-1], True)",
    "unbound methods": "ms = torch.Tensor.mean(torch.Tensor.square(x), -1, True)",
    "keywords from a dict": "kw = {'dim': -1, 'keepdim': True}\nms = x.pow(2).mean(**kw)",
    "keywords from dict()": "kw = dict(dim=-1, keepdim=True)\nms = x.pow(2).mean(**kw)",
    "numpy's names": "ms = x.pow(2).mean(axis=-1, keepdims=True)",
    "in place": "ms = x.clone().pow_(2).mean(-1, keepdim=True)",
    "a function in place": "h = x.clone()\nh = torch.square_(h)\nms = h.mean(-1, keepdim=True)",
    "taken apart and stacked": "ms = torch.stack(x.unbind(-1), -1).pow(2).mean(-1, keepdim=True)",
    "taken apart and put together": "ms = torch.cat(x.chunk(2, dim=-1), dim=-1).pow(2).mean(-1, keepdim=True)",
    "in another order": "ms = x.pow(2).roll(1, -1).mean(-1, keepdim=True)",
    "turned round along the reduced axis": "ms = x.flip(-1).pow(2).mean(-1, keepdim=True)",
    "a similarity with itself": f"ms = F.cosine_similarity(x, x, dim=-1).unsqueeze(-1) * {RMS}",
    "a dropout of nothing": f"ms = F.dropout({RMS}, 0.0)",
    "a dropout outside of training": f"ms = F.dropout({RMS}, training=False)",
    "a layer that drops nothing": f"ms = nn.Dropout(0.0)({RMS})",
    "straight through": "h = x.detach() + (x - x.detach())\nms = h.pow(2).mean(-1, keepdim=True)",
    "a diagonal matrix": f"return F.linear(x * torch.rsqrt({RMS} + 1e-6), torch.diag(w))",
    "times a diagonal matrix": f"return (x * torch.rsqrt({RMS} + 1e-6)) @ torch.diag(w)",
    "frobenius_norm": "ms = torch.frobenius_norm(x, -1, True) ** 2 / x.shape[-1]",
    "a sum to a size": "ms = x.pow(2).sum_to_size(*x.shape[:-1], 1) / x.size(-1)",
    "a sum to a size as one tuple": "ms = x.pow(2).sum_to_size((*x.shape[:-1], 1)) / x.size(-1)",
    "a sum to a size that is named": "b, n, d = x.shape\nms = x.pow(2).sum_to_size(b, n, 1) / d",
    "a count of ones": "n = torch.ones_like(x).count_nonzero(-1)\nms = x.pow(2).sum(-1, True) / n.unsqueeze(-1)",
    "a count of twos": "ms = (x.square().sum(-1) / torch.count_nonzero(torch.full_like(x, 2), dim=-1)).unsqueeze(-1)",
    "size by keyword": "ms = x.square().sum(dim=-1, keepdim=True) / x.size(dim=-1)",
    "the same on both sides": f"ms = {RMS}\nms = torch.where(ms > 0, ms, ms)",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_norm_is_the_same_however_it_is_spelled(way: str) -> None:
    body = WAYS[way] if "return" in WAYS[way] else f"{WAYS[way]}\nreturn x * torch.rsqrt(ms + 1e-6) * w"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (norm,) = analyse(with_imports(f"\ndef rms_norm(x: torch.Tensor, w):\n{lines}")).norms
    assert norm.kind == "rms"
    assert norm.spine.startswith("mean[-1] keepdim |")


@pytest.mark.parametrize("given", ["*opts", "**opts", "-1, **opts", "dim=opts"])
def test_an_argument_that_is_not_known_is_no_default(given: str) -> None:
    text = f"\ndef rms_norm(x, w, opts):\n    return x * torch.rsqrt(x.pow(2).mean({given}) + 1e-6) * w\n"
    analysis = analyse(with_imports(text))
    assert [norm.kind for norm in analysis.norms] == ["rms"]
    assert {f.code for f in analysis.findings} & {"NRM101", "NRM102", "NRM103"} == set()


@pytest.mark.parametrize("size", ["*size", "b, n, 1", "*x.shape[:-2], 1", "*y.shape[:-1], 1"])
def test_a_sum_to_a_size_that_is_not_known_is_over_axes_that_are_not_known(size: str) -> None:
    text = f"\ndef rms_norm(x, y, w, size, b, n):\n    ms = x.pow(2).sum_to_size({size}) / x.size(-1)\n"
    (norm,) = analyse(with_imports(f"{text}    return x * torch.rsqrt(ms + 1e-6) * w\n")).norms
    assert norm.spine.startswith("mean[?] keepdim |")
