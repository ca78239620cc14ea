# report: hyunwoongko/transformer#7
# codes: NRM105
# also: NRM302
# why: (x - mean) / (std + eps) with Bessel's correction
# run: LayerNorm(4)
# reference: layer(x, 1e-12)
# shows: values
# input: 2 3 4
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-12):
        super(LayerNorm, self).__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        out = (x - mean) / (std + self.eps)
        out = self.gamma * out + self.beta
        return out
