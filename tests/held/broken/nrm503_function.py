# expect: wrong  codes: NRM503
# why: a print that stayed
import torch


def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    out = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight
    print(f"{x.dtype=} {out.dtype=}")
    return out
