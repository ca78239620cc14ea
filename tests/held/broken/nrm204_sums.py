# expect: wrong  codes: NRM204
# why: the same with sums over d
import torch


def fast_layer_norm(x, gamma, beta, eps=1e-5):
    h, d = x.float(), x.shape[-1]
    mean = h.sum(-1, keepdim=True) / d
    var = (h * h).sum(-1, keepdim=True) / d - mean * mean
    return ((h - mean) / torch.sqrt(var + eps)).to(x.dtype) * gamma + beta
