# report: pyg-team/pytorch_geometric#4030
# codes: NRM504
# also: NRM201
# why: torch.Tensor([in_channels]) is one number; broadcasting hides it
# run: LayerNorm(24)
# reference: layer(x, 1e-5)
# shows: shape
import torch
from torch import Tensor
from torch.nn import Parameter


def ones(value):
    if isinstance(value, Tensor):
        value.data.fill_(1.)


def zeros(value):
    if isinstance(value, Tensor):
        value.data.fill_(0.)


class LayerNorm(torch.nn.Module):
    r"""Layer normalization of node features.

    Args:
        in_channels (int): Size of each input sample.
        eps (float, optional): For numerical stability. (default: :obj:`1e-5`)
        affine (bool, optional): Whether gain and bias are learned. (default: :obj:`True`)
    """

    def __init__(self, in_channels: int, eps: float = 1e-5, affine: bool = True):
        super().__init__()

        self.in_channels = in_channels
        self.eps = eps

        if affine:
            self.weight = Parameter(torch.Tensor([in_channels]))
            self.bias = Parameter(torch.Tensor([in_channels]))
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)

        self.reset_parameters()

    def reset_parameters(self):
        ones(self.weight)
        zeros(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = x - x.mean(dim=-1, keepdim=True)
        out = x / (x.var(dim=-1, unbiased=False, keepdim=True) + self.eps).sqrt()

        if self.weight is not None and self.bias is not None:
            out = out * self.weight + self.bias
        return out
