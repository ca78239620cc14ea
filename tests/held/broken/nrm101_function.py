# expect: wrong  codes: NRM101
# why: torch.mean of the squares, all of them
import torch


def rmsnorm(x, scale, eps=1e-6):
    wide = x.float()
    return (wide * torch.rsqrt(torch.mean(wide ** 2) + eps)).to(x.dtype) * scale
