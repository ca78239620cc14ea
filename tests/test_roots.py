"""Which marks of a root matter: those that may be a statistic's, and no others."""

from __future__ import annotations

import pytest

from normlint.text.finding import Span
from normlint.text.marks import Marks

SPARED = (
    "scale = self.head_dim ** -0.5",
    "scale = self.head_dim**-0.5",
    "scale = query.shape[-1] ** -0.5",
    "scale = query.size(-1) ** 0.5",
    "x = x * self.config.hidden_size ** 0.5",
    "scores = scores / math.sqrt(self.attention_head_size)",
    "std = 1 / math.sqrt(embed_dim)",
    "k = math.sqrt(1 / module.in_features)",
    "width = dim * 2 ** layer",
    "width = int(dim * 2.0**layer)",
    "nn.init.normal_(module.weight, mean=0.0, std=std)",
    "x = self.normalize(x, mean, scale)",
    "def normalize(self, x):",
    "x = self.rescale_and_normalize(x, mean)",
    "y = x  # then torch.sqrt(y)",
    "f(**kwargs)",
)
KEPT = (
    "y = x * (ms + eps) ** -0.5",
    "y = x * ms ** -0.5",
    "y = x * x2 ** 0.5",
    "y = x / (sq / head_dim) ** 0.5",
    "y = x / torch.sqrt(head_dim_mean)",
    "y = x / torch.sqrt(dim)",
    "y = x / math.sqrt(ms)",
    "y = x / math.sqrt(sq / d)",
    "y = (x - mu) / x.std(-1)",
    "y = (x - mu) / torch.std(x, -1)",
    "std, mean = torch.std_mean(x, -1)",
    "spread = torch.std",
    'spread = getattr(x, "std")',
    "y = F.normalize(x, dim=-1)",
    "y = l2_normalize(x)",
    "y = x / x.norm(dim=-1)",
    'y = f("#", x / torch.sqrt(ms))',
    r"s = 'it\'s #'; y = x * torch.rsqrt(ms)",
    "y = (x - mu) / var_heads ** 0.5",
    "y = x / size ** 0.5",
    "y = x * ms_width ** -0.5",
    "y = x / (self.sq / d) ** 0.5",
    "self.normalize = F.normalize\ny = self.normalize(x)",
    "y = l2_and_normalize(x)",
)


@pytest.mark.parametrize("text", SPARED)
def test_nothing_is_followed_for(text: str) -> None:
    assert not Marks(text).roots(Span(0, len(text)))


@pytest.mark.parametrize("text", KEPT)
def test_a_root_is_seen_in(text: str) -> None:
    assert Marks(text).roots(Span(0, len(text)))
