# report: huggingface/transformers#46817
# codes: NRM507
# why: the gain is made on the current GPU, whatever the model is made on
# run: GatedRMSNorm(24)
# reference: None
# shows: anywhere
import torch
from torch import nn
from torch.nn import functional as F


class GatedRMSNorm(nn.Module):
    """The norm behind a linear attention, with a gate that is applied last."""

    def __init__(self, hidden_size: int, eps: float = 1e-6, **kwargs) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size, device=torch.cuda.current_device()))
        self.variance_epsilon = eps

    def forward(self, hidden_states, gate=None):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        hidden_states = self.weight * hidden_states.to(input_dtype)
        if gate is not None:
            hidden_states = hidden_states * F.silu(gate.to(torch.float32))
        return hidden_states.to(input_dtype)
