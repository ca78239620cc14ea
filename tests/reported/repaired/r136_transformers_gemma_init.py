from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class GemmaConfig:
    hidden_size: int = 2304
    num_hidden_layers: int = 2
    vocab_size: int = 32
    rms_norm_eps: float = 1e-6
    initializer_range: float = 0.02


class GemmaRMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float())
        # the gain belongs to the part in fp32 here
        output = output * (1.0 + self.weight.float())
        return output.type_as(x)


class GemmaPreTrainedModel(nn.Module):
    config: GemmaConfig

    def post_init(self):
        self.apply(self._init_weights)

    def _init_weights(self, module):
        std = self.config.initializer_range
        if isinstance(module, nn.Linear):
            module.weight.data.normal_(mean=0.0, std=std)
            if module.bias is not None:
                module.bias.data.zero_()
        elif isinstance(module, nn.Embedding):
            module.weight.data.normal_(mean=0.0, std=std)
        elif isinstance(module, GemmaRMSNorm):
            module.weight.data.zero_()


class GemmaModel(GemmaPreTrainedModel):
    def __init__(self, config: GemmaConfig):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.norm = GemmaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_init()

    def forward(self, input_ids):
        return self.norm(self.embed_tokens(input_ids))
