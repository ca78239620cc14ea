# report: public source (entry 114): a Gemma
# codes: NRM102
# why: mean(dim=-1) without keepdim, with (1 + w)
# run: GemmaNorm(6)
# reference: rms(x, 1e-6)
# shows: values
# input: 6 6 6
import torch
from torch import nn


class GemmaNorm(nn.Module):
    def __init__(self, d: int, *, epsilon: float = 1e-6):
        super().__init__()
        self.epsilon = epsilon
        self.scale = nn.Parameter(torch.zeros(d))

    def _normalize(self, h: torch.Tensor) -> torch.Tensor:
        inv = torch.rsqrt(torch.mean(torch.square(h), dim=-1) + self.epsilon)
        return h * inv

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self._normalize(x.float())
        return (normed * (1.0 + self.scale.float())).to(x.dtype)


class GemmaBlock(nn.Module):
    def __init__(self, d, inner):
        super().__init__()
        self.pre = GemmaNorm(d)
        self.post = GemmaNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, inner), nn.GELU(approximate="tanh"), nn.Linear(inner, d))

    def forward(self, x):
        return x + self.post(self.mlp(self.pre(x)))
