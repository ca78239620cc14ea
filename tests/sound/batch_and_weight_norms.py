"""Sound: batch and weight norms."""

from __future__ import annotations

CASES: dict[str, str] = {
    "batch norm from scratch": """
class BatchNorm1d:
    def __init__(self, dim, eps=1e-5, momentum=0.1):
        self.eps = eps
        self.momentum = momentum
        self.training = True
        self.gamma = torch.ones(dim)
        self.beta = torch.zeros(dim)
        self.running_mean = torch.zeros(dim)
        self.running_var = torch.ones(dim)

    def __call__(self, x):
        if self.training:
            if x.ndim == 2:
                dim = 0
            elif x.ndim == 3:
                dim = (0, 1)
            xmean = x.mean(dim, keepdim=True)
            xvar = x.var(dim, keepdim=True)
        else:
            xmean = self.running_mean
            xvar = self.running_var
        xhat = (x - xmean) / torch.sqrt(xvar + self.eps)
        self.out = self.gamma * xhat + self.beta
        if self.training:
            with torch.no_grad():
                self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * xmean
                self.running_var = (1 - self.momentum) * self.running_var + self.momentum * xvar
        return self.out

    def parameters(self):
        return [self.gamma, self.beta]
""",
    "batch norm as a function from d2l": """
def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not torch.is_grad_enabled():
        X_hat = (X - moving_mean) / torch.sqrt(moving_var + eps)
    else:
        assert len(X.shape) in (2, 4)
        if len(X.shape) == 2:
            mean = X.mean(dim=0)
            var = ((X - mean) ** 2).mean(dim=0)
        else:
            mean = X.mean(dim=(0, 2, 3), keepdim=True)
            var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        X_hat = (X - mean) / torch.sqrt(var + eps)
        moving_mean = (1.0 - momentum) * moving_mean + momentum * mean
        moving_var = (1.0 - momentum) * moving_var + momentum * var
    Y = gamma * X_hat + beta
    return Y, moving_mean.data, moving_var.data
""",
    "batch norm in a layer called Norm": '''
class Norm(nn.Module):
    """Normalises over the batch, as in BatchNorm."""
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(c))
        self.register_buffer("running_var", torch.ones(c))

    def forward(self, x):
        mean = x.mean(dim=(0, 2, 3), keepdim=True)
        var = x.var(dim=(0, 2, 3), unbiased=False, keepdim=True)
        return (x - mean) / (var + self.eps).sqrt() * self.weight[None, :, None, None]
''',
    "instance norm": """
class InstanceNorm(nn.Module):
    def __init__(self, epsilon=1e-8):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, x):
        x = x - torch.mean(x, (2, 3), True)
        tmp = torch.mul(x, x)
        tmp = torch.rsqrt(torch.mean(tmp, (2, 3), True) + self.epsilon)
        return x * tmp
""",
    "group norm by reshape": """
class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5):
        super().__init__()
        self.num_groups = num_groups
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, num_channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, num_channels, 1, 1))

    def forward(self, x):
        N, C, H, W = x.size()
        G = self.num_groups
        x = x.view(N, G, -1)
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        x = (x - mean) / (var + self.eps).sqrt()
        x = x.view(N, C, H, W)
        return x * self.weight + self.bias
""",
    "a pixel norm": """
class PixelNorm(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, input):
        return input * torch.rsqrt(torch.mean(input ** 2, dim=1, keepdim=True) + 1e-8)
""",
    "a local response norm": """
class LRN(nn.Module):
    def __init__(self, size=5, alpha=1e-4, beta=0.75, k=2.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x):
        div = x.pow(2).unsqueeze(1)
        div = F.avg_pool3d(div, (self.size, 1, 1), stride=1, padding=(self.size // 2, 0, 0)).squeeze(1)
        div = div.mul(self.alpha).add(self.k).pow(self.beta)
        return x / div
""",
    "a global response norm": """
class GRN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, 1, dim))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, dim))

    def forward(self, x):
        Gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        Nx = Gx / (Gx.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * Nx) + self.beta + x
""",
    "a global response norm in one dimension under another name": """
class ResponseScale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, dim))
        self.beta = nn.Parameter(torch.zeros(1, 1, dim))

    def forward(self, x):
        gx = x.norm(p=2, dim=1, keepdim=True)
        nx = gx / (gx.mean(dim=-1, keepdim=True) + 1e-6)
        return torch.addcmul(self.beta, (self.gamma + 1), x * nx)
""",
    "filter response norm": """
class FRN(nn.Module):
    def __init__(self, num_features, eps=1e-6):
        super().__init__()
        self.tau = nn.Parameter(torch.zeros(1, num_features, 1, 1))
        self.gamma = nn.Parameter(torch.ones(1, num_features, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, num_features, 1, 1))
        self.eps = eps

    def forward(self, x):
        nu2 = torch.mean(x ** 2, dim=[2, 3], keepdim=True)
        x = x * torch.rsqrt(nu2 + abs(self.eps))
        return torch.max(self.gamma * x + self.beta, self.tau)
""",
    "dynamic tanh": """
class DynamicTanh(nn.Module):
    def __init__(self, normalized_shape, channels_last, alpha_init_value=0.5):
        super().__init__()
        self.channels_last = channels_last
        self.alpha = nn.Parameter(torch.ones(1) * alpha_init_value)
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        x = torch.tanh(self.alpha * x)
        if self.channels_last:
            return x * self.weight + self.bias
        return x * self.weight[:, None, None] + self.bias[:, None, None]
""",
    "weight standardisation in a convolution": """
class WSConv2d(nn.Conv2d):
    def forward(self, x):
        weight = self.weight
        mean = weight.mean(dim=(1, 2, 3), keepdim=True)
        std = weight.view(weight.size(0), -1).std(dim=1).view(-1, 1, 1, 1) + 1e-5
        weight = (weight - mean) / std.expand_as(weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
""",
    "a weight standardised convolution with einops": """
from functools import partial
import torch
import torch.nn.functional as F
from einops import reduce
from torch import nn

class WeightStandardizedConv2d(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        weight = self.weight
        mean = reduce(weight, "o ... -> o 1 1 1", "mean")
        var = reduce(weight, "o ... -> o 1 1 1", partial(torch.var, unbiased=False))
        normalized_weight = (weight - mean) * (var + eps).rsqrt()
        return F.conv2d(x, normalized_weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
""",
    "modulated convolution of stylegan2": """
def modulated_conv2d(x, weight, styles, demodulate=True, fused=True):
    batch_size = x.shape[0]
    out_channels, in_channels, kh, kw = weight.shape
    if x.dtype == torch.float16 and demodulate:
        weight = weight * (1 / math.sqrt(in_channels * kh * kw) / weight.norm(float("inf"), dim=[1, 2, 3],
            keepdim=True))
        styles = styles / styles.norm(float("inf"), dim=1, keepdim=True)
    w = weight.unsqueeze(0)
    w = w * styles.reshape(batch_size, 1, -1, 1, 1)
    dcoefs = (w.square().sum(dim=[2, 3, 4]) + 1e-8).rsqrt()
    w = w * dcoefs.reshape(batch_size, -1, 1, 1, 1)
    return F.conv2d(x, w.flatten(0, 1), groups=batch_size)
""",
    "spectral norm by power iteration": """
class SpectralNorm(nn.Module):
    def __init__(self, module, power_iterations=1):
        super().__init__()
        self.module = module
        self.power_iterations = power_iterations

    def _update_u_v(self):
        u, v, w = self.module.weight_u, self.module.weight_v, self.module.weight_bar
        height = w.data.shape[0]
        for _ in range(self.power_iterations):
            v.data = l2normalize(torch.mv(torch.t(w.view(height, -1).data), u.data))
            u.data = l2normalize(torch.mv(w.view(height, -1).data, v.data))
        sigma = u.dot(w.view(height, -1).mv(v))
        self.module.weight = w / sigma.expand_as(w)

def l2normalize(v, eps=1e-12):
    return v / (v.norm() + eps)
""",
    "weight normalisation by hand": """
class WNLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.v = nn.Parameter(torch.randn(o, i))
        self.g = nn.Parameter(torch.ones(o, 1))

    def forward(self, x):
        w = self.g * self.v / self.v.norm(dim=1, keepdim=True)
        return F.linear(x, w)
""",
    "DoRA with a magnitude vector": """
class DoRALinear(nn.Module):
    def __init__(self, base, r):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(r))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.m = nn.Parameter(base.weight.norm(p=2, dim=1, keepdim=True))

    def forward(self, x):
        v = self.base.weight + self.B @ self.A
        w = self.m * v / v.norm(p=2, dim=1, keepdim=True)
        return F.linear(x, w, self.base.bias)
""",
    "advantage normalisation in ppo": """
def update(batch, policy, clip=0.2):
    advantages = batch.returns - batch.values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = (policy.log_prob(batch.obs, batch.act) - batch.logp).exp()
    surr = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    return -surr.mean()
""",
}
