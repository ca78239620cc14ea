# report: lucidrains/denoising-diffusion-pytorch#333, microsoft/TRELLIS#314
# why: x / |x| * sqrt(d) is x / RMS
# run: RMSNorm(6)
# reference: rms(x, 0.0, dim=1)
# input: 2 6 4 4
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Module


class RMSNorm(Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.g = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x):
        return F.normalize(x, dim = 1) * self.g * self.scale


class MultiHeadRMSNorm(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.scale = dim ** 0.5
        self.gamma = nn.Parameter(torch.ones(heads, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (F.normalize(x.float(), dim=-1) * self.gamma * self.scale).to(x.dtype)
