# expect: match
# why: over the channels of an image, without a gain
import torch
from torch import nn


class PixelNorm(nn.Module):
    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(torch.mean(h ** 2, dim=1, keepdim=True) + 1e-8)).to(x.dtype)
