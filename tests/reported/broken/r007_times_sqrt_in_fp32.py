# report: public source (entry 7)
# codes: NRM401
# why: the upcast is there, but x is multiplied by the root
# run: LlamaLikeNorm(NormConfig(hidden_size=24))
# reference: rms(x, 1e-6)
# shows: values
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class NormConfig:
    hidden_size: int
    rms_norm_eps: float = 1e-6


class LlamaLikeNorm(nn.Module):
    def __init__(self, config: NormConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.hidden_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)

    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.sqrt(variance + self.config.rms_norm_eps)
        return self.weight * hidden_states.to(input_dtype)

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, eps={self.config.rms_norm_eps}"
