# report: public source (entry 105): a MiniGPT
# codes: NRM101
# also: NRM201
# why: rsqrt(x.pow(2).mean() + eps) in a norm without weight
# run: Norm()
# reference: rms(x, 1e-6)
# shows: values
import torch
import torch.nn as nn


class Norm(nn.Module):
    """Parameter-free RMS norm."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean() + self.eps)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, n_embd=64, block_size=32):
        super().__init__()
        self.block_size = block_size
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, block_size, n_embd))
        self.ln = Norm()
        self.head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        B, T = idx.shape
        x = self.tok_emb(idx) + self.pos_emb[:, :T]
        return self.head(self.ln(x))
