# report: state-spaces/mamba#908
# codes: NRM710
# why: one rank's features are divided by the groups of all ranks
# run: Mixer(48, ngroups=4, world_size=2)
# reference: rms(x.unflatten(-1, (2, 12)), 1e-5).flatten(-2)
# shows: values
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
    """One rank's part of a mixer."""

    def __init__(self, d_model, d_ssm=None, ngroups=1, world_size=1):
        super().__init__()
        self.world_size = world_size
        self.d_inner = d_model // self.world_size
        self.ngroups = ngroups // self.world_size
        self.d_ssm = d_model // self.world_size if d_ssm is None else d_ssm // self.world_size
        self.norm = RMSNormGated(self.d_ssm, eps=1e-5, norm_before_gate=False, group_size=self.d_ssm // ngroups)

    def forward(self, y, z=None):
        return self.norm(y, z)
