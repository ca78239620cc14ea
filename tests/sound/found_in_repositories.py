"""Sound: what was called wrong in repositories that nobody had read before."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a weight and its low-rank update, whose columns are brought to learned lengths": """
import torch
import torch.nn as nn
import torch.nn.functional as F


class AdaptedLinear(nn.Module):
    def __init__(self, in_features, out_features, r, alpha):
        super().__init__()
        self.weight = nn.Parameter(torch.empty((out_features, in_features)))
        self.down = nn.Parameter(torch.empty(r, in_features))
        self.up = nn.Parameter(torch.empty(out_features, r))
        self.scaling = alpha / r
        self.magnitude = nn.Parameter(self.weight.norm(p=2, dim=0, keepdim=True))

    def forward(self, x):
        combined = self.weight + self.scaling * (self.up @ self.down)
        length = combined.norm(dim=0, keepdim=True) + 1e-6
        return F.linear(x, (self.magnitude * combined) / length.detach())
""",
    "a unit sphere behind a block whose docstring names an RMSNorm among its parts": """
import torch.nn as nn
import torch.nn.functional as F


class RotatedBlock(nn.Module):
    \"\"\"Rotation (no residual) + RMSNorm + MLP (with residual), back to the sphere.\"\"\"

    def __init__(self, dim):
        super().__init__()
        self.attn = nn.Linear(dim, dim)
        self.mlp = nn.Linear(dim, dim)

    def forward(self, x, state):
        x = self.attn(x)
        return F.normalize(x + self.mlp(x), dim=-1, eps=1e-6), state
""",
    "the inverse of a quaternion": """
import torch


def quaternion_inverse(q: torch.Tensor) -> torch.Tensor:
    conjugate = q * torch.tensor([1.0, -1.0, -1.0, -1.0], device=q.device, dtype=q.dtype)
    norm_squared = torch.sum(q * q, dim=-1, keepdim=True)
    return conjugate / (norm_squared + 1e-8)
""",
    "a scale that is handed on beside what it is for": """
import torch
from torch import nn


class KeyRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, shared, raw):
        inverse = torch.rsqrt(raw.float().square().mean(-1) + self.eps).to(raw.dtype)
        return shared, shared * self.weight, inverse
""",
    "one row that was summed out of a table": """
import torch


def reference(raw, scores, head_dim, rms_weight, rms_eps):
    kv = raw[:, :head_dim].float()
    row = (kv * torch.softmax(scores, dim=0)).sum(dim=0)
    return row * torch.rsqrt((row * row).mean() + rms_eps) * rms_weight.float()
""",
    "a gain that a function applies which the class is given as its forward": """
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)


def with_gain(self, x):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


RMSNorm.forward = with_gain
""",
    "a window with a learned scale that the first item of its deviation undoes": """
class Forecast(nn.Module):
    def __init__(self, n, horizon):
        super().__init__()
        self.horizon = horizon
        self.scale = nn.Parameter(torch.ones(1, 1, n))
        self.offset = nn.Parameter(torch.zeros(1, 1, n))
        self.body = nn.Linear(n, n)

    def forward(self, x):
        mean = x.float().mean(1, keepdim=True).detach()
        centred = x.float() - mean
        std = torch.sqrt(centred.var(dim=1, keepdim=True, unbiased=False) + 1e-5)
        out = self.body((centred / std * self.scale + self.offset).type_as(x))
        out = (out - self.offset) / (self.scale + 1e-10)
        out = out * std[:, 0, :].unsqueeze(1).repeat(1, self.horizon, 1)
        return out + mean[:, 0, :].unsqueeze(1).repeat(1, self.horizon, 1)
""",
    "a norm of what another function made a bfloat16": """
def mixed(x, residual):
    return (x.float() + residual.float()).bfloat16()


def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def mixed_and_normalised(x, residual, weight):
    return rms_norm(mixed(x, residual), weight)
""",
    "what an autoencoder calls a layer norm, beside the mean and the deviation that bring it back": """
