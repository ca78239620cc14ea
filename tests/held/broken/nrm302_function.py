# expect: wrong  codes: NRM302
# why: 1 / (rms + eps)
import torch


def rmsnorm(x, g, eps=1e-6):
    h = x.float()
    scale = 1.0 / (torch.sqrt(torch.mean(h * h, -1, keepdim=True)) + eps)
    return (h * scale).to(x.dtype) * g
