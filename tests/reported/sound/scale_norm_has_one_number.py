# report: lucidrains/x-transformers#101
# why: ScaleNorm's gain is one number by design
# run: ScaleNorm(24 ** 0.5)
# reference: rms(x, 0.0)
import torch
from torch import nn


class ScaleNorm(nn.Module):
    """ScaleNorm"""

    def __init__(self, scale, eps=1e-5):
        super(ScaleNorm, self).__init__()
        self.scale = nn.Parameter(torch.tensor(scale))
        self.eps = eps

    def forward(self, x):
        norm = self.scale / torch.norm(x, dim=-1, keepdim=True).clamp(min=self.eps)
        return x * norm
