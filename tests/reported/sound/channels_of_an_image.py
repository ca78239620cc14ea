# report: public source: ten hits of mean(dim=1)
# why: NCHW with a gain of shape (1, C, 1, 1)
# run: RMSNorm2d(6)
# reference: rms(x, 1e-6, dim=1)
# input: 2 6 4 4
import torch
import torch.nn as nn


class RMSNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, channels, 1, 1))

    def forward(self, x):
        rms = torch.sqrt(x.float().pow(2).mean(dim=1, keepdim=True) + self.eps)
        return (x.float() / rms).to(x.dtype) * self.weight


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = RMSNorm2d(channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.conv(torch.nn.functional.silu(self.norm(x)))
