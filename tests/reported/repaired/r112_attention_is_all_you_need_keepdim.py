import torch
import torch.nn as nn


class LayerNormalization(nn.Module):
    ''' normalizes the states of each position '''

    def __init__(self, d_hid, eps=1e-3):
        super(LayerNormalization, self).__init__()
        self.eps = eps
        self.a_2 = nn.Parameter(torch.ones(d_hid), requires_grad=True)
        self.b_2 = nn.Parameter(torch.zeros(d_hid), requires_grad=True)

    def forward(self, z):
        if z.size(1) == 1:
            return z
        mu = torch.mean(z, dim=-1, keepdim=True)
        sigma = torch.sqrt(torch.var(z.float(), dim=-1, keepdim=True, unbiased=False) + self.eps)
        ln_out = ((z - mu.expand_as(z)) / sigma.expand_as(z)).type_as(z)
        return ln_out * self.a_2.expand_as(ln_out) + self.b_2.expand_as(ln_out)


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model, dropout=0.1):
        super(MultiHeadAttention, self).__init__()
        self.attention = nn.MultiheadAttention(d_model, n_head, dropout=dropout, batch_first=True)
        self.layer_norm = LayerNormalization(d_model)

    def forward(self, q, k, v, attn_mask=None):
        outputs, attns = self.attention(q, k, v, attn_mask=attn_mask)
        return self.layer_norm(outputs + q), attns
