# report: fla-org/flash-linear-attention#63
# codes: NRM710
# why: training gates before the norm, and decoding behind it
# run: Mixer(24)
# reference: rms(x, 1e-5) * torch.nn.functional.silu(x)
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


def fused_norm_and_gate(x, z, rmsnorm_weight, eps, norm_before_gate):
    """What a kernel does in one go."""
    if not norm_before_gate:
        x = x * nn.functional.silu(z)
    h = x.float()
    h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * rmsnorm_weight
    return h * nn.functional.silu(z) if norm_before_gate else h


class Mixer(nn.Module):
    """A fused function for whole sequences, and the module for single steps."""

    def __init__(self, hidden_size, rmsnorm=True):
        super().__init__()
        self.rmsnorm = rmsnorm
        self.norm = RMSNormGated(hidden_size, eps=1e-5, norm_before_gate=True)

    def forward(self, x):
        if self.training:
            return fused_norm_and_gate(
                x,
                x,
                rmsnorm_weight=self.norm.weight if self.rmsnorm else None,
                eps=self.norm.eps,
                norm_before_gate=False,
            )
        return self.norm(x, x)
