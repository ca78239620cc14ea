# report: pytorch/pytorch#84356, tensorflow/tensorflow#58146
# why: the variance of the output, taken with Bessel's correction, is not 1, and should not be
# run: ManualLayerNorm(24)
# reference: layer(x, 1e-5)
import torch
import torch.nn as nn


class ManualLayerNorm(nn.Module):
    """nn.LayerNorm spelt out, to look at what it gives."""

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        h = x.float()
        mean = h.mean(dim=-1, keepdim=True)
        var = h.var(dim=-1, unbiased=False, keepdim=True)
        out = (h - mean) / torch.sqrt(var + self.eps)
        return (self.gamma * out + self.beta).to(x.dtype)


def show(dim=1024):
    x = torch.randn(4, dim) * 3 + 1
    y = ManualLayerNorm(dim)(x)
    print("variance of the output:", y.var(-1))
