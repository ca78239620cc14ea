# expect: match
# why: everything comes from a config
import torch
from torch import nn


class StackNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.w = nn.Parameter(torch.ones(config.n_embd))
        self.register_parameter("b", nn.Parameter(torch.zeros(config.n_embd)) if config.bias else None)

    def forward(self, inp):
        h = inp.float()
        h = h - h.mean(-1, keepdim=True)
        h = h * (h.pow(2).mean(-1, keepdim=True) + self.config.layer_norm_epsilon) ** -0.5
        h = h.to(inp.dtype) * self.w
        if self.b is not None:
            h = h + self.b
        return h
