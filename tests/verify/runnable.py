"""A sound norm as the verifier is given it, with room for what a test is about."""

from __future__ import annotations

from normlint.verify.job import Job, Meaning

NORM = """
from __future__ import annotations
import torch
from torch import nn

{top}

class Norm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        {body}
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
"""


def norm(top: str = "", body: str = "pass") -> Job:
    """An RMS norm with a line more, at the top of its program or of its forward."""
    program = NORM.format(top=top, body=body)
    return Job("Norm", Meaning("rms", gain="weight"), program, "Norm", "forward")
