import torch
import torch.nn as nn
import torch.nn.functional as F


class MambaGatedRMSNorm(nn.Module):
    """The norm in front of a mixer's output projection, with the gate applied first."""

    def __init__(self, hidden_size: int, group_size: int, eps: float = 1e-5):
        super().__init__()
        self.hidden_size = hidden_size
        self.group_size = group_size
        self.n_groups = hidden_size // group_size
        self.variance_epsilon = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward_native(self, x: torch.Tensor, gate: torch.Tensor):
        input_dtype = x.dtype
        x = x * F.silu(gate.to(torch.float32))
        variance = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * x.to(input_dtype)

    def forward(self, x: torch.Tensor, gate: torch.Tensor):
        return self.forward_native(x, gate)


class MixerOutput(nn.Module):
    def __init__(self, intermediate_size: int, hidden_size: int):
        super().__init__()
        self.norm = MambaGatedRMSNorm(intermediate_size, intermediate_size)
        self.out_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, scan_output, gate):
        return self.out_proj(self.norm(scan_output, gate))
