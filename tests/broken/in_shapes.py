"""Broken: in what the shapes tell."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "the tokens reduced, told by unpacking": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        b, n, d = x.shape
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "the tokens reduced, told by a later line": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x) * self.weight
        B, T, C = h.shape
        return h.view(B * T, C)
""",
    ),
    "the tokens reduced, told by a docstring": (
        ("NRM103",),
        '''
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        """
        Args:
            x (torch.Tensor): hidden states of shape (batch, seq_len, dim)
        """
        h = x.float()
        mean = h.mean(1, keepdim=True)
        var = h.var(1, unbiased=False, keepdim=True)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
''',
    ),
    "the tokens reduced, told by a comment": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # x: (B, L, D)
        ms = x.float().square().mean(dim=1, keepdim=True)
        return (x.float() * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.g
""",
    ),
    "the tokens reduced, told by jaxtyping": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x: Float[Tensor, "batch seq dim"]) -> Float[Tensor, "batch seq dim"]:
        ms = x.float().square().mean(dim=1, keepdim=True)
        return (x.float() * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.g
""",
    ),
    "the tokens reduced, told by the gain's own axes": (
        ("NRM103",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, 1, dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "the tokens reduced, told by an index": (
        ("NRM103",),
        """
class Block(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm_weight = nn.Parameter(torch.ones(dim))

    def norm(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps)).type_as(x) * self.norm_weight

    def forward(self, x):
        first = x[:, 0, :]
        return self.norm(x) + first.unsqueeze(1)
""",
    ),
    "the tokens reduced in a function, without a gain of known shape": (
        ("NRM103",),
        """
def layer_norm(x, weight, bias, eps=1e-5):
    B, T, C = x.shape
    h = x.float()
    mean = h.mean(1, keepdim=True)
    var = (h - mean).pow(2).mean(1, keepdim=True)
    return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
""",
    ),
    "the tokens reduced behind a projection": (
        ("NRM103",),
        """
def l2norm(x):
    return x / (x.float().norm(dim=1, keepdim=True) + 1e-6).type_as(x)


class Encoder(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.fc = nn.Linear(dim, out)

    def forward(self, images):
        assert images.dim() == 3
        features = l2norm(self.fc(images))
        return features.abs()
""",
    ),
    "features and tokens reduced together, under a name that says nothing": (
        ("NRM103",),
        """
class Cedar(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.oak = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean((-2, -1), keepdim=True) + self.eps)).type_as(x) * self.oak
""",
    ),
    "the mean over the tokens, the variance over the features": (
        ("NRM103",),
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-2, keepdim=True)
        var = h.var(-1, unbiased=False, keepdim=True)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias
""",
    ),
    "divided by the number of tokens": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        assert x.ndim == 3
        h = x.float()
        ms = h.pow(2).sum(-1, keepdim=True) / x.shape[1]
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "divided by the number of tokens, by its name": (
        ("NRM104",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        B, T, C = x.size()
        h = x.float()
        ms = h.pow(2).sum(2, keepdim=True) / T
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
    ),
    "divided by the number of tokens of a view": (
        ("NRM104",),
        """
def rms_norm(x, weight, eps=1e-6):
    b, t, hd = x.shape
    h = x.view(b, t, 8, -1).float()
    ms = (h * h).sum(-1, keepdim=True) / h.size(1)
    return (h * torch.rsqrt(ms + eps)).view(b, t, hd).type_as(x) * weight
""",
    ),
    "the axis put back in the middle": (
        ("NRM102",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        b, n, d = x.shape
        h = x.float()
        inv = torch.rsqrt(h.pow(2).mean(-1) + self.eps).unsqueeze(1)
        return (h * inv).type_as(x) * self.weight
""",
    ),
    "the axis lost where nothing has a name": (
        ("NRM102",),
        """
def scaled(x, eps=1e-6):
    b, n, d = x.shape
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1) + eps)).type_as(x)
""",
    ),
    "the axis kept and squeezed away": (
        ("NRM102",),
        """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True).squeeze(-1)
    return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
""",
    ),
    "an axis counted from the front, kept and squeezed away from an input of four": (
        ("NRM102",),
        """
class LayerNorm2d(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        y = x.float()
        y = y - y.mean(1, keepdim=True)
        var = y.pow(2).mean(1, keepdim=True).squeeze((1,))
        return (y * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
""",
    ),
    "F.normalize over tokens that a docstring names": (
        ("NRM106",),
        '''
class UnitNorm(nn.Module):
    def forward(self, x):
        """x: [batch, tokens, dim]"""
        return F.normalize(x.float(), eps=1e-6).type_as(x)
''',
    ),
}
