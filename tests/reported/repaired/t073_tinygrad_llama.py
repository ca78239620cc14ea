import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        wide = x.float()
        return (wide * (wide.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()).to(x.dtype) * self.weight


class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads, norm_eps=1e-5):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, n_heads, batch_first=True)
        self.attention_norm = RMSNorm(dim, norm_eps)

    def forward(self, x):
        n = self.attention_norm(x)
        return x + self.attention(n, n, n)[0]