def ln(x, eps=1e-5):
    mu = x.mean(dim=-1, keepdim=True)
    x = x - mu
    std = x.std(dim=-1, keepdim=True)
    return x / (std + eps), mu, std
""",
    "a layer norm of whole samples, where a batch of one is flattened to a vector": """
class LayerNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        shape = [-1] + [1] * (x.dim() - 1)
        h = x.float()
        if x.size(0) == 1:
            mean = h.view(-1).mean().view(*shape)
            var = h.view(-1).var(unbiased=False).view(*shape)
        else:
            mean = h.view(x.size(0), -1).mean(1).view(*shape)
            var = h.view(x.size(0), -1).var(1, unbiased=False).view(*shape)
        y = ((h - mean) / torch.sqrt(var + self.eps)).type_as(x)
        shape = [1, -1] + [1] * (x.dim() - 2)
        return y * self.gamma.view(*shape) + self.beta.view(*shape)
""",
    "rewards of an example, beside the log-probabilities that they weigh": """
rewards = torch.tensor([1.0, 1.0, 0.0, 0.0])
logprobs = torch.tensor([-7.9, -20.2, -16.6, -23.4])
advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
loss = -(advantages.detach() * logprobs).mean()
""",
    "statistics of each feature over the places, with a gain for each feature": """
class PlaceNorm(nn.Module):
    def __init__(self, feat, affine=True):
        super().__init__()
        self.affine = affine
        if affine:
            self.shift = nn.Parameter(torch.zeros(1, 1, 1, feat))
            self.scale = nn.Parameter(torch.ones(1, 1, 1, feat))

    def forward(self, x):
        h = x.float()
        mean = h.mean(-2, keepdims=True)
        var = h.var(-2, keepdims=True, unbiased=True)
        out = ((h - mean) / (var + 1e-6) ** 0.5).type_as(x)
        return out * self.scale + self.shift if self.affine else out
""",
    "an activation with a gate of its own and a deviation, whose bias needs no centre": """
class GatedNorm(nn.Module):
    def __init__(self, channels, groups=8, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.gamma = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.slope = nn.Parameter(torch.ones(1, channels, 1, 1))

    def forward(self, x):
        n, c, height, width = x.shape
        h = x.float().reshape(n, self.groups, -1)
        std = torch.sqrt(h.var(dim=-1, keepdim=True, correction=0) + self.eps)
        out = (h / std).reshape(n, c, height, width).type_as(x)
        return torch.sigmoid(self.slope * x) * out * self.gamma + self.beta
""",
    "lengths of vectors, normalised over the vectors": """
class VectorNorm(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(1, 1, dim))
        self.bias = nn.Parameter(torch.zeros(1, 1, dim))

    def forward(self, features):
        length = features.norm(dim=-1).clamp(min=self.eps)
        direction = features / length.unsqueeze(-1)
        std, mean = torch.std_mean(length, dim=-1, keepdim=True)
        length = (length - mean) / (std + self.eps)
        return torch.relu(length * self.scale + self.bias).unsqueeze(-1) * direction
""",
    "lengths of vectors, brought to one deviation over the sequence": """
class SequenceNorm(nn.Module):
    def __init__(self, dim, eps=1e-4, seq_dim=1):
        super().__init__()
        self.scale = nn.Parameter(torch.ones((dim, 1)))
        self.shift = nn.Parameter(torch.ones((dim, 1)) * 1e-5)
        self.eps, self.seq_dim = eps, seq_dim

    def forward(self, feats):
        lengths = torch.norm(feats, dim=-1, keepdim=True)
        directions = feats / (lengths + self.eps)
        lengths = lengths / (torch.std(lengths, dim=self.seq_dim, keepdim=True) + self.eps)
        return torch.relu(lengths * self.scale + self.shift) * directions
""",
    "a test with an eps that is large on purpose": """
class TestNorm:
    def test_a_large_eps(self):
        x = torch.randn(10, 64)
        expected = x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1.0)
        assert torch.allclose(Norm(64, eps=1.0)(x), expected.type_as(x))
""",
    "a test whose argument is an eps that is large on purpose": """
