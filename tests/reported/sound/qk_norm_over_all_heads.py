# report: EleutherAI/gpt-neox#1367, Alpha-VLLM/Lumina-T2X#112
# why: OLMo2 norms queries and keys over all heads together
# run: lambda x: Olmo2Attention(24, 4).q_norm(x)
# reference: rms(x, 1e-6)
import torch
import torch.nn as nn


class Olmo2RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return (self.weight * hidden_states).to(input_dtype)


class Olmo2Attention(nn.Module):
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = hidden_size // num_heads
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.q_norm = Olmo2RMSNorm(num_heads * self.head_dim)
        self.k_norm = Olmo2RMSNorm(num_heads * self.head_dim)

    def forward(self, hidden_states):
        b, n, _ = hidden_states.shape
        query = self.q_norm(self.q_proj(hidden_states))
        key = self.k_norm(self.k_proj(hidden_states))
        query = query.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        key = key.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        return (query @ key.transpose(-1, -2)) * self.head_dim**-0.5
