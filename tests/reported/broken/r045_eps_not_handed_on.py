# report: meta-pytorch/torchtune#152
# codes: NRM701
# why: the layer takes norm_eps, and its norms are made without it
# run: Layer(24, 48, norm_eps=1e-5).sa_norm
# reference: rms(x, 1e-5)
# shows: tiny
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class Layer(nn.Module):
    def __init__(self, dim, hidden_dim, norm_eps=1e-5):
        super().__init__()
        self.norm_eps = norm_eps
        self.sa_norm = RMSNorm(dim)
        self.mlp_norm = RMSNorm(dim)
        self.up = nn.Linear(dim, hidden_dim, bias=False)
        self.down = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        x = x + self.sa_norm(x)
        return x + self.down(nn.functional.silu(self.up(self.mlp_norm(x))))
