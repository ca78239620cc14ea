from typing import Sequence, Union

import torch


def _canonical(axis: Union[int, Sequence[int]], ndim: int):
    axes = [axis] if isinstance(axis, int) else list(axis)
    return [a % ndim for a in axes]


def rms_norm(data, weight, axis, epsilon=1e-5):
    """Root mean square normalization operator of `data` over `axis`."""
    axes = _canonical(axis, data.ndim)
    count = 1
    for a in axes:
        count = count * data.shape[a]
    wide = data.float()
    square_sum = torch.sum(wide * wide, dim=axes, keepdim=True)
    return (wide * torch.rsqrt(square_sum / count + epsilon)).to(data.dtype) * weight
