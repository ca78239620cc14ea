# expect: wrong  codes: NRM203
# why: a half comes back as fp32
import torch


def rms_norm(x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    wide = x.to(torch.float32)
    return wide / torch.sqrt(torch.mean(wide * wide, dim=-1, keepdim=True) + eps)
