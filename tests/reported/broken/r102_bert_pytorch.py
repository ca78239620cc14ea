# report: codertimo/BERT-pytorch#30
# codes: NRM105
# also: NRM302
# why: std + eps, copied from the annotated transformer
# run: LayerNorm(4)
# reference: layer(x, 1e-6)
# shows: values
# input: 2 3 4
import torch.nn as nn
import torch


class LayerNorm(nn.Module):
    "Layer norm over the last axis, as in the encoder."

    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class GELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3))))
