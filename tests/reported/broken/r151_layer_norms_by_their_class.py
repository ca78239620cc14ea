# report: huggingface/transformers#35927
# codes: NRM708
# why: only what is an nn.LayerNorm is spared, and the model's norm is its own
# run: optimizer_of(Block(24), 1e-3, 0.1)
# reference: None
# shows: spared
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight


class Block(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.mlp = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def optimizer_of(model, lr, weight_decay):
    spared = [p for module in model.modules() if isinstance(module, nn.LayerNorm) for p in module.parameters()]
    known = {id(parameter) for parameter in spared}
    decayed = [p for p in model.parameters() if id(p) not in known]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": spared, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)
