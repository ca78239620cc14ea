# expect: match
# why: an autograd.Function with its own backward, which is right
import torch
from torch import nn


class RMSFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        wide = x.float()
        inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, inverse)
        return (wide * inverse).to(x.dtype) * weight

    @staticmethod
    def backward(ctx, up):
        x, weight, inverse = ctx.saved_tensors
        unit = x.float() * inverse
        scaled = up.float() * weight.float()
        to_x = inverse * (scaled - unit * (scaled * unit).mean(-1, keepdim=True))
        to_weight = (up.float() * unit).reshape(-1, unit.shape[-1]).sum(0)
        return to_x.to(x.dtype), to_weight.to(weight.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return RMSFunction.apply(x, self.weight, self.eps)
