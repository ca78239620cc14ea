import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn_layer_norm = nn.LayerNorm(embed_dim)
        self.fc1 = nn.Linear(embed_dim, embed_dim)
        self.final_layer_norm = nn.LayerNorm(embed_dim)

    def forward(self, x):
        return self.final_layer_norm(x + self.fc1(self.self_attn_layer_norm(x)))


def grouped(model, weight_decay, no_decay_name_list=["bias", "layer_norm.weight"]):
    """The parameters in two groups, by their names."""
    return [
        {
            "params": [
                p
                for n, p in model.named_parameters()
                if not any(nd in n for nd in no_decay_name_list) and p.requires_grad
            ],
            "weight_decay": weight_decay,
        },
        {
            "params": [
                p for n, p in model.named_parameters() if any(nd in n for nd in no_decay_name_list) and p.requires_grad
            ],
            "weight_decay": 0.0,
        },
    ]
