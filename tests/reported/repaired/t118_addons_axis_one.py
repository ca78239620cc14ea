import torch
from torch import nn


class ChannelLayerNormalization(nn.Module):
    """Layer normalization over the channels of images whose channels are last."""

    def __init__(self, channels, epsilon=1e-3):
        super().__init__()
        self.epsilon = epsilon
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, images):
        batch, height, width, channels = images.shape
        wide = images.float()
        mean = wide.mean(3, keepdim=True)
        variance = (wide - mean).square().mean(3, keepdim=True)
        normed = (wide - mean) * torch.rsqrt(variance + self.epsilon)
        return normed.to(images.dtype) * self.gamma + self.beta
