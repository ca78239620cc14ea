# expect: wrong  codes: NRM303
# why: plus one instead of plus eps
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h / torch.sqrt(1 + h.square().mean(dim=-1, keepdim=True))).to(x.dtype) * self.weight
