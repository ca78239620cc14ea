# expect: wrong  codes: NRM502
# why: -= on what may be the input itself
import torch


def layer_norm(x, weight, bias, eps=1e-5):
    h = x.to(torch.float32)
    h -= h.mean(-1, keepdim=True)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return h.to(x.dtype) * weight + bias
