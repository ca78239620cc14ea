# report: microsoft/onnxruntime#21935
# codes: NRM204
# why: E[x^2] - E[x]^2 of rows that are 1234 throughout
# run: layer_normalization
# reference: layer(x, 1e-5)
# shows: offset
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
    mean_square = (stash * stash).sum(axis, keepdim=True) / norm_size
    std_dev = torch.sqrt(mean_square - mean * mean + epsilon)
    y = ((stash - mean) / std_dev).to(x.dtype)
    if scale is not None:
        y = y * scale
    if bias is not None:
        y = y + bias
    return y
