# expect: wrong  codes: NRM404
# why: mean is computed for the variance and forgotten after it
import torch


def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    var = ((h - mean) ** 2).mean(-1, keepdim=True)
    return (weight * h / torch.sqrt(var + eps) + bias).to(x.dtype)
