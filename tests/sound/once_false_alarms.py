"""Sound: once false alarms."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a helper that nothing calls beside a fused call": """
import fused_kernels

class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)

    def forward(self, x):
        output = torch.empty_like(x)
        fused_kernels.layernorm_forward_cuda(x, self.weight, output, self.eps)
        return output
""",
    "weights of latitudes with a mean of one, in the root of a mean squared error": """
import numpy as np

def lat_weighted_rmse(pred, y, lat):
    '''Latitude weighted root mean squared error'''
    error = (pred - y) ** 2
    weights = np.cos(np.deg2rad(lat))
    weights = weights / weights.mean()
    weights = torch.from_numpy(weights).unsqueeze(0).unsqueeze(-1).to(dtype=error.dtype, device=error.device)
    return torch.mean(torch.sqrt(torch.mean(error * weights, dim=(-2, -1))))
""",
    "an array of numpy, beside tensors": """
import numpy as np

def rms_normalised(x, lat):
    '''RMS norm with weights.'''
    weights = np.cos(lat)
    return x * torch.from_numpy(weights / weights.mean())
""",
    "a decorator that casts to fp32 and back": """
def in_fp32(f):
    def wrapped(x, *args):
        return f(x.float(), *args).to(x.dtype)
    return wrapped

@in_fp32
def rms_norm(x, w, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
""",
    "a loop over tokens": """
def rms_norm_loop(x, w, eps=1e-6):
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j].float()
            out[i, j] = (v * torch.rsqrt((v * v).mean() + eps)).to(x.dtype) * w
    return out
""",
    "a nano-vllm norm compiled with in-place ops on a copy": """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @torch.compile
    def rms_forward(self, x: torch.Tensor) -> torch.Tensor:
        orig_dtype = x.dtype
        x = x.to(torch.float32, copy=True)
        var = x.pow(2).mean(dim=-1, keepdim=True)
        x.mul_(torch.rsqrt(var + self.eps))
        x = x.to(orig_dtype).mul_(self.weight)
        return x

    def forward(self, x, residual=None):
        return self.rms_forward(x)
""",
    "a norm on one vector under vmap": '''
def rms_norm(x, weight, eps=1e-6):
    """x: a vector of features."""
    ms = torch.mean(x.float() ** 2)
    return (x.float() * torch.rsqrt(ms + eps)).to(x.dtype) * weight

batched = torch.vmap(rms_norm, in_dims=(0, None))
''',
    "a norm with a running average of its mean square": """
class PowerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5, alpha=0.9):
        super().__init__()
        self.eps, self.alpha = eps, alpha
        self.register_buffer("running_phi", torch.ones(dim))
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        if self.training:
            phi = x.float().pow(2).mean(dim=(0, 1))
            with torch.no_grad():
                self.running_phi.mul_(self.alpha).add_((1 - self.alpha) * phi)
        else:
            phi = self.running_phi
        return (x / (phi + self.eps).sqrt() * self.weight + self.bias).type_as(x)
""",
    "a numpy llama norm": """
import numpy as np

class RMSNorm:
    def __init__(self, weight, eps):
        self.weight, self.eps = weight, eps

    def __call__(self, x):
        z = (x ** 2).mean(-1, keepdims=True) + self.eps
        return x / np.sqrt(z) * self.weight
""",
    "a stable layer norm that divides by the maximum": """
class LayerNorm(nn.Module):
    def __init__(self, feats, stable=False, dim=-1):
        super().__init__()
        self.stable = stable
        self.dim = dim
        self.g = nn.Parameter(torch.ones(feats, *((1,) * (-dim - 1))))

    def forward(self, x):
        dtype, dim = x.dtype, self.dim
        if self.stable:
            x = x / x.amax(dim=dim, keepdim=True).detach()
        x = x.float()
        eps = 1e-5
        var = torch.var(x, dim=dim, unbiased=False, keepdim=True)
        mean = torch.mean(x, dim=dim, keepdim=True)
        return ((x - mean) * (var + eps).rsqrt()).type(dtype) * self.g.type(dtype)
""",
    "a test that compares with a reference": """
def test_rms_norm():
    x = torch.randn(4, 16)
    w = torch.randn(16)
    expected = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
    torch.testing.assert_close(F.rms_norm(x, (16,), w, 1e-6), expected)
