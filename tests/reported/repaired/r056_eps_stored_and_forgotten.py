import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x_fp32 = x.float()
        inv_norm = torch.rsqrt(x_fp32.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.gamma * (x_fp32 * inv_norm).type_as(x)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w = nn.Linear(d_model, d_ff, bias=False)
        self.v = nn.Linear(d_model, d_ff, bias=False)
        self.o = nn.Linear(d_ff, d_model, bias=False)
        self.norm = RMSNorm(d_model)

    def forward(self, x):
        h = self.norm(x)
        return x + self.o(torch.nn.functional.silu(self.w(h)) * self.v(h))
