"""Sound: what whole packages brought up as flagged."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a base's forward that casts what it hands to a subclass": """
class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self._forward(x.float()).type_as(x) * self.weight


class RMSNorm(Norm):
    def _forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""",
    "one gate for each of two branches, which are the identity at first": """
class Modulation(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, 2 * dim)
        self.amplitude = nn.Parameter(torch.zeros(2))

    def forward(self, cond):
        def branch(v, i):
            h = v.float()
            return self.amplitude[i] * (h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-8)).type_as(v)

        first, second = self.proj(cond).chunk(2, dim=-1)
        return branch(first, 0), branch(second, 1)
""",
    "a branch's one gate that opens in training": """
class Branch(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        h = self.proj(x).float()
        return self.alpha * (h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-6)).type_as(x)
""",
    "an output in fp32 that the caller asks for": """
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x, keep_wide=False):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        if not keep_wide:
            y = y.to(self.weight.dtype)
        return y * self.weight
""",
    "numpy's variance, in a text that only loads with torch": """
import numpy as np
from torch import load

state = {k: v.numpy() for k, v in load("model.pth").items()}


def layer_norm(x, w, b):
    return (x - x.mean()) / (x.var() + 1e-5) ** 0.5 * w + b


def embed(token):
    return layer_norm(state["emb"][token], state["ln.weight"], state["ln.bias"])
""",
    "numpy's variance along an axis, in a text that only loads with torch": """
import numpy as np
import torch

pth = {k: v.numpy() for k, v in torch.load("model.pth").items()}


def layer_norm(x, w, b):
    return (x - x.mean(axis=-1, keepdims=True)) / (x.var(axis=-1, keepdims=True) + 1e-5) ** 0.5 * w + b
""",
    "gains that functions made by the constructor apply": """
