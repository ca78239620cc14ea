# report: deepspeedai/DeepSpeed#581
# codes: NRM205|NRM303
# why: the variance is cast to half, and 1e-12 is 0 there
# run: FusedLikeLayerNorm(24)
# reference: layer(x, 1e-12)
# shows: half-zeros
import torch
from torch import nn


class FusedLikeLayerNorm(nn.Module):
    """What the transformer kernel computes, for comparison."""

    def __init__(self, hidden_size, layer_norm_eps=1e-12):
        super().__init__()
        self.layer_norm_eps = layer_norm_eps
        self.gamma = nn.Parameter(torch.ones(hidden_size))
        self.beta = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, vals):
        wide = vals.float()
        mean = wide.mean(-1, keepdim=True)
        variance = (wide - mean).square().mean(-1, keepdim=True)
        variance = variance.to(vals.dtype) + self.layer_norm_eps
        normed = (vals - mean.to(vals.dtype)) * torch.rsqrt(variance)
        return normed * self.gamma + self.beta
