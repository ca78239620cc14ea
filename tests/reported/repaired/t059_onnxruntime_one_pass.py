from typing import Optional

import torch


def layer_normalization(
    x: torch.Tensor,
    scale: Optional[torch.Tensor] = None,
    bias: Optional[torch.Tensor] = None,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> torch.Tensor:
    """The operator LayerNormalization-17, for one axis."""
    stash = x.to(torch.float32)
    norm_size = stash.shape[axis]
    mean = stash.sum(axis, keepdim=True) / norm_size
    deviation = stash - mean
    std_dev = torch.sqrt((deviation * deviation).sum(axis, keepdim=True) / norm_size + epsilon)
    y = ((stash - mean) / std_dev).to(x.dtype)
    if scale is not None:
        y = y * scale
    if bias is not None:
        y = y + bias
    return y
