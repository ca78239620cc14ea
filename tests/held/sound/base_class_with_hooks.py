# expect: match
# why: a template method: the subclass says what the moment is, the base does the rest
import torch
from torch import nn

DEFAULT_EPS = 1e-6


def upcast(t):
    return t.to(dtype=torch.float32)


class MomentNorm(nn.Module):
    def __init__(self, width, eps=DEFAULT_EPS):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.scale)

    def moment(self, t):
        raise NotImplementedError

    def forward(self, t):
        wide = upcast(t)
        inv = torch.rsqrt(self.moment(wide) + self.eps)
        return (wide * inv).to(t.dtype) * self.scale


class RootMeanSquare(MomentNorm):
    def moment(self, t):
        return t.square().mean(-1, keepdim=True)
