"""Sound: norms whose axes lie elsewhere than usual, and shapes that the text tells in all ways."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a statistic without its axis, spread over new rows that are turned over": """
def rms_norm(x, eps=1e-6):
    n, d = x.shape
    ms = x.float().pow(2).mean(-1)
    scale = torch.rsqrt(ms + eps).expand(d, n).T
    return (x * scale).type_as(x)
""",
    "channels first, told by a docstring": '''
class ChannelRMSNorm(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels, 1))

    def forward(self, x):
        """x: (B, C, L)"""
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
''',
    "channels first, the gain applied after a permutation": """
class LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        h = x.float()
        mu = h.mean(1, keepdim=True)
        var = (h - mu).pow(2).mean(1, keepdim=True)
        h = ((h - mu) * torch.rsqrt(var + self.eps)).type_as(x)
        h = h.permute(0, 2, 3, 1) * self.weight + self.bias
        return h.permute(0, 3, 1, 2)
""",
    "channels first, counted by the channels": """
class RMSNorm1d(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(1, dim, 1))

    def forward(self, x):
        b, c, t = x.shape
        h = x.float()
        ms = h.pow(2).sum(1, keepdim=True) / c
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.gamma
""",
    "an instance norm over the length with a gain for each channel": """
class InstanceNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x):
        b, c, l = x.shape
        h = x.float()
        var, mean = torch.var_mean(h, dim=-1, correction=0, keepdim=True)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
""",
    "the heads' norm behind one projection": """
class Attention(nn.Module):
    def __init__(self, dim, heads=8, eps=1e-6):
        super().__init__()
        self.heads, self.eps = heads, eps
        self.head_dim = dim // heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.q_weight = nn.Parameter(torch.ones(self.head_dim))

    def norm(self, x):
        h = x.float()
        ms = h.pow(2).sum(-1, keepdim=True) / self.head_dim
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.q_weight

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = self.norm(q)
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v
""",
    "queries and keys normalized over the tokens, as cross-covariance attention has them": """
class XCA(nn.Module):
    def __init__(self, dim, heads=8):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 4, 1)
        q, k, v = qkv.unbind(0)
        q = F.normalize(q.float(), dim=-1, eps=1e-6)
        k = F.normalize(k.float(), dim=-1, eps=1e-6)
        return q @ k.transpose(-2, -1)
""",
    "tokens first": '''
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        """
        Args:
            x (Tensor): hidden states of shape (T, B, C)
        """
        T, B, C = x.size()
        h = x.float()
        ms = h.pow(2).sum(2, keepdim=True) / C
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
''',
    "rows of a matrix": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        shape = x.shape
        h = x.reshape(-1, self.dim).float()
        h = h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)
        return h.reshape(shape).type_as(x) * self.weight
""",
    "F.normalize of a matrix, told by a comment": """
class UnitRows(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim**0.5
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):  # x: (N, D)
        return F.normalize(x.float(), eps=1e-6).type_as(x) * self.scale * self.gamma
""",
    "a docstring that contradicts the code": '''
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        """x: (B, T, C)"""
        n, d = x.shape
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x) * self.weight
''',
    "a group norm by a view with its own count": """
class GroupedRMSNorm(nn.Module):
    def __init__(self, dim, groups, eps=1e-6):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        b, n, d = x.shape
        h = x.float().view(b, n, self.groups, d // self.groups)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.view(b, n, d).type_as(x) * self.weight
""",
    "an axis put back where it was": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        B, T, C = x.shape
        h = x.float()
        inv = torch.rsqrt(h.pow(2).mean(2) + self.eps).view(B, T, 1)
        return (h * inv).type_as(x) * self.weight
""",
    "an axis put back and expanded": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-1).unsqueeze(-1).expand_as(h)
        var = (h - mean).square().mean(-1).unsqueeze(2).expand(x.shape)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
""",
    "a gain whose shape a docstring tells": '''
def rms_norm(x, weight, eps=1e-6):
    """
    x: (B, C, T)
    weight: (C, 1)
    """
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-2, keepdim=True) + eps)).type_as(x) * weight
''',
    "the reduced axis as the text asserts it": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        assert x.ndim == 3 and x.shape[-1] == self.dim
        h = x.float()
        ms = h.pow(2).sum(2, keepdim=True) / x.size(2)
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    "a pooled token beside a norm over time": """
def pool(x, eps=1e-6):
    b, t, d = x.shape
    mean = x.mean(1)
    std = x.std(1)
    return torch.cat([mean, std], dim=-1)
""",
    "standardised over time": """
def cmvn(feats, eps=1e-8):
    b, t, d = feats.shape
    mean = feats.mean(1, keepdim=True)
    std = feats.std(1, keepdim=True)
    return (feats - mean) / (std + eps)
""",
    "global response norm, channels last": """
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
    "global layer norm of a sound, channels first": '''
class GlobalLayerNorm(nn.Module):
    def __init__(self, channels, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, channels, 1))
        self.bias = nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, x):
        """x: (B, C, T)"""
        h = x.float()
        mean = h.mean((1, 2), keepdim=True)
        var = (h - mean).pow(2).mean((1, 2), keepdim=True)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
''',
    "jaxtyping of a rearranged input": """
class ChannelNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        h = einops.rearrange(x, "b c h w -> b h w c").float()
        h = (h * torch.rsqrt(h.square().mean(3, keepdim=True) + self.eps)).type_as(x) * self.gamma
        return einops.rearrange(h, "b h w c -> b c h w")
""",
    "a square of tokens and features": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        b, n, d = x.shape
        assert n == d
        h = x.float()
        ms = h.pow(2).sum(-1, keepdim=True) / n
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    "an attention's weights normalized over the queries": """
class SlotAttention(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.to_q, self.to_k = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, slots, inputs):
        b, n, d = inputs.shape
        dots = torch.einsum("bid,bjd->bij", self.to_q(slots), self.to_k(inputs))
        attn = dots.softmax(dim=1) + self.eps
        attn = attn / attn.sum(dim=-1, keepdim=True)
        return torch.einsum("bjd,bij->bid", inputs, attn)
""",
    "a statistic without its axis that meets what has lost it too": """
class Head(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        b, n, d = x.shape
        h = x.float()
        inv = torch.rsqrt(h.pow(2).mean(-1) + self.eps)
        score = (h * self.weight).sum(-1) * inv
        return score.type_as(x)
""",
}
