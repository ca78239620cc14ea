# expect: match
# why: the L2 norm taken in fp32, times d ** -0.5: the root mean square; eps is a floor of it
import torch
from torch import nn


class VectorNormRMS(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        rms = length * x.shape[-1] ** -0.5
        return (x.float() / rms.clamp(min=self.eps)).to(x.dtype) * self.weight
