import torch
import torch.nn as nn
from torch import Tensor


class LayerNorm(nn.Module):
    def __init__(self, embed_dim: int, eps: float = 1e-5):
        super().__init__()
        self.embed_dim = embed_dim
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(embed_dim))
        self.shift = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        x_mean = torch.mean(x, dim=-1, keepdim=True)
        x_std = torch.sqrt(torch.var(x.float(), -1, keepdim=True, unbiased=False) + self.eps)
        x_hat = ((x - x_mean) / x_std).to(x.dtype)
        return x_hat * self.scale + self.shift


class DecoderHead(nn.Module):
    def __init__(self, embed_dim, vocab_size):
        super().__init__()
        self.ln_f = LayerNorm(embed_dim)
        self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, x):
        return self.lm_head(self.ln_f(x))
