# expect: match
# why: a plain function; the gain is an argument
import torch


def rms_norm(x, weight, eps=1e-6):
    """x / rms(x) * weight over the last axis."""
    t = x.to(torch.float32)
    t = t * torch.rsqrt(torch.mean(torch.square(t), dim=-1, keepdim=True) + eps)
    return t.to(x.dtype) * weight
