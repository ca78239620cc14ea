# report: tensorflow/addons#2142
# codes: NRM103
# why: axis 1 of (batch, height, width, channel) is not the channels
# run: ChannelLayerNormalization(6)
# reference: layer(x, 1e-3)
# shows: values
# input: 2 4 4 6
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
        mean = wide.mean(1, keepdim=True)
        variance = (wide - mean).square().mean(1, keepdim=True)
        normed = (wide - mean) * torch.rsqrt(variance + self.epsilon)
        return normed.to(images.dtype) * self.gamma + self.beta
