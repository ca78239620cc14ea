"""Broken: norms whose names say nothing, told by their formula, a docstring, a helper or a base class."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a print in a weightless norm over channels": (
        ("NRM503",),
        """
class Step(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, h):
        print(h.shape)
        s = h.float().square().mean(1, keepdim=True)
        return (h.float() * torch.rsqrt(s + self.eps)).to(h.dtype)
""",
    ),
    "the input of a weightless norm is changed": (
        ("NRM502",),
        """
def step(h, eps=1e-6):
    s = h.float().square().mean(-1, keepdim=True)
    return h.mul_(torch.rsqrt(s + eps))
""",
    ),
    "a detached statistic in a norm that a docstring names": (
        ("NRM405",),
        '''
class Step(nn.Module):
    """Root mean square normalization without a gain."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, h):
        s = (h.float().square().mean(-1, keepdim=True) + self.eps).sqrt().detach()
        return (h.float() / s).to(h.dtype)
''',
    ),
    "no axis in a layer norm that a docstring names": (
        ("NRM101",),
        '''
class Step(nn.Module):
    """LayerNorm with no parameters: centre and scale only."""

    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, h):
        h32 = h.float()
        h32 = h32 - h32.mean(-1, keepdim=True)
        return (h32 * torch.rsqrt(h32.square().mean() + self.eps)).to(h.dtype)
''',
    ),
    "two roots behind a helper called _norm": (
        ("NRM402",),
        """
class Step(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def _norm(self, h):
        return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps).sqrt()

    def forward(self, h):
        return self._norm(h.float()).type_as(h)
""",
    ),
    "fp32 goes out of a subclass of torch's layer norm": (
        ("NRM203",),
        """
class Step(nn.LayerNorm):
    def forward(self, h):
        return F.layer_norm(h.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).float()
""",
    ),
    "the deviation from the features' mean is averaged over everything": (
        ("NRM101",),
        """
class Step(nn.Module):
    def forward(self, h):
        h32 = h.float()
        d = h32 - h32.mean(-1, keepdim=True)
        return (d / (d.square().mean() + 1e-5).sqrt()).to(h.dtype)
""",
    ),
    "everything divided by the length of the features": (
        ("NRM101",),
        """
class Step(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.s = n**-0.5

    def forward(self, h):
        return (h / (h.float().norm() * self.s + 1e-6)).to(h.dtype)
""",
    ),
    "an eps that a function over channels takes and forgets": (
        ("NRM304",),
        """
def step(h, a, b, eps):
    h32 = h.float()
    m = h32.mean(1, keepdim=True)
    s = (h32 - m).square().mean(1, keepdim=True)
    return (a * (h32 - m) / torch.sqrt(s) + b).to(h.dtype)
""",
    ),
    "a detached mean": (
        ("NRM405",),
        """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-1, keepdim=True).detach()
        var = h.var(-1, keepdim=True, correction=0)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
""",
    ),
    "a mean in bf16": (
        ("NRM205",),
        """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True).to(torch.bfloat16)
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    ),
    "the mean is that of the batch": (
        ("NRM103",),
        """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        mean = h.mean(0, keepdim=True)
        var = (h - mean).square().mean(-1, keepdim=True)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
""",
    ),
    "a norm that is clamped to what a half holds": (
        ("NRM401",),
        """
def step(h, a, eps):
    s = h.float().square().mean(-1, keepdim=True)
    y = h.float() / torch.rsqrt(s + eps) * (1.0 + a.float())
    return torch.clamp(y, min=-65504.0, max=65504.0).to(h.dtype)
""",
    ),
    "a gain that einsum applies and nothing fills": (
        ("NRM504",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim**0.5
        self.g = nn.Parameter(torch.empty(dim) / self.scale)

    def forward(self, x):
        return torch.einsum("b c ..., c -> b c ...", F.normalize(x, dim=1) * self.scale, self.g)
""",
    ),
    "the default axis beside a gain by heads": (
        ("NRM106",),
        """
class Step(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.scale = dim**0.5
        self.g = nn.Parameter(torch.ones(heads, 1, dim))

    def forward(self, q):
        return F.normalize(q) * self.scale * self.g
""",
    ),
    "a forward that is another method by name": (
        ("NRM201",),
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _apply_norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

    forward = _apply_norm
""",
    ),
}
