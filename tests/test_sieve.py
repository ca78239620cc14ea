"""The sieve lets every norm through, whatever its spelling."""

from __future__ import annotations

import pytest

from normlint.engine.linter import Demand, check_bytes
from normlint.engine.sieve import may_hold_norm

NORMS = (
    "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
    "x / torch.sqrt((x * x).sum(-1, True) / d + eps)",
    "g * x / (x.norm(dim=-1, keepdim=True) * d ** -0.5 + eps)",
    "F.normalize(x, dim=-1) * d ** 0.5",
    "x * (ms + eps) ** -0.5 if (ms := mean(x * x)) else 0",
    "(x - mu) / (var + eps).sqrt()",
    "(x - mu) / x.std(-1)",
    "torch.var_mean(x)[0].reciprocal()",
    "einops.reduce(x ** 2, 'b d -> b 1', 'mean')",
    "x / torch.einsum('bd,bd->b', x, x) ** 0.5",
    "x * torch.exp(-0.5 * torch.log(x.square().mean(-1)))",
    "x / (x.unsqueeze(-2) @ x.unsqueeze(-1)).sqrt()",
    "x / torch.linalg.vector_norm(x)",
    "x / torch.bmm(x, x).sqrt()",
    "x / torch.dot(x, x).sqrt()",
    "torch.div(x, np.average(x))",
)


@pytest.mark.parametrize("text", NORMS)
def test_a_norm_passes(text: str) -> None:
    assert may_hold_norm(text)


@pytest.mark.parametrize("text", ["", "x = 1", "@decorator\ndef f(): pass", "print(sum(x))", "a / b"])
def test_a_text_without_both_marks_does_not(text: str) -> None:
    assert not may_hold_norm(text)


def test_a_block_without_the_marks_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def analyse(text: str, *, snippet: bool, fixes: bool) -> object:
        seen.append(text)
        raise SyntaxError

    monkeypatch.setattr("normlint.rules.analyse", analyse)
    check_bytes("a.md", b"```py\nx = 1\n```\n```py\nx.mean() / y\n```\n", Demand())
    assert seen == ["x.mean() / y\n"]
