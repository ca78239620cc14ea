# expect: wrong  codes: NRM304
# why: the parameter eps is never read
import torch


def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    h = h - h.mean(-1, keepdim=True)
    h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-5)
    return h.to(x.dtype) * weight + bias
