"""Sound: layer of models."""

from __future__ import annotations

CASES: dict[str, str] = {
    "the annotated transformer in fp32 with biased variance": """
class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        xf = x.float()
        mean = xf.mean(-1, keepdim=True)
        var = (xf - mean).pow(2).mean(-1, keepdim=True)
        return (self.a_2 * (xf - mean) / torch.sqrt(var + self.eps) + self.b_2).type_as(x)
""",
    "a convnext layer norm with two data formats": """
class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-6, data_format="channels_last"):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps
        self.data_format = data_format
        if self.data_format not in ["channels_last", "channels_first"]:
            raise NotImplementedError
        self.normalized_shape = (normalized_shape, )

    def forward(self, x):
        if self.data_format == "channels_last":
            return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        elif self.data_format == "channels_first":
            dtype = x.dtype
            x = x.float()
            u = x.mean(1, keepdim=True)
            s = (x - u).pow(2).mean(1, keepdim=True)
            x = (x - u) / torch.sqrt(s + self.eps)
            x = self.weight[:, None, None] * x.to(dtype) + self.bias[:, None, None]
            return x
""",
    "a layer norm 2d by permuting": """
class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)
""",
    "a sam layer norm 2d": """
class LayerNorm2d(nn.Module):
    def __init__(self, num_channels: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(num_channels))
        self.bias = nn.Parameter(torch.zeros(num_channels))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.float()
        u = h.mean(1, keepdim=True)
        s = (h - u).pow(2).mean(1, keepdim=True)
        h = (h - u) / torch.sqrt(s + self.eps)
        return self.weight[:, None, None] * h.to(x.dtype) + self.bias[:, None, None]
""",
    "a nafnet layer norm function": """
class LayerNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        ctx.eps = eps
        N, C, H, W = x.size()
        mu = x.float().mean(1, keepdim=True)
        var = (x.float() - mu).pow(2).mean(1, keepdim=True)
        y = (x.float() - mu) / (var + eps).sqrt()
        ctx.save_for_backward(y, var, weight)
        y = weight.view(1, C, 1, 1) * y + bias.view(1, C, 1, 1)
        return y.to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        eps = ctx.eps
        N, C, H, W = grad_output.size()
        y, var, weight = ctx.saved_tensors
        g = grad_output * weight.view(1, C, 1, 1)
        mean_g = g.mean(dim=1, keepdim=True)
        mean_gy = (g * y).mean(dim=1, keepdim=True)
        gx = 1. / torch.sqrt(var + eps) * (g - y * mean_gy - mean_g)
        return gx, (grad_output
            * y).sum(dim=3).sum(dim=2).sum(dim=0), grad_output.sum(dim=3).sum(dim=2).sum(dim=0), None
""",
    "a layer norm over a normalized shape of several axes": """
class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.gain = nn.Parameter(torch.ones(normalized_shape))
            self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        assert self.normalized_shape == x.shape[-len(self.normalized_shape):]
        dims = [-(i + 1) for i in range(len(self.normalized_shape))]
        h = x.float()
        mean = h.mean(dim=dims, keepdim=True)
        mean_x2 = ((h - mean) ** 2).mean(dim=dims, keepdim=True)
        x_norm = (h - mean) / torch.sqrt(mean_x2 + self.eps)
        if self.elementwise_affine:
            x_norm = self.gain * x_norm + self.bias
        return x_norm.to(x.dtype)
""",
    "a conditional layer norm": """
class ConditionalLayerNorm(nn.Module):
    def __init__(self, normalized_shape, cond_dim, eps=1e-12):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.gamma_dense = nn.Linear(cond_dim, normalized_shape, bias=False)
        self.beta_dense = nn.Linear(cond_dim, normalized_shape, bias=False)
        nn.init.zeros_(self.gamma_dense.weight)
        nn.init.zeros_(self.beta_dense.weight)

    def forward(self, x, cond):
        for _ in range(x.dim() - cond.dim()):
            cond = cond.unsqueeze(1)
        gamma = self.gamma_dense(cond) + self.weight
        beta = self.beta_dense(cond) + self.bias
        h = x.float()
        mean = torch.mean(h, dim=-1, keepdim=True)
        h = h - mean
        var = torch.mean(h ** 2, dim=-1, keepdim=True)
        h = h / torch.sqrt(var + self.eps)
        return (h * gamma + beta).type_as(x)
""",
    "adaLN-zero": """
class AdaLayerNormZero(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(dim, 6 * dim)
        self.norm = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)

    def forward(self, x, emb):
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = self.linear(self.silu(emb)).chunk(6, dim=1)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None], gate, shift_mlp, scale_mlp, gate_mlp
""",
    "a bert layer norm with its own epsilon": """
class BertLayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-12):
        super(BertLayerNorm, self).__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    def forward(self, x):
        h = x.float()
        u = h.mean(-1, keepdim=True)
        s = (h - u).pow(2).mean(-1, keepdim=True)
        h = (h - u) / torch.sqrt(s + self.variance_epsilon)
        return self.weight * h.to(x.dtype) + self.bias
""",
    "a deberta layer norm": """
class DebertaLayerNorm(nn.Module):
    def __init__(self, size, eps=1e-12):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_type = hidden_states.dtype
        hidden_states = hidden_states.float()
        mean = hidden_states.mean(-1, keepdim=True)
        variance = (hidden_states - mean).pow(2).mean(-1, keepdim=True)
        hidden_states = (hidden_states - mean) / torch.sqrt(variance + self.variance_epsilon)
        hidden_states = hidden_states.to(input_type)
        y = self.weight * hidden_states + self.bias
        return y
""",
    "a cohere layer norm with heads": """
class CohereLayerNorm(nn.Module):
    def __init__(self, hidden_size=None, eps=1e-5, bias=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        mean = hidden_states.mean(-1, keepdim=True)
        variance = (hidden_states - mean).pow(2).mean(-1, keepdim=True)
        hidden_states = (hidden_states - mean) * torch.rsqrt(variance + self.variance_epsilon)
        hidden_states = self.weight.to(torch.float32) * hidden_states
        return hidden_states.to(input_dtype)
""",
    "a chan layer norm of imagen": """
class ChanLayerNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        h = x.float()
        var = torch.var(h, dim=1, unbiased=False, keepdim=True)
        mean = torch.mean(h, dim=1, keepdim=True)
        return ((h - mean) * (var + eps).rsqrt()).to(x.dtype) * self.g
""",
    "a global layer norm of tasnet": '''
EPS = 1e-8

class GlobalLayerNorm(nn.Module):
    """Over channels and time, as in Conv-TasNet."""
    def __init__(self, channel_size):
        super(GlobalLayerNorm, self).__init__()
        self.gamma = nn.Parameter(torch.Tensor(1, channel_size, 1))
        self.beta = nn.Parameter(torch.Tensor(1, channel_size, 1))
        self.reset_parameters()

    def reset_parameters(self):
        self.gamma.data.fill_(1)
        self.beta.data.zero_()

    def forward(self, y):
        h = y.float()
        mean = h.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        var = (torch.pow(h - mean, 2)).mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        return (self.gamma * (h - mean) / torch.pow(var + EPS, 0.5) + self.beta).to(y.dtype)
''',
    "a cumulative layer norm": """
class CumulativeLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(1, dim, 1))
        self.bias = nn.Parameter(torch.zeros(1, dim, 1))

    def forward(self, x):
        b, c, t = x.shape
        step_sum = x.sum(1)
        step_pow_sum = x.pow(2).sum(1)
        cum_sum = torch.cumsum(step_sum, dim=1)
        cum_pow_sum = torch.cumsum(step_pow_sum, dim=1)
        count = torch.arange(c, c * (t + 1), c, device=x.device).view(1, -1)
        mean = cum_sum / count
        var = (cum_pow_sum - 2 * mean * cum_sum) / count + mean.pow(2)
        std = (var + self.eps).sqrt()
        return (x - mean.unsqueeze(1)) / std.unsqueeze(1) * self.gain + self.bias
""",
    "a layer norm with var_mean and addcmul": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        xf = x.float()
        var, mean = torch.var_mean(xf, dim=-1, unbiased=False, keepdim=True)
        xhat = (xf - mean) * torch.rsqrt(var + self.eps)
        return torch.addcmul(self.bias, xhat, self.weight).to(x.dtype)
""",
    "a keras-like layer norm called through call": """
class LayerNormalization(nn.Module):
    def __init__(self, d_hid, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.a_2 = nn.Parameter(torch.ones(d_hid), requires_grad=True)
        self.b_2 = nn.Parameter(torch.zeros(d_hid), requires_grad=True)

    def forward(self, z):
        if z.size(1) == 1:
            return z
        zf = z.float()
        mu = torch.mean(zf, keepdim=True, dim=-1)
        var = torch.var(zf, keepdim=True, dim=-1, unbiased=False)
        ln_out = (zf - mu.expand_as(zf)) / (var.expand_as(zf) + self.eps).sqrt()
        ln_out = ln_out * self.a_2.expand_as(ln_out) + self.b_2.expand_as(ln_out)
        return ln_out.to(z.dtype)
""",
}
