# report: Comfy-Org/ComfyUI#8542
# codes: NRM304
# why: the block keeps the model's eps, and calls the function with its default
# run: TransformerBlock(24, norm_eps=1e-3)
# reference: rms(x, 1e-3)
# shows: tiny
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
        h = rms_norm(x, x.shape[-1:])
        return h * (1 + scale) + shift
