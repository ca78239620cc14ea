# expect: wrong  codes: NRM201
# why: the sum of squares overflows before the division
import torch


def rms_norm(x, weight, eps=1e-6):
    d = x.size(-1)
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) / d + eps) * weight
