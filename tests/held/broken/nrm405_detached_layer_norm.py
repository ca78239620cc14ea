# expect: wrong  codes: NRM405
# why: mean and variance of x.detach()
import torch


def layer_norm(x, weight, bias, eps=1e-5):
    h = x.float()
    var, mean = torch.var_mean(h.detach(), dim=-1, keepdim=True, unbiased=False)
    return ((h - mean) * torch.rsqrt(var + eps) * weight + bias).to(x.dtype)
