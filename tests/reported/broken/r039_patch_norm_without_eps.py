# report: huggingface/transformers#38025
# codes: NRM702
# why: the projector's norm is made without the eps of the configuration, and has its class's default
# run: Projector(TextConfig()).norm
# reference: rms(x, 1e-5)
# shows: tiny
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class TextConfig:
    hidden_size: int = 24
    rms_norm_eps: float = 1e-5


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class Projector(nn.Module):
    def __init__(self, config: TextConfig):
        super().__init__()
        self.norm = RMSNorm(config.hidden_size)
        self.linear = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, image_features):
        return self.linear(self.norm(image_features))