def test_rms_norm(eps: float = 0.3):
    x = torch.randn(10, 64)
    weight = torch.rand(64)
    expected = x / torch.sqrt(eps + x.square().mean(-1, keepdim=True)) * weight
    assert torch.allclose(ops.RMSNorm(64, eps=eps, weight=weight)(x), expected)
""",
    "statistics of each channel over the nodes, with a gain for each channel": """
class NodeNorm2d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(channels))
        self.scale = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        h = x.float()
        h = (h - h.mean(2, keepdims=True)) / (h.var(2, keepdims=True, unbiased=True) + 1e-5) ** 0.5
        return h.type_as(x) * self.scale.view(1, -1, 1, 1) + self.shift.view(1, -1, 1, 1)
""",
    "a map of attention over all places, which comes centred": """
class GroupedAttention(nn.Module):
    def __init__(self, groups, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(1, groups, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, groups, 1, 1))

    def forward(self, x):
        b, c, height, width = x.shape
        x = x.view(b * self.groups, -1, height, width)
        map = (x * x.mean((2, 3), keepdim=True)).sum(dim=1, keepdim=True).float().view(b * self.groups, -1)
        map = map - map.mean(dim=1, keepdim=True)
        map = (map / torch.sqrt(map.var(dim=1, keepdim=True) + self.eps)).type_as(x)
        map = map.view(b, self.groups, height, width) * self.weight + self.bias
        x = x * torch.sigmoid(map.view(b * self.groups, 1, height, width))
        return x.view(b, c, height, width)
""",
    "a window that is mixed by a learned number, and whose deviation is given back to what a layer makes of it": """
class Forecast(nn.Module):
    def __init__(self, n, horizon, target):
        super().__init__()
        self.target = target
        self.mix = nn.Parameter(torch.ones([1]))
        self.near = nn.Conv1d(n, n, 3, padding="same")
        self.head = nn.Linear(n, horizon)

    def forward(self, x):
        series = x[:, [-1], :] if self.target else x
        mean = torch.mean(series, dim=-1, keepdim=True)
        std = torch.std(series, dim=-1, keepdim=True)
        x = (x - torch.mean(x, dim=-1, keepdim=True)) / (torch.std(x, dim=-1, keepdim=True) + 1e-5)
        series = x[:, [-1], :] if self.target else x
        series = self.mix * series + (1 - self.mix) * self.near(x)
        return self.head(series) * std + mean
""",
    "a dict of tensors is asked for one": """
class Net(nn.Module):
    def forward(self, batch):
        feat = batch["feat"].float()
        size = batch.get("size", 1)
        return feat / feat.norm(dim=1, keepdim=True).clamp(min=1e-6) * size
""",
    "an operator that somebody else makes has methods of its own": """
class Unrolled(nn.Module):
    def forward(self, y, mask, maps):
        op = mask @ Coils(maps)
        for _ in range(3):
            y = y - op.normal(y)
            maps = maps - y.conj() * mask.H(y - op(y))
            maps = maps / maps.norm(dim=1, keepdim=True).clamp(min=1e-8)
            op = mask @ Coils(maps)
        return y, maps
""",
    "rows of a transposed matrix, divided by their lengths": """
def unit_norm(matrix, *others):
    lengths = ((matrix**2).sum(axis=1)) ** 0.5
    return (matrix.T / lengths).T, *[(other.T / lengths).T for other in others]
""",
    "what is centred, brought to the length 1": """
class MagnitudeNorm(nn.LayerNorm):
    def forward(self, x):
        h = x.float()
        h = h - h.mean(dim=-1, keepdim=True)
        h = h / (h.norm(p=2, dim=-1, keepdim=True) + self.eps)
        return (h * self.weight).type_as(x) + self.bias
""",
    "a soft ball, in which what is short keeps its length": """
class SoftBallNorm(nn.Module):
    def __init__(self, dim, radius=None):
        super().__init__()
        self.radius = radius if radius is not None else math.sqrt(dim)

    def forward(self, x):
        length = x.norm(p=2, dim=-1, keepdim=True)
        return x * torch.rsqrt(1 + (length / self.radius).pow(2))
