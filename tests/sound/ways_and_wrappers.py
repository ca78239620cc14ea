"""Sound: prints that say which way was taken, blocks around torch's norms, gains that a constructor chooses."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a print of a shape that a debug test alone brings": """
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        if self.normalized_shape[0] > 4096:
            print(x.shape)
        return super().forward(x)
""",
    "a print that sets the flag which it asks for, so that it comes once": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps, self.warned = eps, False

    def forward(self, x):
        if not self.warned:
            self.warned = True
            print("norm of", x.shape)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "a print that comes once for all norms": """
_warned = False

def rms_norm(x, weight, eps=1e-6):
    global _warned
    if not _warned:
        print("norm of", x.shape)
        _warned = True
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a length of a row of a row, which may be that of the features": """
def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    rms = h.norm(dim=-1, keepdim=True) / len(x[0, 0]) ** 0.5
    return (h / (rms + eps)).type_as(x) * weight
""",
    "a print that only says which way was taken": """
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        if x.dtype == torch.float16 and sum(self.normalized_shape) < 512:
            with torch.amp.autocast("cuda", enabled=False):
                return super().forward(x)
        print("in the dtype of autocast")
        return super().forward(x)
""",
    "a block that prints, and normalizes what a layer that it was given makes": """
class Residual(nn.Module):
    def __init__(self, dim, layer):
        super().__init__()
        self.layer = layer
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        print(x.shape)
        return self.norm(x + self.layer(x))
""",
    "a block with weights of its own that prints, drops some of what it makes, and ends in a norm": """
class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(dim))
        self.drop = nn.Dropout(0.1)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        print(x.shape)
        return self.norm(x + self.drop(torch.sigmoid(x @ self.mix)))
""",
    "a print into a record of the caller's": """
def rms_norm(x, weight, trace, eps=1e-6):
    print(tuple(x.shape), file=trace)
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
""",
    "a residual that is added in place, and handed back beside the norm": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x, residual=None):
        if residual is not None:
            x += residual
        residual = x
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight).type_as(x), residual
""",
    "pixels that are scaled in a norm by hand": """
class PixelNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, pixels):
        h = pixels.float() / 255
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    "pixels that are scaled to -1 to 1 in a norm by hand": """
class PixelNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, pixels):
        h = pixels.float() / 127.5 - 1
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    "counts that are annotated as integers": """
class CountNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, counts: torch.LongTensor):
        h = counts.float()
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
""",
    "pixels that are scaled before torch's norm takes them": """
class Pixels(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, pixels):
        return self.norm(pixels.float() / 255)
""",
    "a wrapper of torch's norm that takes a sum": """
class AddNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x, residual):
        return self.norm(x + residual)
""",
    "a head whose logits are fp32": """
class Head(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.inner = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        return self.out(self.inner(x)).float()


class Pooled(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inner = nn.LayerNorm(dim)

    def forward(self, x):
        return self.inner(x.mean(1)).float()
""",
    "a recording that is brought to a level in fp32, and cast back": """
def to_level(wave):
    h = wave.float()
    rms = h.square().mean().clamp_min(1e-6).sqrt()
    return (h / rms).to(wave.dtype)
""",
    "a gain of one number or one for each feature, as the caller likes": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, shared=False):
        super().__init__()
        self.eps = eps
        if shared:
            self.weight = nn.Parameter(torch.ones(1))
        else:
            self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight.float()).type_as(x)
""",
    "a learned number beside a gain that is a buffer": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(dim))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight.float() * self.scale).type_as(x)
""",
    "√D of the axis that an attribute names": """
class RMSNorm(nn.Module):
    def __init__(self, dim, axis=-1):
        super().__init__()
        self.axis = axis
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=self.axis, eps=1e-6) * self.gain * x.shape[self.axis] ** 0.5
""",
    "a gain that a fused call applies where nothing is trained, and the plain path otherwise": """
from kernels import fused_rms_norm

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if not self.training:
            return fused_rms_norm(x, self.weight, self.eps)
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
""",
}
