# report: public source (entry 57)
# codes: NRM301|NRM304 NRM105
# why: (x - mean) / std with self.eps unused
# run: Norm(8)
# reference: layer(x, 1e-6)
# shows: zeros values
# input: 2 3 8
import torch
import torch.nn as nn


class Norm(nn.Module):
    """Layer normalization in front of each sub-layer."""

    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.size = d_model
        # two learnable parameters
        self.alpha = nn.Parameter(torch.ones(self.size))
        self.bias = nn.Parameter(torch.zeros(self.size))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(dim=-1, keepdim=True)
        sigma = x.std(dim=-1, keepdim=True)
        norm = self.alpha * ((x - mu) / sigma) + self.bias
        return norm


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff=2048, dropout=0.1):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.norm = Norm(d_model)

    def forward(self, x):
        return x + self.linear_2(self.dropout(torch.relu(self.linear_1(self.norm(x)))))
