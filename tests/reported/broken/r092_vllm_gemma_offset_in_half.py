# report: vllm-project/vllm#3653
# codes: NRM207
# why: 1 + weight is added in the dtype of the weight: bf16(1 + 2 ** -8) is 1
# run: lambda x: filled(GemmaRMSNorm(24).bfloat16(), 2.0 ** -8)(x.bfloat16()).float()
# reference: rms(x.bfloat16().double(), 1e-6) * (1 + 2.0 ** -8)
# shows: bf16-mean
import torch
import torch.nn as nn


def filled(module, value):
    nn.init.constant_(module.weight, value)
    return module


class GemmaRMSNorm(nn.Module):
    """The norm of Gemma: its gain is 1 + w, and the product is taken before the cast."""

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    def forward(self, x, residual=None):
        orig_dtype = x.dtype
        if residual is not None:
            x = x + residual
            residual = x

        x = x.float()
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        x = x * (1 + self.weight)
        x = x.to(orig_dtype)
        return x if residual is None else (x, residual)
