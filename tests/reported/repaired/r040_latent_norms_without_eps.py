from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    hidden_size: int = 48
    q_lora_rank: int = 24
    kv_lora_rank: int = 12
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


class LatentAttention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.q_a_proj = nn.Linear(config.hidden_size, config.q_lora_rank, bias=False)
        self.q_a_layernorm = RMSNorm(config.q_lora_rank, eps=config.rms_norm_eps)
        self.kv_a_proj = nn.Linear(config.hidden_size, config.kv_lora_rank, bias=False)
        self.kv_a_layernorm = RMSNorm(config.kv_lora_rank, eps=config.rms_norm_eps)

    def forward(self, hidden_states):
        q = self.q_a_layernorm(self.q_a_proj(hidden_states))
        return q, self.kv_a_layernorm(self.kv_a_proj(hidden_states))


class DecoderLayer(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.self_attn = LatentAttention(config)
        self.input_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
