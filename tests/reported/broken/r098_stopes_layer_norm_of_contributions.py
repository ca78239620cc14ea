# report: facebookresearch/stopes#25
# codes: NRM105
# why: torch.std divides by D - 1 where fairseq's LayerNorm does not
# run: lambda x: normalize_contribution(x, x, torch.ones(4), 1e-5)
# reference: layer(x, 1e-5)
# shows: values
# input: 2 3 4
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
    pre_ln_std = torch.std(sum_of_all.float(), dim=-1, keepdim=True)
    transformed = l_transform(attn_v.float(), w_ln.float())
    return (transformed / (pre_ln_std + ln_eps)).type_as(attn_v)


class ContributionCache:
    def __init__(self) -> None:
        self.by_layer: Dict[str, Tensor] = {}

    def add(self, layer: str, value: Optional[Tensor]) -> None:
        if value is not None:
            self.by_layer[layer] = value.detach().cpu()

    def total(self) -> Tensor:
        return torch.stack(list(self.by_layer.values())).sum(0)
