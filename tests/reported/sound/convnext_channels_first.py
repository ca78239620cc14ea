# report: tensorpack/tensorpack#1482, keras-team/tf-keras#173, facebookresearch/ConvNeXt#112, #136
# why: over the channels of each pixel, with a gain along the channels
# run: LayerNorm(6, data_format="channels_first")
# reference: layer(x, 1e-6, dim=1)
# input: 2 6 4 4
import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerNorm(nn.Module):
    r""" Layer norm of images, whose channels may stand last (as in NHWC) or first (as in NCHW).
    """
    def __init__(self, normalized_shape, eps=1e-6, data_format="channels_last"):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps
        self.data_format = data_format
        if self.data_format not in ["channels_last", "channels_first"]:
            raise NotImplementedError
        self.normalized_shape = (normalized_shape, )

    def forward(self, x):
        if self.data_format == "channels_last":
            return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        elif self.data_format == "channels_first":
            dtype = x.dtype
            x = x.float()
            u = x.mean(1, keepdim=True)
            s = (x - u).pow(2).mean(1, keepdim=True)
            x = (x - u) / torch.sqrt(s + self.eps)
            x = x.to(dtype)
            x = self.weight[:, None, None] * x + self.bias[:, None, None]
            return x
