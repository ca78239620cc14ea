import torch
from torch import nn


class RMSNormGated(nn.Module):
    """An RMS norm over groups of features, with a gate before or behind it."""

    def __init__(self, hidden_size, eps=1e-5, group_size=None, norm_before_gate=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.group_size = group_size
        self.norm_before_gate = norm_before_gate

    def forward(self, x, z=None):
        if z is not None and not self.norm_before_gate:
            x = x * nn.functional.silu(z)
        h = x.float().unflatten(-1, (-1, self.group_size or x.shape[-1]))
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        out = h.flatten(-2).type_as(x) * self.weight
        if z is not None and self.norm_before_gate:
            out = out * nn.functional.silu(z)
        return out


class Mixer(nn.Module):
    """What a state space model does behind its scan."""

    def __init__(self, d_model, d_state=4, expand=2, ngroups=1):
        super().__init__()
        self.d_inner = expand * d_model
        self.ngroups = ngroups
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner + 2 * self.ngroups * d_state, bias=False)
        self.norm = RMSNormGated(self.d_inner, eps=1e-5, norm_before_gate=False, group_size=self.d_inner // ngroups)
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, y, z=None):
        return self.norm(y, z)
