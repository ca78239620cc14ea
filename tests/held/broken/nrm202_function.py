# expect: wrong  codes: NRM202
# why: squared, then widened, then summed
import torch


def rmsnorm(x, w, eps=1e-5):
    squares = torch.square(x).to(torch.float32)
    ms = squares.sum(dim=-1, keepdim=True) / x.shape[-1]
    return (x.float() * torch.rsqrt(ms + eps)).type_as(x) * w
