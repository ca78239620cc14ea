# expect: match
# why: the rows one chunk at a time, to save memory
import torch
from torch import nn


class ChunkedNorm(nn.Module):
    def __init__(self, dim, chunk=4, eps=1e-6):
        super().__init__()
        self.chunk, self.eps = chunk, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _rows(self, rows):
        wide = rows.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return wide.to(rows.dtype) * self.weight

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        done = [self._rows(part) for part in rows.split(self.chunk)]
        return torch.cat(done).reshape(x.shape)
