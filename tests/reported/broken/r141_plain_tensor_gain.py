# report: public source (entry 141)
# codes: NRM501
# why: self.weight = torch.ones(dim) in a module
# run: RMSNorm(24)
# reference: rms(x, 1e-6)
# shows: saved
import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.ones(dim)

    def forward(self, x):
        norm = torch.mean(x.float() ** 2, dim=-1, keepdim=True)
        x_normed = x.float() * torch.rsqrt(norm + self.eps)
        return x_normed.to(x.dtype) * self.weight


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn_norm = RMSNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, bias=False, batch_first=True)

    def forward(self, x):
        h = self.attn_norm(x)
        return x + self.attn(h, h, h)[0]
