# report: pyg-team/pytorch_geometric#2917
# codes: NRM302
# why: out = x / (var.sqrt()[batch] + eps): the gradient is NaN where a graph is constant
# run: lambda x: LayerNorm(x.shape[-1])(x, torch.tensor([0, 0, 0, 1, 1]))
# reference: torch.cat([rms(g - g.mean(), 1e-5, dim=(0, 1)) for g in (x[:3], x[3:])])
# shows: gradient
# input: 5 24
import torch
from torch import Tensor
from torch.nn import Parameter


def degree(index: Tensor, num_nodes: int, dtype: torch.dtype) -> Tensor:
    out = torch.zeros(num_nodes, dtype=dtype, device=index.device)
    return out.scatter_add_(0, index, torch.ones_like(index, dtype=dtype))


def scatter_add(src: Tensor, index: Tensor, dim_size: int) -> Tensor:
    out = src.new_zeros(dim_size, src.size(-1))
    return out.index_add(0, index, src)


class LayerNorm(torch.nn.Module):
    r"""Layer normalization over the nodes and channels of each graph of a mini-batch.

    Args:
        in_channels (int): Size of each input sample.
        eps (float, optional): A value added to the denominator for numerical stability.
        affine (bool, optional): Whether there are learnable parameters.
    """

    def __init__(self, in_channels, eps=1e-5, affine=True):
        super(LayerNorm, self).__init__()
        self.in_channels = in_channels
        self.eps = eps
        if affine:
            self.weight = Parameter(torch.Tensor(in_channels))
            self.bias = Parameter(torch.Tensor(in_channels))
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.weight is not None:
            torch.nn.init.ones_(self.weight)
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, batch: Tensor = None) -> Tensor:
        if batch is None:
            x = x - x.mean()
            out = x / (x.std(unbiased=False) + self.eps)
        else:
            batch_size = int(batch.max()) + 1
            norm = degree(batch, batch_size, dtype=x.dtype).clamp_(min=1)
            norm = norm.mul_(x.size(-1)).view(-1, 1)

            mean = scatter_add(x, batch, dim_size=batch_size).sum(dim=-1, keepdim=True) / norm
            x = x - mean.index_select(0, batch)

            var = scatter_add(x * x, batch, dim_size=batch_size).sum(dim=-1, keepdim=True)
            var = var / norm
            out = x / (var.sqrt() + self.eps).index_select(0, batch)

        if self.weight is not None and self.bias is not None:
            out = out * self.weight + self.bias
        return out

    def __repr__(self):
        return f'{self.__class__.__name__}({self.in_channels})'
