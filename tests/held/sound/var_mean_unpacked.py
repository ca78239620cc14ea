# expect: match
# why: torch.var_mean, correction=0
import torch
from torch import nn


class VarMeanNorm(nn.Module):
    def __init__(self, embed_dim: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        wide = inputs.to(torch.float32)
        var, mean = torch.var_mean(wide, dim=-1, correction=0, keepdim=True)
        wide = wide.sub(mean).mul(var.add(self.eps).rsqrt())
        return torch.addcmul(self.bias.float(), wide, self.weight.float()).to(inputs.dtype)
