from typing import Tuple

import torch
from torch import nn


class BaselineLayerNorm(nn.Module):
    """The layer norm of the transformer that the others are compared with."""

    @staticmethod
    def forward(inputs: torch.Tensor) -> torch.Tensor:
        """Norms the items of a batch.

        Parameters
        ----------
        inputs : torch.Tensor with shape (batch_size, num_items, num_channels)
            What comes from the attention or the MLP.

        Returns
        -------
        outputs : torch.Tensor with shape (batch_size, num_items, num_channels)
            The same, normed.
        """
        return torch.nn.functional.layer_norm(inputs, normalized_shape=inputs.shape[-1:])


class BaselineTransformerBlock(nn.Module):
    def __init__(self, channels: int, increase_hidden_channels: int = 2) -> None:
        super().__init__()
        self.norm = BaselineLayerNorm()
        self.mlp = nn.Sequential(
            nn.Linear(channels, increase_hidden_channels * channels),
            nn.GELU(),
            nn.Linear(increase_hidden_channels * channels, channels),
        )

    def forward(self, inputs: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        h = self.norm(inputs)
        return inputs + self.mlp(h), h
