# expect: match
# why: LLaMA's order: statistic in fp32, cast back, then the gain
import torch
from torch import Tensor, nn


class DecoderNorm(nn.Module):
    variance_epsilon: float

    def __init__(self, hidden_size: int, variance_epsilon: float = 1e-5) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = variance_epsilon

    def forward(self, hidden: Tensor) -> Tensor:
        dtype_in = hidden.dtype
        wide = hidden.to(torch.float32)
        mean_square = torch.mean(wide * wide, dim=-1, keepdim=True)
        wide = wide * torch.rsqrt(mean_square + self.variance_epsilon)
        return self.gain * wide.to(dtype_in)
