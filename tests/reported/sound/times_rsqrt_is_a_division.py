# report: rasbt/LLMs-from-scratch#871, hkproj/pytorch-llama#2, meta-llama/llama#1193, stanford-cs336/assignment2-systems#2
# why: rsqrt is 1 / sqrt already, so x is multiplied by it
# run: RMSNorm(24)
# reference: rms(x, 1e-5)
import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.emb_dim = emb_dim
        self.weight = nn.Parameter(torch.ones(emb_dim)).float()

    def forward(self, x):
        means = x.float().pow(2).mean(dim=-1, keepdim=True)
        x_normed = x * torch.rsqrt(means + self.eps)
        return (x_normed * self.weight).to(dtype=x.dtype)