""",
    "a time-series model that normalises its window": """
class Model(nn.Module):
    def __init__(self, configs):
        super().__init__()
        self.pred_len = configs.pred_len
        self.proj = nn.Linear(configs.seq_len, configs.pred_len)

    def forward(self, x_enc):
        means = x_enc.mean(1, keepdim=True).detach()
        x_enc = x_enc - means
        stdev = torch.sqrt(torch.var(x_enc, dim=1, keepdim=True, unbiased=False) + 1e-5)
        x_enc /= stdev
        dec_out = self.proj(x_enc.permute(0, 2, 1)).permute(0, 2, 1)
        dec_out = dec_out * stdev[:, 0, :].unsqueeze(1).repeat(1, self.pred_len, 1)
        return dec_out + means[:, 0, :].unsqueeze(1).repeat(1, self.pred_len, 1)
""",
    "a token-wise layer norm of one-dimensional activations by hand": '''
def layer_norm_1d(v, g, b, eps=1e-5):
    """One token's vector, shape (d,)."""
    assert v.ndim == 1
    f = v.float()
    m = f.mean()
    s = ((f - m) ** 2).mean()
    return ((f - m) / torch.sqrt(s + eps)).to(v.dtype) * g + b
''',
    "audio peaks": """
def loudness_normalize(wav: torch.Tensor, sample_rate: int, rms_target: float = 0.1):
    energy = torch.sqrt(torch.mean(wav ** 2, dim=-1, keepdim=True))
    return wav / energy.clamp(min=1e-4) * rms_target
""",
    "audio to a target rms": """
def normalize_audio(wav, target_db=-25.0, eps=1e-8):
    rms = wav.pow(2).mean().sqrt()
    return wav * (10 ** (target_db / 20) / (rms + eps))
""",
    "custom_fwd casts its inputs": """
class RMSNormFn(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, dy):
        return dy, None, None
""",
    "edm2 normalize of weights": """
import numpy as np
import torch

def normalize(x, dim=None, eps=1e-4):
    if dim is None:
        dim = list(range(1, x.ndim))
    norm = torch.linalg.vector_norm(x, dim=dim, keepdim=True, dtype=torch.float32)
    norm = torch.add(eps, norm, alpha=np.sqrt(norm.numel() / x.numel()))
    return x / norm.to(x.dtype)
""",
    "fp32 input demanded by an assertion": """
def rms_norm(x, w, eps=1e-6):
    assert x.dtype == torch.float32
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
""",
    "hidden states kept in fp32 on purpose and said so in the annotation": """
def rms_norm_fp32(x, w, eps=1e-6):
    h = x.float()
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * w.float()
""",
    "in-place ops on fresh tensors": """
def rms_norm(x, w, eps=1e-6):
    ms = x.float().pow_(2).mean(-1, keepdim=True) if x.dtype != torch.float32 else x.pow(2).mean(-1, keepdim=True)
    r = ms.add_(eps).rsqrt_()
    return (x.float() * r).to(x.dtype) * w
""",
    "normalize_2nd_moment of stylegan": """
def normalize_2nd_moment(x, dim=1, eps=1e-8):
    return x * (x.square().mean(dim=dim, keepdim=True) + eps).rsqrt()
""",
    "restormer bias-free and with-bias norms": """
import numbers
import torch
from torch import nn
from einops import rearrange

def to_3d(x):
    return rearrange(x, 'b c h w -> b (h w) c')

def to_4d(x, h, w):
    return rearrange(x, 'b (h w) c -> b c h w', h=h, w=w)

class BiasFree_LayerNorm(nn.Module):
    def __init__(self, normalized_shape):
        super(BiasFree_LayerNorm, self).__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        normalized_shape = torch.Size(normalized_shape)
        assert len(normalized_shape) == 1
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.normalized_shape = normalized_shape

    def forward(self, x):
        xf = x.float()
        sigma = xf.var(-1, keepdim=True, unbiased=False)
        return (xf / torch.sqrt(sigma + 1e-5) * self.weight).to(x.dtype)

class WithBias_LayerNorm(nn.Module):
    def __init__(self, normalized_shape):
        super(WithBias_LayerNorm, self).__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        normalized_shape = torch.Size(normalized_shape)
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.normalized_shape = normalized_shape

    def forward(self, x):
        xf = x.float()
        mu = xf.mean(-1, keepdim=True)
        sigma = xf.var(-1, keepdim=True, unbiased=False)
        return ((xf - mu) / torch.sqrt(sigma + 1e-5) * self.weight + self.bias).to(x.dtype)

class LayerNorm(nn.Module):
    def __init__(self, dim, LayerNorm_type):
        super(LayerNorm, self).__init__()
        if LayerNorm_type == 'BiasFree':
            self.body = BiasFree_LayerNorm(dim)
        else:
            self.body = WithBias_LayerNorm(dim)

    def forward(self, x):
        h, w = x.shape[-2:]
        return to_4d(self.body(to_3d(x)), h, w)
""",
    "reversible instance normalisation of time series": """
class RevIN(nn.Module):
    def __init__(self, num_features: int, eps=1e-5, affine=True):
        super(RevIN, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.affine = affine
        if self.affine:
            self.affine_weight = nn.Parameter(torch.ones(num_features))
            self.affine_bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x, mode: str):
        if mode == 'norm':
            self._get_statistics(x)
            x = self._normalize(x)
        elif mode == 'denorm':
            x = self._denormalize(x)
        else:
            raise NotImplementedError
        return x

    def _get_statistics(self, x):
        dim2reduce = tuple(range(1, x.ndim - 1))
        self.mean = torch.mean(x, dim=dim2reduce, keepdim=True).detach()
        self.stdev = torch.sqrt(torch.var(x, dim=dim2reduce, keepdim=True, unbiased=False) + self.eps).detach()

    def _normalize(self, x):
        x = x - self.mean
        x = x / self.stdev
        if self.affine:
            x = x * self.affine_weight
            x = x + self.affine_bias
        return x

    def _denormalize(self, x):
        if self.affine:
            x = x - self.affine_bias
            x = x / (self.affine_weight + self.eps * self.eps)
        x = x * self.stdev
        x = x + self.mean
        return x
""",
    "the copy keyword of to gives a fresh tensor": """
def rms_norm(x, w, eps=1e-6):
    h = x.to(torch.float32, copy=True)
    h *= torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return h.to(x.dtype) * w
""",
    "nodes centred over the graph, each of the same length": """
class PairNorm(nn.Module):
    def __init__(self, scale=1.0, eps=1e-5):
        super().__init__()
        self.scale, self.eps = scale, eps

    def forward(self, nodes):
        nodes = nodes - nodes.mean(dim=0, keepdim=True)
        return self.scale * nodes / (self.eps + nodes.norm(2, -1, keepdim=True))
""",
    "a transform that performs a standardisation": """
class Contrast(Transforms):
    def __call__(self, img):
        \"\"\"Performs a change of contrast.\"\"\"
        img = img - img.mean()
        return img / (img.std() + 1e-8)
""",
    "an optimizer's step without its scale": """
class Soap(torch.optim.Optimizer):
    def step(self, closure=None):
        \"\"\"Performs a single step.\"\"\"
        for p in self.params:
            update = p.grad / (1e-30 + torch.mean(p.grad**2) ** 0.5)
            p.add_(update, alpha=-self.lr)
""",
    "a prediction whose level is limited": """
def limited(x0, value):
    level = x0.pow(2).mean(1, keepdim=True).sqrt().clamp(min=value)
    return x0 * (value / level)
""",
    "a recording brought to a level": """
def levelled(x, eps=1e-8):
    x = x.float()
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)
""",
    "series centred and scaled over their steps": """
class Scaled(nn.Module):
    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        return (x - mean) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
""",
    "an encoder that is frozen, its output normalized with it": """
class Encoder(nn.Module):
    def __init__(self, model, frozen=True):
        super().__init__()
        self.model, self.frozen = model, frozen

    def forward(self, wav):
        if self.frozen:
            with torch.no_grad():
                return self.features(wav)
        return self.features(wav)

    def features(self, wav):
        out = self.model(wav)
        return F.layer_norm(out, out.shape[-1:])
""",
    "the whole norm without a gradient": """
class Frozen(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return h.to(x.dtype)
""",
}
