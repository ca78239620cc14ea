# report: public source (entry 3)
# codes: NRM401
# why: (x / rsqrt(...)) * w
# run: RootMeanSquareNorm(24)
# reference: rms(x, 1e-6)
# shows: values
import torch
from torch import nn


class RootMeanSquareNorm(nn.Module):
    def __init__(self, n_embd, epsilon=1e-6):
        super(RootMeanSquareNorm, self).__init__()
        self.epsilon = epsilon
        self.w = nn.Parameter(torch.ones(n_embd))

    def forward(self, inputs):
        x = inputs.to(torch.float32)
        mean_of_squares = torch.mean(x ** 2, dim=-1, keepdim=True)
        out = (x / torch.rsqrt(mean_of_squares + self.epsilon)) * self.w.float()
        return out.to(inputs.dtype)


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1 = RootMeanSquareNorm(n_embd)
        self.attn = nn.MultiheadAttention(n_embd, n_head, batch_first=True)
        self.ln_2 = RootMeanSquareNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        h = self.ln_1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))
