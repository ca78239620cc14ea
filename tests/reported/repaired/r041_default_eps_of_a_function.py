import torch
from torch import nn
from torch.nn.functional import rms_norm


class TransformerBlock(nn.Module):
    """A block of a video model, modulated by a table."""

    def __init__(self, dim, norm_eps=1e-6):
        super().__init__()
        self.norm_eps = norm_eps
        self.scale_shift_table = nn.Parameter(torch.zeros(2, dim))
        self.feed_forward = nn.Linear(dim, dim)

    def forward(self, x):
        shift, scale = self.scale_shift_table
        h = rms_norm(x, x.shape[-1:], eps=self.norm_eps)
        return h * (1 + scale) + shift
