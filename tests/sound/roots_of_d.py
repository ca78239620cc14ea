"""Sound: L2 norms times √D, where it is spelled in ways that no table holds."""

from __future__ import annotations

CASES: dict[str, str] = {
    "√D as a buffer of a tensor's root": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("scale", torch.tensor(dim).sqrt())
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale * self.g
""",
    "√D in the gain's first value": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim) * dim ** 0.5)

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.g
""",
    "√D by numpy": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = np.sqrt(dim)
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale * self.g
""",
    "√D as a property": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.g = nn.Parameter(torch.ones(dim))

    @property
    def mult(self):
        return self.dim ** 0.5

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.mult * self.g
""",
    "√D as a tensor of one element": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        inv = torch.linalg.vector_norm(x.float(), dim=-1, keepdim=True).clamp(min=1e-6).reciprocal()
        return (x * inv * torch.full((1,), x.shape[-1], dtype=x.dtype).sqrt()).type_as(x) * self.g
""",
    "√D as the constructor's argument": """
class RMSNorm(nn.Module):
    def __init__(self, dim, mult):
        super().__init__()
        self.mult = mult
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.mult * self.g
""",
    "√D as a buffer of one element": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("root", torch.tensor([dim ** 0.5]))
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.root * self.g
""",
    "√D by exp and log": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * math.exp(0.5 * math.log(x.shape[-1])) * self.g
""",
    "√D as the norm of ones like the input": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * torch.ones_like(x).norm(dim=-1, keepdim=True) * self.g
""",
    "√D as a hypotenuse": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1).mul(math.hypot(*([1.0] * x.size(-1)))) * self.g
""",
    "√D in a dict": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))
        self.c = {"root": dim ** 0.5}

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.c["root"] * self.g
""",
    "√D multiplied into the gain's data": """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))
        self.g.data.mul_(dim ** 0.5)

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.g
""",
    "√D as an optional argument": """
def rms_norm(x, weight, scale=None):
    return F.normalize(x, dim=-1) * scale * weight
""",
    "√D as an argument of any name": """
def rms_norm(x, weight, root):
    return F.normalize(x, dim=-1) * root * weight
""",
    "√D through as_tensor": """
def rms_norm(x, weight):
    k = torch.as_tensor(x.shape[-1], dtype=torch.float32)
    return F.normalize(x, dim=-1) * k ** 0.5 * weight
""",
    "√D counted in a generator": """
def rms_norm(x, weight):
    k = sum(1 for _ in range(x.shape[-1])) ** 0.5
    return F.normalize(x, dim=-1) * k  * weight
""",
    "√D as a ratio of elements": """
def rms_norm(x, weight):
    k = x[..., 0].numel() / x.numel()
    return F.normalize(x, dim=-1) / k ** 0.5  * weight
""",
    "√D as a tensor made in the call": """
def rms_norm(x, weight):
    return F.normalize(x, dim=-1) * torch.sqrt(torch.tensor([x.shape[-1]], device=x.device, dtype=x.dtype)) * weight
""",
    "√D through a numpy scalar": """
def rms_norm(x, weight):
    return F.normalize(x, dim=-1) * np.float32(x.shape[-1]) ** .5 * weight
""",
    "√D as the norm of ones": """
def rms_norm(x, weight):
    return F.normalize(x, dim=-1) * torch.linalg.norm(torch.ones(x.shape[-1])) * weight
""",
    "√D by the gain's length, in place": """
def rms_norm(x, weight):
    h = x / x.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    h *= len(weight) ** .5
    return h * weight
""",
    "√D by the gain's length": """
def rms_norm(x, weight):
    h = torch.nn.functional.normalize(x, dim=-1)
    return torch.mul(h, float(weight.shape[0]) ** .5) * weight
""",
    "√D by math.pow": """
def rms_norm(x, weight):
    h = torch.nn.functional.normalize(x, dim=-1)
    return torch.mul(h, math.pow(weight.shape[0], .5)) * weight
""",
    "a D that is a perfect square": """
def rms_norm(x, weight):
    h = torch.nn.functional.normalize(x, dim=-1)
    return torch.mul(h, math.isqrt(weight.shape[0])) * weight
""",
}
