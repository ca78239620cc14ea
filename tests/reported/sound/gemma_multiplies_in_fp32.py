# report: huggingface/transformers#29402, InternLM/lmdeploy#2842
# why: Gemma multiplies by 1 + weight in fp32 and casts last
# run: GemmaRMSNorm(24)
# reference: rms(x, 1e-6)
import torch
from torch import nn


class GemmaRMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float())
        # the gain belongs to the part in fp32 here
        output = output * (1.0 + self.weight.float())
        return output.type_as(x)
