from typing import Union, List

import torch
import torch.nn as nn


def inv_sqrt_2x2(cov: torch.Tensor) -> torch.Tensor:
    """The inverse square root of symmetric 2 x 2 matrices [..., 2, 2], from trace and determinant."""
    trace = cov[..., 0, 0] + cov[..., 1, 1]
    det = cov[..., 0, 0] * cov[..., 1, 1] - cov[..., 0, 1] * cov[..., 1, 0]
    s = torch.sqrt(det)
    t = torch.sqrt(trace + 2.0 * s)
    coef = (1.0 / (s * t)).unsqueeze(-1).unsqueeze(-1)
    adj = torch.stack(
        [
            torch.stack([cov[..., 1, 1] + s, -cov[..., 0, 1]], dim=-1),
            torch.stack([-cov[..., 1, 0], cov[..., 0, 0] + s], dim=-1),
        ],
        dim=-2,
    )
    return coef * adj


def slice_covs(z: torch.Tensor) -> torch.Tensor:
    """Covariances of [B, N, 2] over N: [B, 2, 2]."""
    return torch.bmm(z.transpose(1, 2), z) / z.shape[1]


class LayerNorm(nn.Module):
    r"""Layer norm of complex inputs: whitens real and imaginary part.

    The weight starts as the identity and the bias at zero.
    """

    def __init__(
        self,
        normalized_shape: Union[int, List[int]],
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = [normalized_shape]
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.combined_dimensions = int(torch.tensor(self.normalized_shape).prod())
        if elementwise_affine:
            self.weight = nn.Parameter(torch.zeros(self.combined_dimensions, 2, 2))
            self.weight.data[:, 0, 0] = 1.0
            self.weight.data[:, 1, 1] = 1.0
            if bias:
                self.bias = nn.Parameter(torch.zeros(self.combined_dimensions, 2))
            else:
                self.register_parameter("bias", None)
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, z: torch.Tensor):
        shape = z.shape
        zr = torch.view_as_real(z.reshape(-1, self.combined_dimensions))
        mus = zr.mean(dim=1, keepdim=True)
        zc = zr - mus

        covs = slice_covs(zc) + self.eps * torch.eye(2, device=zc.device)

        outz = torch.bmm(zc, inv_sqrt_2x2(covs).transpose(1, 2))

        if self.elementwise_affine:
            outz = torch.einsum("nij,bnj->bni", self.weight, outz)
            if self.bias is not None:
                outz = outz + self.bias
        return torch.view_as_complex(outz.contiguous()).reshape(shape)
