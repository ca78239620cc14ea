# report: public source (entry 104)
# codes: NRM101
# why: x.pow(2).mean() of a (B, T, C) input
# run: RMSNorm(24)
# reference: rms(x, 1e-6)
# shows: values
import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        xf = x.float()
        rms = torch.sqrt(xf.pow(2).mean() + self.eps)
        return (xf / rms).to(x.dtype) * self.weight


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, n_head):
        super().__init__()
        self.n_head = n_head
        self.norm = RMSNorm(dim)
        self.c_attn = nn.Linear(dim, 3 * dim, bias=False)
        self.c_proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(self.norm(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
