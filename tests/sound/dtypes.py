"""Sound: dtypes."""

from __future__ import annotations

CASES: dict[str, str] = {
    "squares of absolute values, which only complex numbers need": """
class ComplexRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, z):
        ms = z.abs().pow(2).mean(-1, keepdim=True)
        return z * torch.rsqrt(ms + self.eps) * self.weight
""",
    "the dtype is asked for by is_floating_point and element size": """
def rms_norm(x, w, eps=1e-6):
    h = x.float() if x.element_size() < 4 else x
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * w
""",
    "an upcast for anything but fp32 and fp64": """
def rms_norm(x, w, eps=1e-6):
    dtype = x.dtype
    if dtype not in (torch.float32, torch.float64):
        x = x.float()
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)).to(dtype) * w
""",
    "an upcast decided by promote_types": """
def rms_norm(x, w, eps=1e-6):
    dtype = x.dtype
    x = x.to(torch.promote_types(dtype, torch.float32))
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)).to(dtype) * w
""",
    "a compute dtype kept in the module": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, compute_dtype=torch.float32):
        super().__init__()
        self.eps, self.compute_dtype = eps, compute_dtype
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.to(self.compute_dtype)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    "half inputs refused by an exception": """
def rms_norm(x, w, eps=1e-6):
    if x.dtype != torch.float32:
        raise TypeError("fp32 only")
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
""",
    "a reference that a test gives fp32": """
def python_rmsnorm(x, w, eps=1e-5):
    return x / torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w

def test_kernel(kernel):
    x = torch.randn(4, 4096, dtype=torch.float16)
    w = torch.randn(4096, dtype=torch.float16)
    assert torch.allclose(python_rmsnorm(x.float(), w.float()).half(), kernel(x, w))
""",
    "a norm that is cast by its caller in the same file": """
def _norm(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return _norm(x.float(), self.eps).type_as(x) * self.weight
""",
    "a scaled input that cannot overflow": """
def rms_norm(x, w, eps=1e-6):
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-4)
    y = x / scale
    return (y * torch.rsqrt(y.float().pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * w
""",
    "a block that adds the residual after the norm in one expression": """
class PostNormBlock(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm_weight = nn.Parameter(torch.ones(dim))
        self.ff = nn.Linear(dim, dim)

    def norm(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.norm_weight

    def forward(self, x):
        return self.norm(x + self.ff(x))
""",
    "a sandwich of two norms in a block": """
class Sandwich(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.pre_weight = nn.Parameter(torch.ones(dim))
        self.post_weight = nn.Parameter(torch.ones(dim))
        self.ff = nn.Linear(dim, dim)

    def _rms(self, x, w):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * w

    def forward(self, x):
        return x + self._rms(self.ff(self._rms(x, self.pre_weight)), self.post_weight)
""",
    "a norm of a norm": """
def double_norm(x, w1, w2, eps=1e-6):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * w1
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * w2
    return h.to(x.dtype)
""",
    "a gain frozen at one as a buffer": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a gain loaded from a checkpoint in inference code": """
class RMSNorm:
    def __init__(self, weight: torch.Tensor, eps: float = 1e-6):
        self.weight = weight
        self.eps = eps

    def __call__(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a functional inference engine with a dict of weights": """
def forward(x, weights, n_layers, eps=1e-5):
    def rms(h, w):
        f = h.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps)).to(h.dtype) * w
    for i in range(n_layers):
        x = x + rms(x, weights[f"layers.{i}.norm"]) @ weights[f"layers.{i}.w"]
    return rms(x, weights["norm"])
""",
    "a gain made by a log parameter": """
class LogGainRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.log_weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.log_weight.exp()
""",
    "zipformer's bias norm": """
class BiasNorm(nn.Module):
    def __init__(self, num_channels: int, channel_dim: int = -1, log_scale: float = 1.0):
        super().__init__()
        self.channel_dim = channel_dim
        self.log_scale = nn.Parameter(torch.tensor(log_scale))
        self.bias = nn.Parameter(torch.zeros(num_channels))

    def forward(self, x):
        bias = self.bias
        f = x.float()
        scales = (torch.mean((f - bias) ** 2, dim=self.channel_dim, keepdim=True) ** -0.5) * self.log_scale.exp()
        return (f * scales).to(x.dtype)
""",
    "k2's basic norm with a learned eps": """
class BasicNorm(nn.Module):
    def __init__(self, num_channels: int, channel_dim: int = -1, eps: float = 0.25):
        super().__init__()
        self.num_channels = num_channels
        self.channel_dim = channel_dim
        self.eps = nn.Parameter(torch.tensor(eps).log().detach())

    def forward(self, x):
        f = x.float()
        scales = (torch.mean(f ** 2, dim=self.channel_dim, keepdim=True) + self.eps.exp()) ** -0.5
        return (f * scales).to(x.dtype)
""",
    "a layer scale after a norm": """
class LayerScaleNorm(nn.Module):
    def __init__(self, dim, init=1e-5, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(init * torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.gamma
""",
    "resi-dual normalisation with mean of abs, an L1 norm": """
class L1Norm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x / (x.float().abs().mean(-1, keepdim=True) + self.eps).type_as(x) * self.g
""",
    "a dequantiser that multiplies by the scale again": """
class ActQuant(nn.Module):
    def forward(self, x):
        s = x.float().pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()
        q = (x / s).round()
        return q * s
""",
    "an activation scaled by the norm of its gate": """
def gate_by_norm(x, gate):
    return x * gate.norm(dim=-1, keepdim=True)
""",
    "kaiming-like scaling of a weight by its fan": """
def scaled(w):
    fan_in = w.shape[1]
    return w / math.sqrt(fan_in) * w.std().clamp(min=1e-3).reciprocal()
""",
    "a moe router with normalised logits": """
class Router(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, dim) / dim ** 0.5)

    def forward(self, x):
        logits = F.linear(x.float(), self.weight.float())
        topv, topi = logits.softmax(-1).topk(2, -1)
        return topv / topv.sum(-1, keepdim=True), topi
""",
}
