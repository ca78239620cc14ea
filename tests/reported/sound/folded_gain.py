# report: TransformerLensOrg/TransformerLens#657
# why: the gain is folded into the next linear layer
# run: RMSNormPre(Config())
# reference: rms(x, 1e-5)
from dataclasses import dataclass
from typing import Union

import torch
import torch.nn as nn


@dataclass
class Config:
    eps: float = 1e-5
    d_model: int = 24
    dtype: torch.dtype = torch.float32


class RMSNormPre(nn.Module):
    def __init__(self, cfg: Union[dict, Config]):
        """The gain is in the linear layers behind this norm."""
        super().__init__()
        self.cfg = cfg
        self.eps = self.cfg.eps
        self.hook_scale = nn.Identity()
        self.hook_normalized = nn.Identity()

    def forward(self, x):
        if self.cfg.dtype not in [torch.float32, torch.float64]:
            x = x.to(torch.float32)

        scale = self.hook_scale((x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
        return self.hook_normalized(x / scale).to(self.cfg.dtype)
