"""Sound: frameworks and kernels more."""

from __future__ import annotations

CASES: dict[str, str] = {
    "ngpt's unit norms": """
def justnorm(x, idim=-1):
    dtype = x.dtype
    x = x.float()
    return (x / x.norm(p=2, dim=idim, keepdim=True)).to(dtype=dtype)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim, bias=False)
        self.attn_alpha = nn.Parameter(0.05 * torch.ones(dim))

    def forward(self, h):
        lr = torch.abs(self.attn_alpha)
        a = justnorm(h)
        b = justnorm(self.proj(h))
        return justnorm(a + lr * (b - a))
""",
    "a rwkv group norm over heads": """
class TimeMixOut(nn.Module):
    def __init__(self, heads, head_size):
        super().__init__()
        self.heads = heads
        self.ln_x = nn.GroupNorm(heads, heads * head_size, eps=64e-5)
        self.output = nn.Linear(heads * head_size, heads * head_size, bias=False)

    def forward(self, x, g):
        b, t, c = x.shape
        x = self.ln_x(x.view(b * t, c)).view(b, t, c)
        return self.output(x * g)
""",
    "a retnet group rms norm without a gain": """
class MultiScaleRetention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.g_proj = nn.Linear(dim, dim)
        self.out_proj = nn.Linear(dim, dim)

    def _group_norm(self, y, eps=1e-6):
        y32 = y.float()
        return (y32 / torch.sqrt(torch.mean(torch.square(y32), dim=-1, keepdim=True) + eps)).to(y)

    def forward(self, x, retention):
        b, n, d = x.shape
        y = self._group_norm(retention.view(b, n, self.heads, d // self.heads))
        return self.out_proj(F.silu(self.g_proj(x)) * y.reshape(b, n, d))
""",
    "a zero-centred gated norm of qwen3-next": """
class Qwen3NextRMSNormGated(nn.Module):
    def __init__(self, hidden_size, eps=1e-6, **kwargs):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states, gate=None):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        hidden_states = self.weight * hidden_states.to(input_dtype)
        hidden_states = hidden_states * F.silu(gate.to(torch.float32))
        return hidden_states.to(input_dtype)
""",
    "peri-ln around a sublayer with a shared function": """
def rms(x, gain, eps=1e-5):
    var = x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True)
    return (x.to(torch.float32) * torch.rsqrt(var + eps)).to(x.dtype) * gain


class PeriBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pre, self.post = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.ones(dim))
        self.ffn = nn.Linear(dim, dim)

    def forward(self, x):
        return x + rms(self.ffn(rms(x, self.pre)), self.post)
""",
    "dynamic tanh in place of a norm": """
class DynamicTanh(nn.Module):
    def __init__(self, normalized_shape, alpha_init_value=0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha_init_value)
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        return torch.tanh(self.alpha * x) * self.weight + self.bias
""",
    "a biasnorm of zipformer": """
class BiasNorm(nn.Module):
    def __init__(self, num_channels, channel_dim=-1, log_scale=1.0):
        super().__init__()
        self.channel_dim = channel_dim
        self.log_scale = nn.Parameter(torch.tensor(log_scale))
        self.bias = nn.Parameter(torch.empty(num_channels).normal_(mean=0, std=1e-4))

    def forward(self, x):
        bias = self.bias
        dim = self.channel_dim if self.channel_dim >= 0 else self.channel_dim + x.ndim
        for _ in range(dim + 1, x.ndim):
            bias = bias.unsqueeze(-1)
        scales = (torch.mean((x.float() - bias) ** 2, dim=self.channel_dim, keepdim=True) ** -0.5).to(x.dtype)
        return x * scales * self.log_scale.exp()
""",
    "the basic norm of icefall with a learned eps": """
class BasicNorm(nn.Module):
    def __init__(self, num_channels, channel_dim=-1, eps=0.25):
        super().__init__()
        self.num_channels = num_channels
        self.channel_dim = channel_dim
        self.eps = nn.Parameter(torch.tensor(eps).log().detach())

    def forward(self, x):
        scales = (torch.mean(x.float() ** 2, dim=self.channel_dim, keepdim=True) + self.eps.exp()) ** -0.5
        return (x * scales).to(x.dtype)
""",
    "a masked layer norm over valid features": """
class MaskedLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, mask):
        h = x.float()
        m = mask.float()
        count = m.sum(-1, keepdim=True).clamp(min=1)
        mean = (h * m).sum(-1, keepdim=True) / count
        var = (((h - mean) * m) ** 2).sum(-1, keepdim=True) / count
        return ((h - mean) * m * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight
""",
    "a channel norm in rank-agnostic spelling": """
class LayerNormNd(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        shape = (1, -1) + (1,) * (x.ndim - 2)
        h = x.float()
        h = h - h.mean(1, keepdim=True)
        h = h * torch.rsqrt((h * h).mean(1, keepdim=True) + self.eps)
        return h.to(x.dtype) * self.gamma.view(*shape) + self.beta.view(*shape)
""",
    "a norm that promotes by an fp64 path on the cpu": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim))
        else:
            self.register_parameter("weight", None)

    def forward(self, x):
        wide = x.double() if x.device.type == "cpu" else x.float()
        out = wide.mul(wide.square().mean(-1, keepdim=True).add(self.eps).rsqrt()).type_as(x)
        return out if self.weight is None else out * self.weight
""",
    "root mean square by linalg with dtype": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.dim = dim
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        inv = torch.rsqrt(norm.square() / self.dim + self.eps)
        return (x * inv).to(x.dtype) * self.weight
""",
    "weight standardised convolution": """
class WSConv2d(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        weight = self.weight
        mean = weight.mean(dim=(1, 2, 3), keepdim=True)
        var = weight.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
        weight = (weight - mean) * (var + eps).rsqrt()
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
""",
}
