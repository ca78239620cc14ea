"""Broken: group and instance norms, whose eps, variance and gradient are judged."""

from __future__ import annotations

GROUP = """
class GroupNorm(nn.Module):
    def __init__(self, groups, channels, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, channels, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        x = x.view(n, self.groups, -1)
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        x = (x - mean) / torch.sqrt(var + self.eps)
        return x.view(n, c, h, w) * self.weight + self.bias
"""
INSTANCE = """
class InstanceNorm(nn.Module):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x - x.mean((2, 3), keepdim=True)
        return x / (x.square().mean((2, 3), keepdim=True) + self.eps).sqrt()
"""

# A norm over axis 1 that keeps its output as an attribute, as in lectures.
KEPT = """
class LayerNorm1d:
    def __init__(self, dim, eps=1e-5):
        self.eps = eps
        self.gamma = torch.ones(dim)
        self.beta = torch.zeros(dim)

    def __call__(self, x):
        h = x.float()
        mean = h.mean(1, keepdim=True)
        var = h.var(1, keepdim=True)
        self.out = (self.gamma * ((h - mean) / torch.sqrt(var + self.eps)) + self.beta).to(x.dtype)
        return self.out
"""

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "a norm over axis 1 that keeps its output": (("NRM105",), KEPT),
    "a group norm with the unbiased variance": (("NRM105",), GROUP.replace(", unbiased=False", "")),
    "a group norm without eps": (("NRM301",), GROUP.replace(" + self.eps)", ")")),
    "a group norm whose eps is added after the root": (
        ("NRM302",),
        GROUP.replace("torch.sqrt(var + self.eps)", "(torch.sqrt(var) + self.eps)"),
    ),
    "a group norm whose variance has no gradient": (
        ("NRM405",),
        GROUP.replace("        var = x.var", "        with torch.no_grad():\n            var = x.var"),
    ),
    "an instance norm whose eps is lost": (("NRM304",), INSTANCE.replace(" + self.eps", "")),
    "an instance norm that takes no eps": (
        ("NRM301",),
        INSTANCE.replace(" + self.eps", "").replace("        self.eps = eps\n", "").replace(", eps=1e-8", ""),
    ),
    "a function of that name with a gain and the unbiased variance": (
        ("NRM105",),
        """
def instance_norm(x, weight, eps=1e-5):
    mean, var = x.mean((2, 3), keepdim=True), x.var((2, 3), keepdim=True)
    return (x - mean) * torch.rsqrt(var + eps) * weight
""",
    ),
}
