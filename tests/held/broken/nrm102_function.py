# expect: wrong  codes: NRM102
# why: keepdim=False, spelled out
import torch


def rms_normalise(x, gain, eps=1e-6):
    h = x.to(torch.float32)
    rms = torch.sqrt(torch.mean(h.pow(2), dim=-1, keepdim=False) + eps)
    return (h / rms).to(x.dtype) * gain
