# report: hkproj/pytorch-transformer#31
# codes: NRM105 NRM504
# also: NRM302
# why: unbiased std + eps, and one number for alpha and one for bias
# run: LayerNormalization(4)
# reference: layer(x, 1e-6)
# shows: values shape
# input: 2 3 4
import math

import torch
import torch.nn as nn


class LayerNormalization(nn.Module):

    def __init__(self, features: int, eps: float = 10**-6) -> None:
        super().__init__()
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(1))  # gain
        self.bias = nn.Parameter(torch.zeros(1))  # offset

    def forward(self, x):
        # batch x length x features
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias


class InputEmbeddings(nn.Module):

    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        return self.embedding(x) * math.sqrt(self.d_model)


class ResidualConnection(nn.Module):

    def __init__(self, features: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = LayerNormalization(features)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))
