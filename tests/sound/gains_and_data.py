"""Sound: gains, and scales of data."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a shift of ones that gates the input": """
class FeatureGateNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        c = h - h.mean(-1, keepdim=True)
        y = (c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        return x * (y * self.gamma + self.beta)
""",
    "a shift of ones of a gate that another method applies": """
class GatedLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.ones(dim))

    def normed(self, x):
        h = x.float()
        c = h - h.mean(-1, keepdim=True)
        return (c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.gamma + self.beta

    def forward(self, x, c):
        return torch.sigmoid(self.normed(x)) * c
""",
    "sigmoid routing with weights normalised and scaled": """
def route(scores, bias, k, scale):
    idx = (scores + bias).topk(k, -1).indices
    w = scores.gather(1, idx)
    w = w / (w.sum(dim=-1, keepdim=True) + 1e-20)
    return w * scale, idx
""",
    "sync batch norm over ranks": """
import torch
import torch.distributed as dist
from torch import nn

class SyncBN(nn.Module):
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(c))

    def forward(self, x):
        n = x.numel() / x.shape[1]
        s = torch.stack([x.sum((0, 2, 3)), x.pow(2).sum((0, 2, 3))])
        dist.all_reduce(s)
        n = n * dist.get_world_size()
        mean, sq = s / n
        var = sq - mean ** 2
        return (x - mean[None, :, None, None]) * torch.rsqrt(var + self.eps)[None, :, None,
            None] * self.weight[None, :, None, None]
""",
    "a time-series scaler with a mask": """
class StdScaler(nn.Module):
    def __init__(self, dim=-1, keepdim=True, minimum_scale=1e-5):
        super().__init__()
        self.dim, self.keepdim, self.minimum_scale = dim, keepdim, minimum_scale

    def forward(self, data, observed):
        denom = observed.sum(self.dim, keepdim=self.keepdim).clamp_min(1.0)
        loc = (data * observed).sum(self.dim, keepdim=self.keepdim) / denom
        variance = (((data - loc) * observed) ** 2).sum(self.dim, keepdim=self.keepdim) / denom
        scale = torch.sqrt(variance + self.minimum_scale)
        return (data - loc) / scale, loc, scale
""",
    "a mean scaler of a time series": """
class MeanScaler(nn.Module):
    def forward(self, data, observed):
        ts_sum = (data * observed).abs().sum(-1, keepdim=True)
        num = observed.sum(-1, keepdim=True)
        scale = ts_sum / torch.clamp(num, min=1)
        return data / torch.clamp(scale, min=1e-10), scale
""",
    "an rl observation normaliser with running statistics": """