class LayerNorm(nn.Module):
    def __init__(self, dim, fused=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

        def plain(x):
            return F.layer_norm(x, x.shape[-1:], self.weight.to(x.dtype), self.bias.to(x.dtype), 1e-5)

        def kernel(x):
            return fast_norm(x, self.weight.to(x.dtype), self.bias.to(x.dtype))

        self.run = kernel if fused else plain

    def forward(self, x):
        return self.run(x)
""",
    "one of several norms of a class, which says that it is the cosine's": """
class RMSNormOrOther(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        self.kind = {"rms": self.root, "cos": self.unit}[kind]

    def forward(self, x):
        return self.kind(x)

    def unit(self, x):
        '''Cosine normalization.'''
        return x / torch.norm(x, p=2, dim=-1, keepdim=True).clamp(min=1e-6)

    def root(self, x):
        x32 = x.float()
        return (x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + 1e-6)).to(x.dtype)
""",
    "centred scores on the unit sphere": """
class Sampler:
    def soft(self, scores):
        scores = scores.view(-1, scores.shape[-1])
        centred = scores - torch.mean(scores, dim=-1, keepdim=True)
        return centred / torch.norm(centred, dim=-1, keepdim=True)
""",
    "samples brought to a mean and a deviation": """
class Norm(nn.Module):
    def __init__(self, mean=0.0, std=1.0, eps=1e-6):
        super().__init__()
        self.mean, self.std, self.eps = mean, std, eps

    def forward(self, x):
        dims = tuple(range(1, x.dim()))
        m = x.mean(dim=dims, keepdim=True)
        s = x.std(dim=dims, keepdim=True)
        return self.std * (x - m) / (s + self.eps) + self.mean
""",
    "normals of a mesh, and the light on its texture": """
class Face(nn.Module):
    def normals(self, v):
        a, b, c = v[:, self.tri[:, 0]], v[:, self.tri[:, 1]], v[:, self.tri[:, 2]]
        n = F.normalize(torch.cross(a - b, b - c, dim=-1), dim=-1, p=2)
        n = torch.cat([n, torch.zeros(n.shape[0], 1, 3)], dim=1)
        return F.normalize(torch.sum(n[:, self.ring], dim=2), dim=-1, p=2)

    def shade(self, v, light):
        texture = torch.zeros(v.shape[0], 1, light.shape[-2], light.shape[-1])
        return texture * self.unwrap(self.normals(v) @ light)
""",
    "unit vectors between residues, masked before the axis comes back": """
def template_vectors(rigid, points, mask, eps=1e-6):
    vec = rigid[..., None].invert_apply(points)
    inverse = torch.rsqrt(eps + torch.sum(vec**2, dim=-1))
    backbone = mask[..., 0] * mask[..., 1]
    inverse = inverse * (backbone[..., :, None] * backbone[..., None, :])
    return vec * inverse[..., None]
""",
    "queries of heads, checked against a kernel": """
def reference(q, k, w, heads):
    def norm(x, w):
        y = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
        return y.to(x.dtype) * w

    def rotate(x):
        a, b = x.chunk(2, -1)
        return x + torch.cat((-b, a), -1)

    shape = (*q.shape[:2], heads, q.shape[-1] // heads)
    qh = rotate(norm(q.unflatten(-1, (heads, -1)), w).reshape(shape))
    kh = rotate(norm(k.unflatten(-1, (heads, -1)), w).reshape(shape))
    return qh.transpose(1, 2), kh.transpose(1, 2)


def check(w):
    q, k, _ = torch.randn(2, 37, 1536).chunk(3, -1)
    return reference(q, k, w, 4)
""",
    "real and imaginary parts of an image, each standardised": """
def complex_normalize(x):
    b, c, h, w = x.shape
    x = x.contiguous().view(b, 2, c // 2 * h * w)
    mean = x.mean(dim=2).view(b, 2, 1, 1, 1).expand(b, 2, c // 2, 1, 1).contiguous().view(b, c, 1, 1)
    std = x.std(dim=2, unbiased=False).view(b, 2, 1, 1, 1).expand(b, 2, c // 2, 1, 1).contiguous().view(b, c, 1, 1)
    x = x.view(b, c, h, w)
    return (x - mean) / std, mean, std
""",
    "axes broadcast, then put on the unit sphere": """
def quaternion(axis, angle):
    axis, angle = torch.broadcast_tensors(axis, angle[..., None])
    axis = F.normalize(axis, dim=-1)
    c = torch.cos(angle[..., :1] / 2)
    s = torch.sin(angle / 2)
    return torch.cat([c, axis * s], dim=-1)
""",
    "a series is normalized on its way in and brought back on its way out": """
class Forecaster(nn.Module):
    def __init__(self, channels, steps):
        super().__init__()
        self.affine_weight = nn.Parameter(torch.ones(1, 1, channels))
        self.affine_bias = nn.Parameter(torch.zeros(1, 1, channels))
        self.project = nn.Linear(steps, steps)

    def forecast(self, series, marks):
        level = series.float().mean(1, keepdim=True).detach()
        series = series - level
        spread = torch.sqrt(torch.var(series.float(), dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
        series = series / spread
        series = (series * self.affine_weight + self.affine_bias).to(marks.dtype)
        out = self.project(series.transpose(1, 2)).transpose(1, 2)
        out = (out - self.affine_bias) / (self.affine_weight + 1e-10)
        return out * spread + level
""",
    "parameters that a method fills, which whoever builds the model calls": """
class LayerNorm(nn.Module):
    def __init__(self, shape, eps=1e-6, scale=True):
        super().__init__()
        self.eps = eps
        self.scale = scale
        if self.scale:
            self.weight = nn.Parameter(torch.empty(shape))

    def reset_parameters(self):
        if self.scale:
            self.weight.data.fill_(1)

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return self.weight * h if self.scale else h
""",
    "an eps of a model whose helper brings rows to unit length": """
class Quantizer(nn.Module):
    def __init__(self, dim, codes, norm_epsilon=1e-5):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, dim))
        self.project = nn.Linear(dim, dim)

    def nearest(self, xs, lengths):
        xs = self.project(xs)
        xs = xs / (xs.norm(dim=-1, p=2, keepdim=True) + 1e-8)
        return torch.cdist(xs, self.codes).argmin(-1)
""",
    "importances in a class whose docstring speaks of an L2 norm": """
class Importance:
    '''The L2 norm of each group of weights.'''

    def _normalize(self, importance, how):
        if how == "gaussian":
            return (importance - importance.mean()) / (importance.std() + 1e-8)
        return importance

    def __call__(self, groups):
        return self._normalize(torch.stack([g.norm() for g in groups], dim=0), "gaussian")
""",
    "a layer norm that says that it works in place": """
def layer_norm(x, dim, in_place=False):
    if in_place:
        x -= x.float().mean(dim=-1, keepdim=True)
        x *= torch.rsqrt(x.float().var(dim=-1, keepdim=True, unbiased=False) + 1e-5)
        return x
    return F.layer_norm(x, (dim,))
""",
    "an encoder that prints, and ends in a norm": """
class Encoder(nn.Module):
    def __init__(self, dim, embed, layers):
        super().__init__()
        self.embed = embed
        self.layers = layers
        self.after_norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, xs, lengths):
        xs, masks = self.embed(xs)
        print(f"masks: {masks.shape}")
        xs = self.layers(xs, masks)
        return self.after_norm(xs)
""",
    "a cast where the dtype has changed": """
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        out = self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))
        return out if out.dtype == x.dtype else out.type_as(x)
""",
    "a series that is brought to a spread of one, to be correlated": """
def tnorm(x, dim=-1):
    mean = x.mean(dim=dim, keepdim=True)
    std = torch.std(x, dim=dim, keepdim=True)
    return (x - mean) / (std + 0.0001)


def correlation(x, y):
    y = tnorm(y)
    return torch.sum(y * torch.sin(x), dim=-1) + torch.sum(y * torch.cos(x), dim=-1)
""",
    "the axis at which a normalized shape begins is an argument": """
def layer_normalization(x, scale, bias, axis, epsilon):
    if axis < 0:
        axis = x.dim() + axis
    normalized_shape = x.shape[axis:]
    return F.layer_norm(x, normalized_shape, weight=scale, bias=bias, eps=epsilon)
""",
    "a matrix that is centred and divided by its Frobenius norm": """
def views(latents):
    normed = []
    for p in latents:
        centred = p - p.mean(dim=0, keepdim=True)
        length = torch.norm(centred, p="fro")
        normed.append(centred / length if length > 1e-8 else torch.zeros_like(centred))
    return [(m - torch.mean(m, dim=0)) / (torch.norm(m - torch.mean(m, dim=0), p="fro") + 1e-10) for m in normed]
""",
    "a helper gives back the mean and the deviation beside the series": """
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.head = nn.Linear(n, n)

    def get_norm(self, x):
        means = x.mean(1, keepdim=True).detach()
        x = x - means
        stdev = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
        x /= stdev
        return x, means, stdev

    def forward(self, trend, season):
        trend, means, stdev = self.get_norm(trend)
        season, _, _ = self.get_norm(season)
        return self.head(trend) + self.head(season)
""",
    "a series with a gain, which is taken off what a layer makes of it": """
class Forecast(nn.Module):
    def __init__(self, n, length, horizon, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(n)), nn.Parameter(torch.zeros(n)), eps
        self.head = nn.Linear(length, horizon)

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        std = torch.sqrt(x.var(dim=1, keepdim=True, unbiased=False) + self.eps)
        x = (x - mean) / std * self.weight + self.bias
        out = self.head(x.transpose(1, 2)).transpose(1, 2)
        out = (out - self.bias) / (self.weight + self.eps * self.eps)
        return out * std + mean
""",
    "the tokens of a set and their features share one scale, as the gain's shape says": """
class RMSSetNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(1, 1, dim))

    def forward(self, x, attn_mask=None):
        dtype, x = x.dtype, x.float()
        if attn_mask is None:
            mean_sq = x.pow(2).mean(dim=(1, 2), keepdim=True)
        else:
            kept = attn_mask.unsqueeze(-1)
            total = (x.pow(2) * kept).sum(dim=(1, 2), keepdim=True)
            mean_sq = total / (attn_mask.sum(dim=1, keepdim=True) * x.shape[-1]).clamp(min=1).unsqueeze(-1)
        x = x / torch.sqrt(mean_sq + self.eps)
        return (x * self.gamma).to(dtype)
""",
    "a class of its own that has `normalize` as a method": """
import torch


def extract(features, reduction):
    \"\"\"Returns features of shape (B, N, D); what comes in is an object of ours.\"\"\"
    b, n, d = features.shape
    if reduction == "mean":
        features = features.reduce("mean")
    return features.normalize()
""",
    "a field whose gradient is another one than torch's": """
import torch


class Offset:
    def slope(self, x, field):
        ds, s = field.gradient(x, normalize=True, return_vals=True, transform=False)
        return ds, s

    def layer_norm_of(self, x, field, eps=1e-6):
        ds, _ = self.slope(x, field)
        ds = ds.float()
        return ds / (torch.norm(ds, dim=-1, keepdim=True) + eps)
""",
    "a vector of constants that is brought to unit energy": """
import torch


class Constellation:
    def fill(self, order):
        levels = torch.tensor([], dtype=torch.float)
        for i in range(order):
            levels = torch.cat([levels, torch.arange(-i, i, 2, dtype=torch.float)])
        symbols = torch.complex(levels, levels)
        energy = torch.mean(torch.abs(symbols) ** 2)
        self.register_buffer("symbols", symbols / torch.sqrt(energy))
""",
    "vectors of a metric whose name has RMSE": """
import torch


class AngleRMSE:
    def difference(self, y, predicted):
        y = y / torch.norm(y, dim=1, keepdim=True)
        predicted = predicted / torch.norm(predicted, dim=1, keepdim=True)
        return torch.acos((y * predicted).sum(1).clamp(-1, 1))
""",
    "a library with tensors of its own": """
from .module import Module, Parameter
from ..tensor import Tensor, ones


class RMSNorm(Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = Parameter(ones((dim,)))

    def forward(self, x: Tensor) -> Tensor:
        return x * ((x**2).mean(axis=-1, keepdim=True) + self.eps) ** (-0.5) * self.weight
""",
    "a length that only ever gets smaller, times a learned weight": """
class Squash(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        length = x.float().norm(dim=-1, keepdim=True)
        return self.weight * x / (1 + length).sqrt()
""",
    "rows of a view that a loop goes over": """
def _row(v, w, eps):
    h = v.float()
    return (h * torch.rsqrt(h.square().mean(-1) + eps)).to(v.dtype) * w


def rms_norm(x, w, eps=1e-6):
    flat = x.reshape(-1, x.shape[-1])
    return torch.stack([_row(row, w, eps) for row in flat]).view_as(x)
""",
    "rows of a view that vmap goes over": """
from torch.func import vmap


def _rms_row(v, w, eps):
    h = v.float()
    return (h * torch.rsqrt(h.square().mean() + eps)).to(v.dtype) * w


def rms_norm(x, w, eps=1e-6):
    flat = x.reshape(-1, x.shape[-1])
    return vmap(_rms_row, in_dims=(0, None, None))(flat, w, eps).view_as(x)
""",
    "references that are meant to stay wide": """
def ref_rms_norm(x, w, eps):
    x = x.float()
    return x / torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w.float()


def rms_norm_in_doubles(x, w, eps=1e-6):
    x = x.double()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w.double()
""",
    "a print that a NaN alone brings": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        inv = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if torch.isnan(inv).any():
            print(f"nan in {inv.shape}")
        return (h * inv).to(x.dtype) * self.weight
""",
    "a print where there is no kernel, or no gain": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, affine=True):
        super().__init__()
        self.eps = eps
        self.dim = (dim,)
        self.weight = nn.Parameter(torch.ones(dim)) if affine else None

    def forward(self, x):
        if FUSED:
            return F.layer_norm(x, self.dim, self.weight, None, self.eps)
        print("no kernel")
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        if self.weight is None:
            print("no gain")
            return h
        return h * self.weight
""",
    "a print where a half comes in, or where nothing is upcast": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, upcast=True):
        super().__init__()
        self.eps = eps
        self.upcast = upcast
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        if dtype != torch.float32:
            print("a half")
        if self.upcast:
            x = x.float()
        else:
            print("no upcast")
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.to(dtype) * self.weight


class CastingRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        if dtype != torch.float32:
            print("a half")
            x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.to(dtype) * self.weight
""",
    "an output in eight bits": """
def static_fp8(x, w, scale, eps=1e-6):
    h = x.float()
    h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * w.float()
    return (h / scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)


def fused_add_rms_norm_fp8(x, residual, weight, scale, eps=1e-6):
    r = x.float() + residual.float()
    residual.copy_(r.to(residual.dtype))
    y = r * torch.rsqrt(r.square().mean(-1, keepdim=True) + eps)
    y = (y.to(x.dtype) * weight).float() / scale
    return y.clamp(-448, 448).to(torch.float8_e4m3fn), residual
""",
    "a reference whose name says nothing": """
def torch_rms_norm(x, weight, eps):
    x = x.to(torch.float32)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight.to(torch.float32)
""",
    "an eps for the group norm beside": """
def dense_step(h, x, w, b, gn_w, gn_b, heads: int, eps: float):
    y = F.layer_norm(x, [x.shape[-1]], w, b, 1e-5)
    h = F.group_norm(h, heads, gn_w, gn_b, eps)
    return y * h
""",
    "an array of numpy's in a script that imports torch, too": """
import numpy as np
import torch


def main(rollout, target):
    model = torch.load("model.pt")

    def ln(x):
        mu = x.mean(-1, keepdims=True)
        sd = x.std(-1, keepdims=True) + 1e-6
        return (x - mu) / sd

    return np.abs(ln(rollout) - ln(target)).mean(-1), model
""",
    "the order of components that a docstring tells": '''
def rotation_axes(quaternions: torch.Tensor, tol: float = 1e-7):
    """Axes of rotations.

    Args:
        quaternions (torch.Tensor): Rotation quaternions in [r, i, j, k] format.
    """
    axes = quaternions[..., 1:]
    lengths = torch.norm(axes, dim=-1)
    angles = 2.0 * torch.atan2(lengths, quaternions[..., 0])
    return angles, axes / (lengths[:, None] + tol)
''',
    "weights of a trained model in a script": """
import torch
import transformer_lens

model = transformer_lens.HookedTransformer.from_pretrained("gpt2-small")
embedding = model.W_E - model.W_E.mean(dim=1).unsqueeze(1)
lengths = torch.norm(embedding, dim=1).unsqueeze(1)
embedding = embedding * torch.sqrt(torch.tensor(model.cfg.d_model)) / lengths
""",
    "one scale for a whole block of an equivariant model, whose last three axes are named": """
class BlockNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        h = x.float()
        scale = h.square().mean(dim=(-3, -2, -1), keepdim=True).add(self.eps).rsqrt()
        return (h * scale).type_as(x) * self.weight
""",
    "a gain with as many axes as an argument says": """
class RMSNorm(nn.Module):
    def __init__(self, channels, after=1, eps=1e-6, first=False):
        super().__init__()
        if first:
            shape = (channels,) + (1,) * after
        else:
            shape = (channels,)
        self.weight = nn.Parameter(torch.ones(shape))
        self.first = first
        self.eps = eps

    def forward(self, x):
        h = x.float()
        if self.first:
            scale = torch.rsqrt(h.pow(2).mean(-2, keepdim=True) + self.eps)
        else:
            scale = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * scale).type_as(x) * self.weight
""",
    "one scale for all nodes of a graph, centred over the nodes": """
class NodeNorm(nn.Module):
    eps = 1e-6

    def forward(self, nodes):
        x = nodes.flatten(1)
        x = x - x.mean(dim=0, keepdim=True)
        return x * x.shape[0] ** 0.5 / (x.norm() + self.eps)
""",
    "a gate made of normed similarities, whose gain starts at 0 (spatial group enhancement)": """
class GroupEnhance(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.zeros(1, groups, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, groups, 1, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b * self.groups, -1, h, w)
        t = (x * x.mean((2, 3), keepdim=True)).sum(1).view(b * self.groups, -1).float()
        t = t - t.mean(1, keepdim=True)
        t = t * torch.rsqrt(t.var(1, keepdim=True) + 1e-5)
        t = t.view(b, self.groups, h, w) * self.weight + self.bias
        return (x * torch.sigmoid(t.view(b * self.groups, 1, h, w))).view(b, c, h, w)
""",
    "torch's layer norm over another axis, with a shape that only its caller knows": """
class MaskedLayerNorm(nn.LayerNorm):
    def forward(self, pair):
        x, mask = pair
        h = x.float()
        mean = h.mean(-2, keepdim=True)
        var = h.var(-2, keepdim=True, unbiased=False)
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight + self.bias, mask
""",
    "one of two deviations that a message may be divided by (geometric affine)": """
class AffineConv(nn.Module):
    def __init__(self, dim, mode="batch", eps=1e-5):
        super().__init__()
        self.mode, self.eps = mode, eps
        self.alpha = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))
        self.net = nn.Linear(dim, dim)

    def message(self, x_i, x_j, batch):
        m = x_j - x_i
        if self.mode == "batch":
            m = m / (m.std() + self.eps)
        else:
            m = m / grouped_std(m, batch, self.eps)
        return self.net(torch.cat([self.alpha * m + self.beta, x_i], dim=1))
""",
    "recordings brought to a root mean square of 1": """
class Audio:
    @staticmethod
    def rms_normalize(samples):
        rms = samples.square().mean(dim=1).sqrt()
        return (samples.t() / (rms + 1e-8)).t()
""",
    "a waveform brought to a level for a model": """
class Objective(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        if x.ndim != 2:
            raise ValueError(x.ndim)
        x = x.float() / (torch.mean(x.float() ** 2, dim=1, keepdim=True) ** 0.5 * 20)
        return self.encoder(x)
""",
    "amplitudes divided by their root mean square on the way to another quantity": """
def sharpened(amplitudes, sharpen=True):
    f = amplitudes.float()
    if sharpen:
        e = f * torch.rsqrt(torch.mean(f**2, dim=-1, keepdim=True))
        return torch.sqrt(e**3 * f)
    return f
""",
    "a state that a recurrent cell updates in place, in a model that ends in a layer norm": """
def cell(x, previous, mix, weight):
    shifted = previous[0] - x
    previous[0] = x
    return (x + shifted * mix) @ weight

class Recurrent(nn.Module):
    def forward(self, x, state):
        for i in range(self.layers):
            x = x + cell(x, state[i], self.z[f"{i}.mix"], self.z[f"{i}.weight"])
        return F.layer_norm(x, (self.dim,), weight=self.z["out.weight"], bias=self.z["out.bias"])
""",
    "a convolution's own kernel, whose mean is taken axis by axis": """
class WSConv2d(nn.Conv2d):
    def forward(self, x):
        weight = self.weight
        level = weight.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True).mean(dim=3, keepdim=True)
        weight = weight - level
        var = torch.var(weight.view(weight.size(0), -1), dim=1, unbiased=False).clamp(min=1e-12)
        std = torch.sqrt(var).view(-1, 1, 1, 1)
        weight = weight / std.expand_as(weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
""",
    "an attribute named model that is called with keywords, of what isn't a tensor": """
import torch


class Embedder:
    def embedded(self, encoder: "Encoder", encodings: list) -> list:
        with torch.inference_mode():
            hidden = encoder.model(**encodings).last_hidden_state
            pooled = hidden.mean(1)
            pooled = torch.nn.functional.normalize(pooled, dim=-1)
        return pooled.tolist()
""",
    "a norm of complex numbers, which no cast to float may meet": """
class ComplexLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return self.weight * ((x - mean) / torch.sqrt(variance + self.eps)) + self.bias
""",
    "the relevance of a layer norm's input, which takes a mean of its own": """
def relevance_of_layer_norm(z, weight, bias, norm_eps, relevance, eps=1e-6):
    n = z.shape[-1]
    sigma = torch.sqrt(z.var(-1, unbiased=False, keepdim=True) + norm_eps)
    a = F.layer_norm(z, (n,), weight, bias, norm_eps)
    share = weight * (relevance / (a + eps * a.sign()))
    term = (share - share.sum(-1, keepdim=True) / n) / sigma
    return z * term
""",
    "a layer norm whose docstring says that the deviation is detached": """
def layer_norm_identity(self, x):
    '''Normalise over channels, with the std detached.'''
    h = x.float()
    h = h - h.mean(-1, keepdim=True)
    h = h / ((h**2).mean(-1, keepdim=True) + self.eps).sqrt().detach()
    return h.type_as(x) * self.weight + self.bias
""",
    "a deviation that is detached in a norm of its author's own": """
class FieldNorm(nn.Module):
    def __init__(self, fields, size, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(fields, 1))
        self.register_buffer("average", torch.eye(size))

    def forward(self, x):
        x = x.float()
        means = torch.einsum("ij,bcj->bci", self.average, x.detach())
        centred = x - means
        variance = (centred**2).mean(dim=2, keepdim=True).detach()
        return (centred * torch.rsqrt(variance + self.eps) * self.weight).to(self.weight.dtype)
""",
    "a helper that one caller gives centred values, and another what nobody can read": """
def layer_norm_of_parts(parts, weight, eps=1e-5, ref=None):
    parts = parts - parts.mean(-1, keepdim=True)
    if ref is None:
        ref = parts.summed()
    else:
        ref = ref - ref.mean(-1, keepdim=True)

    def central_norm(h):
        h = h.float()
        return h / torch.sqrt(torch.var(h, dim=-1, unbiased=False, keepdim=True) + eps)

    return parts.like(central_norm(ref).to(weight.dtype)) * weight
""",
}
