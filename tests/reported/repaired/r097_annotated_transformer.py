import copy

import torch
import torch.nn as nn


def clones(module, N):
    "N copies of a layer, each with parameters of its own."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class Encoder(nn.Module):
    "A stack of layers, and one more norm at its end."

    def __init__(self, layer, N):
        super(Encoder, self).__init__()
        self.layers = clones(layer, N)
        self.norm = LayerNorm(layer.size)

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class LayerNorm(nn.Module):
    "The norm around each sub-layer."

    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.float().var(-1, keepdim=True, unbiased=False)
        return self.a_2 * ((x - mean) / torch.sqrt(var + self.eps)).to(x.dtype) + self.b_2


class SublayerConnection(nn.Module):
    "Adds what a sub-layer gives to its input; the norm comes first."

    def __init__(self, size, dropout):
        super(SublayerConnection, self).__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))