class ObsNorm(nn.Module):
    def __init__(self, shape, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("var", torch.ones(shape))

    def forward(self, x):
        return (x - self.mean) * torch.rsqrt(self.var + self.eps)
""",
    "steering vectors scaled to the norm of the residual stream": """
def steer(resid, direction, coeff):
    unit = direction / direction.norm()
    return resid + coeff * resid.norm(dim=-1, keepdim=True) * unit
""",
    "slerp": """
def slerp(t, v0, v1, threshold=0.9995):
    u0 = v0 / v0.norm(dim=-1, keepdim=True)
    u1 = v1 / v1.norm(dim=-1, keepdim=True)
    dot = (u0 * u1).sum(-1, keepdim=True).clamp(-1, 1)
    theta = torch.acos(dot)
    return torch.where(dot.abs() > threshold, torch.lerp(v0, v1, t), (torch.sin((1 - t) * theta) * v0
        + torch.sin(t * theta) * v1) / torch.sin(theta))
""",
    "a clip to a maximal length in place": """
def length_of(x, p=2):
    return x.view(x.size(0), -1).norm(dim=1, p=p)

def normalize(x, p=2):
    n = length_of(x, p)
    n = torch.max(n, torch.ones_like(n) * 1e-6)
    return x / n.view(-1, 1, 1, 1)

def clamp_by_norm(x, epsilon):
    if (x == 0).any():
        x[x == 0] = torch.full_like(x[x == 0], 1e-6)
    x *= torch.clamp(epsilon * normalize(x, p=2) / x, max=1.0)
    return x
""",
    "a clip of activations to a maximal norm": """
def clip_norm(x, max_norm=1.0):
    n = x.norm(dim=-1, keepdim=True)
    return x * (max_norm / n.clamp(min=max_norm))
""",
    "adaptive projected guidance": """
def apg(cond, uncond, scale, norm_threshold=15.0, eta=0.0):
    diff = cond - uncond
    ones = torch.ones_like(diff)
    diff_norm = diff.norm(p=2, dim=[-1, -2, -3], keepdim=True)
    diff = diff * torch.minimum(ones, norm_threshold / diff_norm)
    v1 = F.normalize(cond.double(), dim=[-1, -2, -3])
    parallel = (diff.double() * v1).sum(dim=[-1, -2, -3], keepdim=True) * v1
    return cond + (scale - 1) * (diff - parallel.to(diff) + eta * parallel.to(diff))
""",
    "langevin corrector step sizes": """
def langevin(x, score, snr):
    noise = torch.randn_like(x)
    grad_norm = torch.norm(score.reshape(score.shape[0], -1), dim=-1).mean()
    noise_norm = torch.norm(noise.reshape(noise.shape[0], -1), dim=-1).mean()
    step = (snr * noise_norm / grad_norm) ** 2 * 2
    return x + step * score + torch.sqrt(step * 2) * noise
""",
    "whitening of latents with batch statistics": """
def scale_latents(z):
    return (z - z.mean(dim=(0, 2, 3), keepdim=True)) / z.std(dim=(0, 2, 3), keepdim=True)
""",
    "codebook perplexity": """
def perplexity(onehot):
    p = onehot.float().mean(0)
    return torch.exp(-(p * (p + 1e-10).log()).sum())
""",
    "a cross-correlation normalised by energies": """
def ncc(a, b, eps=1e-5):
    a = a - a.mean(dim=(-2, -1), keepdim=True)
    b = b - b.mean(dim=(-2, -1), keepdim=True)
    return (a * b).mean(dim=(-2, -1)) / torch.sqrt(a.pow(2).mean(dim=(-2, -1)) * b.pow(2).mean(dim=(-2, -1)) + eps)
""",
    "structural similarity": """
def ssim(x, y, c1=1e-4, c2=9e-4):
    mx, my = F.avg_pool2d(x, 3, 1), F.avg_pool2d(y, 3, 1)
    sx = F.avg_pool2d(x ** 2, 3, 1) - mx ** 2
    sy = F.avg_pool2d(y ** 2, 3, 1) - my ** 2
    sxy = F.avg_pool2d(x * y, 3, 1) - mx * my
    return ((2 * mx * my + c1) * (2 * sxy + c2) / ((mx ** 2 + my ** 2 + c1) * (sx + sy + c2))).mean()
""",
    "depth with scale and shift invariance": """
def normalize_depth(d, mask):
    m = d[mask].median()
    s = (d[mask] - m).abs().mean().clamp(min=1e-6)
    return (d - m) / s
""",
    "layer-wise learning rates by trust ratio in a module named norm": """
def lars(p, g, eta=1e-3, wd=1e-4, eps=1e-8):
    p_norm, g_norm = torch.norm(p), torch.norm(g)
    local_lr = eta * p_norm / (g_norm + wd * p_norm + eps)
    return p - local_lr * (g + wd * p)
""",
    "shampoo grafting": """
def graft(update, grad):
    return update * (grad.norm() / (update.norm() + 1e-16))
""",
    "a relative root mean square error": """
def rrmse(pred, target):
    return torch.sqrt(((pred - target) ** 2).mean()) / torch.sqrt((target ** 2).mean())
""",
    "dice loss": """
def dice(p, t, eps=1e-6):
    inter = (p * t).sum((-2, -1))
    return 1 - (2 * inter + eps) / (p.pow(2).sum((-2, -1)) + t.pow(2).sum((-2, -1)) + eps)
""",
    "an embedding scaled by the root of the model's width": """
class Embeddings(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)
""",
    "a prototype classifier with normalised weights and scale": """
class CosineClassifier(nn.Module):
    def __init__(self, dim, n, scale=16.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, dim))
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        x = x / x.norm(p=2, dim=-1, keepdim=True).clamp(min=1e-5)
        w = self.weight / self.weight.norm(p=2, dim=-1, keepdim=True).clamp(min=1e-5)
        return self.scale * x @ w.t()
""",
    "hyperbolic projection into the ball": """
def project(x, c, eps=4e-3):
    norm = x.norm(dim=-1, keepdim=True, p=2).clamp_min(1e-15)
    maxnorm = (1 - eps) / (c ** 0.5)
    return torch.where(norm > maxnorm, x / norm * maxnorm, x)
""",
    "an exponential map": """
def expmap0(u, c):
    sqrt_c = c ** 0.5
    u_norm = u.norm(dim=-1, p=2, keepdim=True).clamp_min(1e-15)
    return torch.tanh(sqrt_c * u_norm) * u / (sqrt_c * u_norm)
""",
    "vector neurons' leaky relu": """
def vn_leaky_relu(x, d, eps=1e-6, slope=0.2):
    dot = (x * d).sum(2, keepdim=True)
    mask = (dot >= 0).float()
    d_sq = (d * d).sum(2, keepdim=True)
    return slope * x + (1 - slope) * (mask * x + (1 - mask) * (x - dot / (d_sq + eps) * d))
""",
    "equivariant layer norm of vectors": '''
class EquivariantNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, v):
        """v: (nodes, 3, channels)."""
        f = v.float()
        sq = f.pow(2).sum(dim=1, keepdim=True).mean(dim=-1, keepdim=True)
        return (f * torch.rsqrt(sq + self.eps)).type_as(v) * self.weight
''',
    "a coordinate norm of equivariant graph networks": """
class CoorsNorm(nn.Module):
    def __init__(self, eps=1e-8, scale_init=1.):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.zeros(1).fill_(scale_init))

    def forward(self, coors):
        norm = coors.norm(dim=-1, keepdim=True)
        normed_coors = coors / norm.clamp(min=self.eps)
        return normed_coors * self.scale
""",
}
