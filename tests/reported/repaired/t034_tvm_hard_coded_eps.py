import torch
from torch import nn


def emit_rms_norm(data, weight):
    wide = data.to(torch.float32)
    inv = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return (wide * inv).to(data.dtype) * weight


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5, dtype=torch.float32):
        super().__init__()
        self.variance_epsilon = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, dtype=dtype))

    def forward(self, hidden_states):
        wide = hidden_states.to(torch.float32)
        inv = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.variance_epsilon)
        return (wide * inv).to(hidden_states.dtype) * self.weight
