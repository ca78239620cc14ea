"""Broken: in blocks."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a gated mamba2 norm by groups without an upcast": (
        ("NRM201",),
        """
class RMSNormGated(nn.Module):
    def __init__(self, hidden_size, eps=1e-5, group_size=64):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.group_size = group_size

    def forward(self, x, z):
        x = x * F.silu(z)
        groups = x.unflatten(-1, (-1, self.group_size))
        rstd = torch.rsqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups * rstd).flatten(-2) * self.weight
""",
    ),
    "a gated norm with eps outside": (
        ("NRM302",),
        """
class GatedRMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, y, z):
        y32 = (y * F.silu(z)).float()
        denom = y32.pow(2).mean(-1, keepdim=True).sqrt() + self.eps
        return (y32 / denom).to(y.dtype) * self.weight
""",
    ),
    "layer norm of the gates of an lstm with std": (
        ("NRM105",),
        """
class LayerNormLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.ih = nn.Linear(input_size, 4 * hidden_size, bias=False)
        self.hh = nn.Linear(hidden_size, 4 * hidden_size)
        self.ln_gain = nn.Parameter(torch.ones(4, hidden_size))
        self.ln_bias = nn.Parameter(torch.zeros(4, hidden_size))

    def layer_norm(self, gates):
        g = gates.float()
        mu = g.mean(-1, keepdim=True)
        var = g.var(-1, keepdim=True)
        return ((g - mu) / torch.sqrt(var + 1e-5)).to(gates.dtype) * self.ln_gain + self.ln_bias

    def forward(self, x, h, c):
        gates = (self.ih(x) + self.hh(h)).view(x.size(0), 4, -1)
        i, f, g, o = self.layer_norm(gates).unbind(1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
""",
    ),
    "a conditional layer norm without eps": (
        ("NRM301",),
        """
class ConditionalLayerNorm(nn.Module):
    def __init__(self, dim, cond_dim):
        super().__init__()
        self.to_gamma = nn.Linear(cond_dim, dim)
        self.to_beta = nn.Linear(cond_dim, dim)

    def forward(self, x, cond):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        std = (h - mean).square().mean(-1, keepdim=True).sqrt()
        h = ((h - mean) / std).to(x.dtype)
        return h * self.to_gamma(cond) + self.to_beta(cond)
""",
    ),
    "a conditional layer norm that centres only its numerator": (
        ("NRM404",),
        """
class ConditionalLayerNorm(nn.Module):
    def __init__(self, dim, cond_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.to_gamma = nn.Linear(cond_dim, dim)

    def forward(self, x, cond):
        h = x.float()
        rstd = torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
        h = (h - h.mean(-1, keepdim=True)) * rstd
        return h.to(x.dtype) * self.to_gamma(cond)
""",
    ),
    "layer norm as a function that forgets its shape": (
        ("NRM101",),
        """
def layer_norm(x, normalized_shape, weight, bias, eps=1e-5):
    h = x.float()
    mean = h.mean()
    var = h.var(unbiased=False)
    return ((h - mean) / torch.sqrt(var + eps)).to(x.dtype) * weight + bias
""",
    ),
    "layer norm as a function with dims but no keepdim": (
        ("NRM102",),
        """
def layer_norm(x, normalized_shape, weight, bias, eps=1e-5):
    dims = [-(i + 1) for i in range(len(normalized_shape))]
    h = x.float()
    mean = h.mean(dim=dims)
    var = ((h - mean) ** 2).mean(dim=dims)
    return ((h - mean) / torch.sqrt(var + eps)).to(x.dtype) * weight + bias
""",
    ),
    "a partial norm divided by the full size": (
        ("NRM104",),
        """
class PartialRMSNorm(nn.Module):
    def __init__(self, d, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.d = d
        self.scale = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        norm = h.norm(2, dim=-1, keepdim=True)
        rms = norm * self.d ** (1.0 / 2)
        return self.scale * (h / (rms + self.eps)).to(x.dtype)
""",
    ),
    "whisper's layer norm that forgets the way back": (
        ("NRM203",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        mu = h.mean(-1, keepdim=True)
        h = (h - mu) * torch.rsqrt((h - mu).pow(2).mean(-1, keepdim=True) + self.eps)
        return h * self.weight.float() + self.bias.float()
""",
    ),
    "a t5 norm that casts the variance": (
        ("NRM202",),
        """
class T5LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True).to(torch.float32)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            hidden_states = hidden_states.to(self.weight.dtype)
        return self.weight * hidden_states
""",
    ),
    "a convnext norm over everything in its channels-first branch": (
        ("NRM101",),
        """
class LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        u = h.mean()
        s = (h - u).pow(2).mean()
        h = ((h - u) / torch.sqrt(s + self.eps)).to(x.dtype)
        return self.weight[:, None, None] * h + self.bias[:, None, None]
""",
    ),
    "an rms norm that divides by the reciprocal root": (
        ("NRM401",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return torch.div(x, torch.rsqrt(torch.mean(torch.square(x), -1, True).add_(self.eps)))

    def forward(self, x):
        return self._norm(x.float()).type_as(x).mul(self.weight)
""",
    ),
    "layer norm divided by the variance": (
        ("NRM402",),
        """
class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        var, mean = torch.var_mean(h, dim=-1, keepdim=True, correction=0)
        return self.a_2 * ((h - mean) / (var + self.eps)).to(x.dtype) + self.b_2
""",
    ),
    "the annotated transformer in fp32": (
        ("NRM105", "NRM302"),
        """
class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        h = x.to(dtype=torch.float32)
        mean, std = h.mean(-1, keepdim=True), h.std(-1, keepdim=True)
        return self.a_2 * ((h - mean) / (std + self.eps)).to(x.dtype) + self.b_2
""",
    ),
    "a zero-centred gain initialised in reset_parameters with ones": (
        ("NRM406",),
        """
class ZeroCenteredRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (1.0 + self.weight.float())).to(x.dtype)
""",
    ),
}
