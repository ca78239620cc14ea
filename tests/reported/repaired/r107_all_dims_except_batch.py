import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dim=24, epsilon=1e-8):
        super(RMSNorm, self).__init__()
        self.epsilon = epsilon
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # root mean square across all dims except batch
        x = x.to(torch.float32) if x.dtype == torch.float64 else x
        rms = torch.sqrt(torch.mean(x.float() ** 2, dim=-1, keepdim=True) + self.epsilon)
        x_norm = (x.float() / rms).to(x.dtype)
        return self.scale * x_norm


class Expert(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.norm = RMSNorm()
        self.up = nn.Linear(hidden, inner)
        self.down = nn.Linear(inner, hidden)

    def forward(self, x):
        return self.down(torch.tanh(self.up(self.norm(x))))
