import torch
from torch import nn


class LanguageModel(nn.Module):
    """Embeddings that are smaller than the model."""

    def __init__(self, dim, emb_dim=None):
        super().__init__()
        emb_dim = emb_dim or dim
        self.to_model_dim = nn.Linear(emb_dim, dim, bias=False) if emb_dim != dim else nn.Identity()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.eye_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, embeddings):
        x = self.to_model_dim(embeddings)
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return x.to(torch.get_default_dtype())
