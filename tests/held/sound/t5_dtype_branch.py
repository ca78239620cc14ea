# expect: match
# why: no centre on purpose; casts to the weight's dtype only where that is a half
import torch
import torch.nn as nn


class T5StyleLayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.variance_epsilon = eps

    def forward(self, states):
        second_moment = states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        states = states * torch.rsqrt(second_moment + self.variance_epsilon)
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            states = states.to(self.weight.dtype)
        return self.weight * states
