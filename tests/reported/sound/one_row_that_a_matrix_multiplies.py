# report: public source (63128610021)
# why: head @ x of a vector: a row, so the mean of all is the mean of the features
# run: lambda x: torch.stack([final(row, torch.ones(24), torch.eye(24)) for row in x])
# reference: rms(x, 1e-5)
# input: 5 24
import torch


def final(x, norm_weight, head):
    """The logits of one position: x has shape [dim], head [vocab, dim]."""
    vocab, dim = head.shape
    x = x.float().view(dim)
    x = x * torch.rsqrt(x.pow(2).mean() + 1e-5) * norm_weight.float()
    return head @ x
