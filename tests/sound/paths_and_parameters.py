"""Sound: parameters that are handed on, axes that a caller names, lengths that are squared."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a gain that a fused call and the plain path both apply": """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if x.is_cuda and not torch.compiler.is_compiling():
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    "a gain that a flag turns off": """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, scaled=True):
        super().__init__()
        self.eps = eps
        self.scaled = scaled
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if self.scaled:
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    "a gain that a caller's argument turns off": """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, scaled=True):
        if scaled:
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
    "two norms in a row by one function, each with a gain of its own": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.first = nn.Parameter(torch.ones(dim))
        self.second = nn.Parameter(torch.ones(dim))

    def rms(self, x, weight):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * weight

    def forward(self, x):
        return self.rms(torch.tanh(self.rms(x, self.first)), self.second)
""",
    "a gain that is applied in its own dtype": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(self.weight) * self.weight
""",
    "a forward of its own that calls the one above": """
class Base(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight

class ClampedRMSNorm(Base):
    def forward(self, x):
        return super().forward(x.clamp(-100, 100))
""",
    "axes that a list names, put back by a reshape": """
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        axes = [i for i in range(x.ndim - len(self.normalized_shape), x.ndim)]
        h = x.float()
        mean = torch.mean(h, dim=axes)
        mean = mean.reshape(tuple(mean.shape) + tuple(1 for _ in axes))
        var = torch.var(h, dim=axes, unbiased=False)
        var = var.reshape(tuple(var.shape) + tuple(1 for _ in axes))
        return ((h - mean) / torch.sqrt(var + self.eps)).to(x.dtype) * self.weight + self.bias
""",
    "an axis that the caller names, which is kept": """
class RMSNorm(nn.Module):
    def __init__(self, axis, eps=1e-6):
        super().__init__()
        self.axis, self.eps = axis, eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(self.axis, keepdim=True) + self.eps)).to(x.dtype)
""",
    "an axis that the caller names, whose statistic gets it back": """
class RMSNorm(nn.Module):
    def __init__(self, axis, eps=1e-6):
        super().__init__()
        self.axis, self.eps = axis, eps

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean(self.axis).unsqueeze(self.axis)
        return (h * torch.rsqrt(ms + self.eps)).to(x.dtype)
""",
    "a gain that is viewed, beside a kept axis": """
def feature_norm(x, gain, shift, eps=1e-5):
    h = x.float()
    h = h - h.mean(dim=-1, keepdim=True)
    h = (h / torch.sqrt((h**2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype)
    return gain.view(1, 1, 1, -1) * h + shift.view(1, 1, 1, -1)
""",
    "groups behind axes that aren't counted, whose statistic keeps its axis": """
class GroupedRMSNorm(nn.Module):
    def __init__(self, dim, size, eps=1e-6):
        super().__init__()
        self.size, self.eps = size, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        *ahead, last = x.shape
        h = x.float().view(*ahead, last // self.size, self.size)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.view(*ahead, last).to(x.dtype) * self.weight
""",
    "groups behind axes that aren't counted, whose statistic gets its axis back": """
class GroupedRMSNorm(nn.Module):
    def __init__(self, dim, size, eps=1e-6):
        super().__init__()
        self.size, self.eps = size, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        *ahead, last = x.shape
        h = x.float().view(*ahead, last // self.size, self.size)
        scale = torch.rsqrt(h.pow(2).mean(-1) + self.eps)
        h = h * scale.view(*ahead, last // self.size, 1)
        return h.view(*ahead, last).to(x.dtype) * self.weight
""",
    "the square of a length that was taken in fp32": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32).pow(2) / x.shape[-1]
        return (x * torch.rsqrt(ms + self.eps)).to(x.dtype) * self.weight
""",
    "a gain in half beside an input that is in half": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        assert x.dtype == torch.bfloat16
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight.bfloat16() * h.bfloat16()
""",
    "an inverse that is normalised": """
class InverseNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = 1 / x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
    "local gains of tests, which a loop and a function fill": """
def test_layer_norm(fill):
    weight = nn.Parameter(torch.empty(16))
    bias = nn.Parameter(torch.empty(16))
    with torch.no_grad():
        for p in (weight, bias):
            p.fill_(1)
    return F.layer_norm(torch.randn(4, 16), (16,), weight, bias)

def test_rms_norm(load):
    weight = nn.Parameter(torch.empty(16))
    load({"weight": weight})
    return F.rms_norm(torch.randn(4, 16), (16,), weight, 1e-6)
""",
    "an eps that is stored under two names, one of which is read": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.variance_epsilon = eps
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight
""",
}
