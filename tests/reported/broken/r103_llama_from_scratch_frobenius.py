# report: bkitano/llama-from-scratch#4
# codes: NRM103
# also: NRM301 NRM304
# why: one norm over tokens and features together
# run: RMSNorm((5, 24))
# reference: rms(x, 0.0)
# shows: values
import torch
from torch import nn

MASTER_CONFIG = {
    'batch_size': 32,
    'context_window': 16,
    'd_model': 128,
    'vocab_size': 65,
    'log_interval': 10,
}


class RMSNorm(nn.Module):
    def __init__(self, layer_shape, eps=1e-8, bias=False):
        super(RMSNorm, self).__init__()
        self.register_parameter("scale", nn.Parameter(torch.ones(layer_shape)))

    def forward(self, x):
        """
        x is (batch, seq_len, d_model)
        """
        # a Frobenius norm is sqrt(N) times the RMS
        ff_rms = torch.linalg.norm(x, dim=(1, 2)) * x[0].numel() ** -.5
        raw = x / ff_rms.unsqueeze(-1).unsqueeze(-1)
        return self.scale[:x.shape[1], :].unsqueeze(0) * raw


class SimpleModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config['vocab_size'], config['d_model'])
        self.rms = RMSNorm((config['context_window'], config['d_model']))
        self.linear = nn.Linear(config['d_model'], config['vocab_size'])

    def forward(self, idx, targets=None):
        x = self.embedding(idx)
        x = self.rms(x)
        return self.linear(x)
