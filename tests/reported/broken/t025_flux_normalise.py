# report: FluxML/Flux.jl#2096
# codes: NRM302
# why: (x - mu) / (std + eps): eps guards the forward only
# run: LayerNorm(24)
# reference: layer(x, 1e-5)
# shows: gradient
import torch
from torch import nn


def normalise(x: torch.Tensor, dims: int = -1, eps: float = 1e-5) -> torch.Tensor:
    """Normalise `x` to mean 0 and standard deviation 1 over `dims`."""
    mu = x.mean(dims, keepdim=True)
    centred = x - mu
    sigma = torch.sqrt(torch.mean(centred * centred, dims, keepdim=True))
    return centred / (sigma + eps)


class LayerNorm(nn.Module):
    def __init__(self, size: int, affine: bool = True, eps: float = 1e-5):
        super().__init__()
        self.affine = affine
        self.eps = eps
        if affine:
            self.scale = nn.Parameter(torch.ones(size))
            self.shift = nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = normalise(x.float(), eps=self.eps).to(x.dtype)
        return out * self.scale + self.shift if self.affine else out
