# report: jadore801120/attention-is-all-you-need-pytorch#17
# codes: NRM103
# also: NRM105 NRM302
# why: mean and deviation over the axis of the tokens
# run: LayerNormalization(24)
# reference: layer(x, 1e-3)
# shows: values
import torch
import torch.nn as nn


class Linear(nn.Module):
    ''' a linear layer, with Xavier's first values '''

    def __init__(self, d_in, d_out, bias=True):
        super(Linear, self).__init__()
        self.linear = nn.Linear(d_in, d_out, bias=bias)
        nn.init.xavier_normal_(self.linear.weight)

    def forward(self, x):
        return self.linear(x)


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

        mu = torch.mean(z, keepdim=True, dim=1)
        sigma = torch.std(z, keepdim=True, dim=1)
        ln_out = (z - mu.expand_as(z)) / (sigma.expand_as(z) + self.eps)
        ln_out = ln_out * self.a_2.expand_as(ln_out) + self.b_2.expand_as(ln_out)

        return ln_out


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_hid, d_inner_hid, dropout=0.1):
        super(PositionwiseFeedForward, self).__init__()
        self.w_1 = nn.Conv1d(d_hid, d_inner_hid, 1)
        self.w_2 = nn.Conv1d(d_inner_hid, d_hid, 1)
        self.layer_norm = LayerNormalization(d_hid)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        output = self.w_2(torch.relu(self.w_1(x.transpose(1, 2)))).transpose(2, 1)
        return self.layer_norm(self.dropout(output) + x)
