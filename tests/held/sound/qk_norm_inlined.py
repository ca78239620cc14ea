# expect: skipped
# why: queries and keys are normalised in the attention itself
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads=8, eps=1e-6):
        super().__init__()
        self.heads = heads
        self.eps = eps
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.q_gain = nn.Parameter(torch.ones(dim // heads))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        qf = q.float()
        q = (qf * torch.rsqrt(qf.pow(2).mean(-1, keepdim=True) + self.eps)).to(q.dtype) * self.q_gain
        attn = torch.softmax(q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5, dim=-1)
        return self.out((attn @ v).transpose(1, 2).reshape(b, n, d))
