# report: microsoft/CNTK#3816
# codes: NRM302
# why: sqrt(mean(x0 ** 2)), and eps afterwards
# run: LayerNormalization(24)
# reference: layer(x, 1e-5)
# shows: tiny gradient
import torch


class LayerNormalization(torch.nn.Module):
    def __init__(self, shape, initial_scale=1.0, initial_bias=0.0, epsilon=1e-5, name=""):
        super().__init__()
        self.name = name
        self.epsilon = epsilon
        self.scale = torch.nn.Parameter(torch.full((shape,), initial_scale))
        self.bias = torch.nn.Parameter(torch.full((shape,), initial_bias))

    def forward(self, x):
        wide = x.float()
        mean = torch.mean(wide, dim=-1, keepdim=True)
        x0 = wide - mean
        std = torch.sqrt(torch.mean(x0 * x0, dim=-1, keepdim=True))
        std = std + self.epsilon
        x_hat = x0 / std
        return (x_hat.type_as(x)) * self.scale + self.bias
