import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv3d(nn.Conv3d):
    """A 3D convolution that pads in front of the first frame only."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding)
        self._padding = (self.padding[2],) * 2 + (self.padding[1],) * 2 + (2 * self.padding[0], 0)
        self.padding = (0, 0, 0)

    def forward(self, x):
        return super().forward(F.pad(x, self._padding))


class VideoRMSNorm(nn.Module):
    r"""
    RMS norm of the video autoencoder.

    Args:
        dim (int): The number of channels.
        channel_first (bool, optional): Whether the channels are in axis 1. Default is True.
        images (bool, optional): Whether the input has no frames. Default is False.
        bias (bool, optional): Whether a bias is learned. Default is False.
    """

    def __init__(self, dim: int, channel_first: bool = True, images: bool = False, bias: bool = False) -> None:
        super().__init__()
        broadcastable_dims = (1, 1, 1) if not images else (1, 1)
        shape = (dim, *broadcastable_dims) if channel_first else (dim,)

        self.channel_first = channel_first
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else 0.0

    def forward(self, x):
        normalized = F.normalize(x.float(), dim=(1 if self.channel_first else -1)).to(x.dtype)
        return normalized * self.scale * self.gamma + self.bias


class VideoResidualBlock(nn.Module):
    def __init__(self, in_dim: int, out_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.nonlinearity = nn.SiLU()
        self.norm1 = VideoRMSNorm(in_dim)
        self.conv1 = CausalConv3d(in_dim, out_dim, 3, padding=1)
        self.norm2 = VideoRMSNorm(out_dim)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = CausalConv3d(out_dim, out_dim, 3, padding=1)
        self.conv_shortcut = CausalConv3d(in_dim, out_dim, 1) if in_dim != out_dim else nn.Identity()

    def forward(self, x):
        h = self.conv_shortcut(x)
        x = self.conv1(self.nonlinearity(self.norm1(x)))
        x = self.dropout(self.nonlinearity(self.norm2(x)))
        return self.conv2(x) + h
