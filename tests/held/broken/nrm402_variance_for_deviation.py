# expect: wrong  codes: NRM402
# why: a layer norm over the variance
import torch


def layer_norm(x, g, b, eps=1e-5):
    h = x.float()
    var, mean = torch.var_mean(h, -1, unbiased=False, keepdim=True)
    return ((h - mean) / (var + eps)).to(x.dtype) * g + b
