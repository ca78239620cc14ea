# report: public source (entry 142)
# codes: NRM501
# why: state_dict misses a gain that is a plain tensor
# run: LlamaRMSNorm(Config(24))
# reference: rms(x, 1e-5)
# shows: saved
import torch
from torch import nn


class Config:
    def __init__(self, hidden_size, eps=1e-5, device="cpu"):
        self.hidden_size = hidden_size
        self.eps = eps
        self.device = device


class LlamaRMSNorm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.variance_epsilon = cfg.eps
        self.gamma = torch.ones((cfg.hidden_size,), device=cfg.device)

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.gamma * hidden_states.to(dtype)
