import math

import torch
import torch.nn as nn


class LayerNormalization(nn.Module):

    def __init__(self, features: int, eps: float = 10**-6) -> None:
        super().__init__()
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(features))  # gain
        self.bias = nn.Parameter(torch.zeros(features))  # offset

    def forward(self, x):
        # batch x length x features
        mean = x.mean(dim=-1, keepdim=True)
        var = (x - mean).float().square().mean(dim=-1, keepdim=True)
        normed = ((x - mean) * torch.rsqrt(var + self.eps)).type_as(x)
        return self.alpha * normed + self.bias


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
