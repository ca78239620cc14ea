# report: huggingface/transformers#16908
# codes: NRM708
# why: the pattern is LayerNorm.weight, and the head calls its norm layer_norm
# run: optimizer_of(LMHead(24, 50), 1e-3, 0.01)
# reference: None
# shows: spared
import torch
from torch import nn


class LMHead(nn.Module):
    """The head for masked language modeling."""

    def __init__(self, hidden_size: int, vocab_size: int, layer_norm_eps: float = 1e-5):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.layer_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps)
        self.decoder = nn.Linear(hidden_size, vocab_size)

    def forward(self, features):
        x = self.layer_norm(nn.functional.gelu(self.dense(features)))
        return self.decoder(x)


def optimizer_of(model, lr, weight_decay):
    no_decay = ["bias", "LayerNorm.weight"]
    groups = [
        {
            "params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
            "weight_decay": weight_decay,
        },
        {
            "params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
            "weight_decay": 0.0,
        },
    ]
    return torch.optim.AdamW(groups, lr=lr)
