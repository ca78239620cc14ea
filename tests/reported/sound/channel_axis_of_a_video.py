# report: Wan-Video/Wan2.1#294
# why: dim 1 of (b, c, t, h, w) holds the channels: nothing leaks from the future
# run: RMS_norm(6, images=False)
# reference: rms(x, 0.0, dim=1)
# input: 2 6 2 3 3
import torch
import torch.nn as nn
import torch.nn.functional as F


class RMS_norm(nn.Module):

    def __init__(self, dim, channel_first=True, images=True, bias=False):
        super().__init__()
        broadcastable_dims = (1, 1, 1) if not images else (1, 1)
        shape = (dim, *broadcastable_dims) if channel_first else (dim,)

        self.channel_first = channel_first
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else 0.

    def forward(self, x):
        return F.normalize(
            x, dim=(1 if self.channel_first else
                    -1)) * self.scale * self.gamma + self.bias
