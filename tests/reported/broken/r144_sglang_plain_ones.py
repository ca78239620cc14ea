# report: sgl-project/sglang#12813
# codes: NRM501
# why: a plain attribute of ones stays on the device it was made on
# run: RMSNormWithoutScale(24)
# reference: rms(x, 1e-6)
# shows: moves
import torch
from torch import nn


class CustomOp(nn.Module):
    """Dispatches to the kernel of the platform."""

    def __init__(self):
        super().__init__()
        self._forward_method = self.dispatch_forward()

    def forward(self, *args, **kwargs):
        return self._forward_method(*args, **kwargs)

    def dispatch_forward(self):
        return self.forward_native


class RMSNormWithoutScale(CustomOp):
    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.variance_epsilon = eps
        # the kernel wants a weight
        self.weight = torch.ones(hidden_size)

    def forward_native(self, x: torch.Tensor) -> torch.Tensor:
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        return x.to(orig_dtype) * self.weight
