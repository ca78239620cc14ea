# expect: wrong  codes: NRM403
# why: a function named rms_norm that never squares
import torch


def rms_norm(hidden, weight, eps=1e-6):
    h = hidden.float()
    scale = (torch.sum(torch.abs(h), dim=-1, keepdim=True) / h.shape[-1] + eps).rsqrt()
    return (h * scale).to(hidden.dtype) * weight
