from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ModelArgs:
    dim: int = 512
    n_layers: int = 8
    n_heads: int = 8
    n_kv_heads: Optional[int] = 4
    vocab_size: int = -1
    multiple_of: int = 256
    ffn_dim_multiplier: Optional[float] = None
    norm_eps: float = 1e-5
    rope_theta: float = 500000.0


class Llama3RMSNorm(nn.Module):
    """The norm in front of attention and feed forward."""

    def __init__(self, args: ModelArgs):
        super().__init__()
        self.norm_eps = args.norm_eps
        self.g = nn.Parameter(torch.ones(args.dim))

    def mean_square(self, t):
        return (t ** 2).mean(dim=-1, keepdim=True)

    def forward(self, tokens):
        # (B, T, C) -> (B, T, C)
        t = tokens.float()
        t_norm = t * torch.rsqrt(self.mean_square(t) + self.norm_eps)
        return self.g * t_norm.type_as(tokens)


class FeedForward(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        hidden = args.multiple_of * ((8 * args.dim // 3 + args.multiple_of - 1) // args.multiple_of)
        self.w1 = nn.Linear(args.dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))
