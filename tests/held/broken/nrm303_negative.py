# expect: wrong  codes: NRM303
# why: a minus that slipped in: the root of a small row is NaN
import torch


def rms_norm(x, weight):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + -1e-5)).to(x.dtype) * weight
