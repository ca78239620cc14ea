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


def parameter_names(model, left_out):
    """The names of the parameters that don't belong to a module of these classes."""
    found = []
    for name, child in model.named_children():
        found += [f"{name}.{n}" for n in parameter_names(child, left_out) if not isinstance(child, left_out)]
    return found + list(model._parameters)


def optimizer_of(model, lr, weight_decay):
    decayed = parameter_names(model, (nn.LayerNorm, RMSNorm))
    named = dict(model.named_parameters())
    return torch.optim.AdamW(
        [
            {"params": [p for n, p in named.items() if n in decayed], "weight_decay": weight_decay},
            {"params": [p for n, p in named.items() if n not in decayed], "weight_decay": 0.0},
        ],
        lr=lr,
    )
