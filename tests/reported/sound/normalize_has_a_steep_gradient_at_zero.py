# report: pytorch/pytorch#184575
# why: the gradient of x / max(|x|, eps) at 0 is 1 / eps, and that is right
# run: Projector(24)
# reference: l2(x)
import torch
import torch.nn as nn
import torch.nn.functional as F


class Projector(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)
        nn.init.eye_(self.linear.weight)

    def forward(self, x):
        return F.normalize(self.linear(x), p=2, dim=-1, eps=1e-12)


def contrastive_loss(a: torch.Tensor, b: torch.Tensor, temperature: float = 0.07):
    logits = a @ b.t() / temperature
    return F.cross_entropy(logits, torch.arange(len(a), device=a.device))
