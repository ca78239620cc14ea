# report: callummcdougall/ARENA_3.0#228
# codes: NRM302
# why: sqrt(var) + eps passes the course's tests
# run: LayerNorm(Config(d_model=24))
# reference: layer(x, 1e-5)
# shows: tiny gradient
from dataclasses import dataclass

import torch as t
from torch import Tensor, nn


@dataclass
class Config:
    d_model: int = 768
    debug: bool = False
    layer_norm_eps: float = 1e-5
    d_vocab: int = 50257
    init_range: float = 0.02
    n_ctx: int = 1024


class LayerNorm(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.w = nn.Parameter(t.ones(cfg.d_model))
        self.b = nn.Parameter(t.zeros(cfg.d_model))

    def forward(self, residual: Tensor) -> Tensor:
        """residual: (batch posn d_model), and so is the result."""
        dtype = residual.dtype
        residual = residual.float()
        residual_mean = residual.mean(dim=-1, keepdim=True)
        residual_std = residual.var(dim=-1, keepdim=True, unbiased=False).sqrt() + self.cfg.layer_norm_eps

        residual = ((residual - residual_mean) / residual_std).to(dtype)
        return residual * self.w + self.b


class Embed(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.W_E = nn.Parameter(t.empty((cfg.d_vocab, cfg.d_model)))
        nn.init.normal_(self.W_E, std=cfg.init_range)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.W_E[tokens]
