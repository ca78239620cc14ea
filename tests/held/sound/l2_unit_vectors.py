# expect: match
# why: an L2 norm that means to be one: no count, no gain
import torch


def to_unit_sphere(vectors: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    v = vectors.float()
    inverse_length = torch.rsqrt(v.square().sum(dim=-1, keepdim=True) + eps)
    return (v * inverse_length).to(vectors.dtype)
