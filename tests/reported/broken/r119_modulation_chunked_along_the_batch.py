# report: huggingface/diffusers#7460
# codes: NRM703
# why: scale and shift are split along the batch, which is chunk's default
# run: Conditioned(24)
# reference: layer(x, 1e-5)
# shows: values
import torch
from torch import nn


class AdaLayerNorm(nn.Module):
    def __init__(self, dim, cond_dim):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(cond_dim, dim * 2)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)

    def forward(self, x, cond):
        emb = self.linear(self.silu(cond))
        scale, shift = torch.chunk(emb, 2)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None]


class Conditioned(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = AdaLayerNorm(dim, 8)

    def forward(self, x):
        return self.norm(x, torch.ones(x.shape[0], 8))