""",
    "an embedding in fp32 of what a model that isn't read returns": """
class FeatureExtractor(nn.Module):
    def __init__(self, name="ViT-L/14"):
        super().__init__()
        self.model = load(name)[0].eval().requires_grad_(False)

    def forward(self, x):
        x = self.model.encode_image(x).float()
        x = F.normalize(x) * x.shape[1] ** 0.5
        return x
""",
    "a subclass of torch's layer norm whose normalized_shape may be (C, H, W)": """
class LayerNorm(nn.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=False):
        super().__init__(normalized_shape, eps, elementwise_affine)

    def forward(self, x):
        wide = x.float()
        mean = wide.mean([1, 2, 3])
        var = wide.var([1, 2, 3], unbiased=False)
        y = (wide - mean[:, None, None, None]) / torch.sqrt(var[:, None, None, None] + self.eps)
        y = y.type_as(x)
        if self.elementwise_affine:
            y = y * self.weight[None, :] + self.bias[None, :]
        return y
""",
    "a spatial group enhancement, which standardises what it gates with": """
class SpatialGroupEnhance(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.weight = nn.Parameter(torch.zeros(1, groups, 1, 1))
        self.bias = nn.Parameter(torch.ones(1, groups, 1, 1))

    def forward(self, x):
        b, c, h, w = x.size()
        x = x.view(b * self.groups, -1, h, w)
        t = (x * self.pool(x)).sum(dim=1, keepdim=True).view(b * self.groups, -1)
        t = t - t.mean(dim=1, keepdim=True)
        std = t.std(dim=1, keepdim=True) + 1e-5
        t = (t / std).view(b, self.groups, h, w) * self.weight + self.bias
        x = x * torch.sigmoid(t.view(b * self.groups, 1, h, w))
        return x.view(b, c, h, w)
""",
    "a norm that says that it isn't centred": """
class PositionNormUncentered2d(nn.LayerNorm):
    def __init__(self, features: int, eps=1e-5):
        super().__init__(normalized_shape=features, eps=eps)
        self.detach = False

    def forward(self, x):
        var = torch.var(x.float(), dim=1, unbiased=False, keepdim=True)
        if self.detach:
            var = var.detach()
        x = (x / (var + self.eps).sqrt()).type_as(x)
        return self.weight[None, ..., None, None] * x + self.bias[None, ..., None, None]
""",
    "a batch norm without centring that keeps a running variance": """
def all_norm(input, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        var = input.float().var(unbiased=False)
        if running_var is not None:
            running_var.copy_((1 - momentum) * running_var + momentum * var.detach())
    else:
        var = running_var
    result = (input / (var + eps).sqrt()[None, ..., None, None]).type_as(input)
    if weight is not None:
        result = weight[None, ..., None, None] * result
    return result
""",
    "a statistic that is detached where a flag of the module asks for it": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5, explain=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
        self.explain = explain

    def forward(self, x):
        h = x.float()
        var = (h.detach() if self.explain else h).var(-1, unbiased=False, keepdim=True)
        return ((h - h.mean(-1, keepdim=True)) / (var + self.eps).sqrt()).type_as(x) * self.weight
""",
    "a layer of attention that normalises in the dtype of the whole model": """
def float_dtype():
    return torch.float32

def att_norm(x, num, norm):
    shape = x.shape
    x = x.reshape([-1, num] + list(shape[1:])).to(float_dtype())
    axis = 1 if norm == "instance" else 2
    x = x * torch.rsqrt(torch.square(x).mean(dim=axis, keepdim=True) + 1e-8)
    return x.reshape(shape)

class TransformerLayer(nn.Module):
    def __init__(self, dim, num, norm="layer"):
        super().__init__()
        self.modulation = nn.Linear(dim, dim)
        self.num, self.norm = num, norm

    def forward(self, x, control):
        x = att_norm(x, self.num, self.norm)
        return x * (self.modulation(control) + 1)
""",
}
