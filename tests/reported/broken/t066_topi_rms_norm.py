# report: apache/tvm#16091
# codes: NRM201
# why: the squares are summed in the dtype of the data
# run: lambda x: rms_norm(x, torch.ones(24, dtype=x.dtype), -1)
# reference: rms(x, 1e-5)
# shows: half
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
    square_sum = torch.sum(data * data, dim=axes, keepdim=True)
    return data * torch.rsqrt(square_sum / count + epsilon) * weight
