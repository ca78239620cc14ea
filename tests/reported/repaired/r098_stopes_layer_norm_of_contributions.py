from typing import Dict, Optional

import torch
from torch import Tensor


def l_transform(x: Tensor, w_ln: Tensor) -> Tensor:
    """The linear part of a layer norm: centre over the features, then scale."""
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred * w_ln


def normalize_contribution(attn_v: Tensor, sum_of_all: Tensor, w_ln: Tensor, ln_eps: float) -> Tensor:
    """What each source token adds to the output behind the layer norm.

    `attn_v` has the parts, `sum_of_all` what the layer norm has seen.
    """
    pre_ln_std = torch.sqrt(torch.var(sum_of_all.float(), dim=-1, keepdim=True, unbiased=False) + ln_eps)
    transformed = l_transform(attn_v.float(), w_ln.float())
    return (transformed / pre_ln_std).type_as(attn_v)


class ContributionCache:
    def __init__(self) -> None:
        self.by_layer: Dict[str, Tensor] = {}

    def add(self, layer: str, value: Optional[Tensor]) -> None:
        if value is not None:
            self.by_layer[layer] = value.detach().cpu()

    def total(self) -> Tensor:
        return torch.stack(list(self.by_layer.values())).sum(0)
