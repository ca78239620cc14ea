# report: tinygrad/tinygrad#2932
# codes: NRM201
# why: RMSNorm of fp16 without a cast
# run: RMSNorm(24)
# reference: rms(x, 1e-6)
# shows: half
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # TODO: convert to float?
        return (x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()) * self.weight


class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads, norm_eps=1e-5):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, n_heads, batch_first=True)
        self.attention_norm = RMSNorm(dim, norm_eps)

    def forward(self, x):
        n = self.attention_norm(x)
        return x + self.attention(n, n, n)[0]
