"""Sound: frameworks and kernels."""

from __future__ import annotations

CASES: dict[str, str] = {
    "an einops layer norm over channels and a named axis": """
import torch
from einops import rearrange, reduce
from torch import nn


class ChanNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x32 = x.float()
        mean = reduce(x32, "b c h w -> b 1 h w", "mean")
        var = reduce((x32 - mean) ** 2, "b c h w -> b 1 h w", "mean")
        out = (x32 - mean) * (var + self.eps).rsqrt()
        return out.type(x.dtype) * rearrange(self.g, "c -> 1 c 1 1")
""",
    "a flax rms norm": """
import flax.linen as nn
import jax
import jax.numpy as jnp


class RMSNorm(nn.Module):
    dim: int
    eps: float = 1e-6
    dtype: jnp.dtype = jnp.float32

    def setup(self):
        self.weight = self.param("kernel", nn.initializers.ones, (self.dim,))

    def _norm(self, x):
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + self.eps)

    def __call__(self, x):
        x = x.astype(jnp.promote_types(self.dtype, jnp.float32))
        output = self._norm(x).astype(self.dtype)
        return output * jnp.asarray(self.weight, self.dtype)
""",
    "a keras layer normalisation": """
import tensorflow as tf


class LayerNormalization(tf.keras.layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(name="gamma", shape=shape[-1:], initializer="ones")
        self.beta = self.add_weight(name="beta", shape=shape[-1:], initializer="zeros")

    def call(self, x):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        var = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return self.gamma * (x - mean) * tf.math.rsqrt(var + 1e-6) + self.beta
""",
    "an mlx module with a norm of its own": """
import mlx.core as mx
import mlx.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dims, eps=1e-5):
        super().__init__()
        self.weight = mx.ones((dims,))
        self.eps = eps

    def _norm(self, x):
        return x * mx.rsqrt(x.square().mean(-1, keepdims=True) + self.eps)

    def __call__(self, x):
        output = self._norm(x.astype(mx.float32)).astype(x.dtype)
        return self.weight * output
""",
    "a subject-wise norm in tinygrad": """
from tinygrad import Tensor, nn


class RMSNorm:
    def __init__(self, dim, eps=1e-6):
        self.eps = eps
        self.weight = Tensor.ones(dim)

    def _norm(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()

    def __call__(self, x):
        return self._norm(x.float()).cast(x.dtype) * self.weight
""",
    "an fp32 residual add followed by the norm, vllm's native way": """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6, var_hidden_size=None):
        super().__init__()
        self.hidden_size = hidden_size
        self.variance_epsilon = eps
        self.variance_size_override = None if var_hidden_size == hidden_size else var_hidden_size
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward_native(self, x, residual=None):
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        if residual is not None:
            x = x + residual.to(torch.float32)
            residual = x.to(orig_dtype)
        hidden_size = x.shape[-1]
        if hidden_size != self.hidden_size:
            raise ValueError(f"Expected hidden_size to be {self.hidden_size}, but found: {hidden_size}")
        if self.variance_size_override is None:
            x_var = x
        else:
            if hidden_size < self.variance_size_override:
                raise ValueError("too small")
            x_var = x[:, :, : self.variance_size_override]
        variance = x_var.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        x = x.to(orig_dtype)
        if self.weight is not None:
            x = x * self.weight
        if residual is None:
            return x
        return x, residual
""",
    "a gemma norm compiled as a static method": """
class GemmaRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    @staticmethod
    def forward_static(weight, variance_epsilon, x, residual):
        orig_dtype = x.dtype
        if residual is not None:
            x = x.float() + residual.float() if orig_dtype == torch.float16 else x + residual
            residual = x
        x = x.float()
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + variance_epsilon)
        x = x * (1.0 + weight.float())
        x = x.to(orig_dtype)
        return x if residual is None else (x, residual)

    def forward_native(self, x, residual=None):
        return self.forward_static(self.weight.data, self.variance_epsilon, x, residual)

    def forward_cuda(self, x, residual=None):
        if torch.compiler.is_compiling():
            return self.forward_native(x, residual)
        if not getattr(self, "_is_compiled", False):
            self.forward_static = torch.compile(self.forward_static)
            self._is_compiled = True
        return self.forward_native(x, residual)
""",
    "a pytorch reference beside a triton kernel in a test": """
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def _rms_kernel(X, W, Y, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < N, other=0.0).to(tl.float32)
    var = tl.sum(x * x, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    w = tl.load(W + cols, mask=cols < N)
    tl.store(Y + row * stride + cols, x * rstd * w, mask=cols < N)


def torch_rms_norm(x, w, eps=1e-6):
    x32 = x.to(torch.float32)
    return (x32 * torch.rsqrt(x32.pow(2).mean(-1, True) + eps) * w.to(torch.float32)).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rms(dtype):
    x = torch.randn(64, 4096, device="cuda", dtype=dtype)
    w = torch.randn(4096, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    _rms_kernel[(64,)](x, w, y, x.stride(0), 4096, 1e-6, BLOCK=4096)
    torch.testing.assert_close(y, torch_rms_norm(x, w), atol=1e-2, rtol=1e-2)
""",
    "an autograd function with saved statistics": """
class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        x32 = x.float()
        rstd = torch.rsqrt(x32.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return (x32 * rstd).to(x.dtype) * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        x32, dy32 = x.float(), dy.float()
        xhat = x32 * rstd
        dxhat = dy32 * weight.float()
        dx = rstd * (dxhat - xhat * (dxhat * xhat).mean(-1, keepdim=True))
        dw = (dy32 * xhat).flatten(0, -2).sum(0)
        return dx.to(x.dtype), dw.to(weight.dtype), None
""",
    "a cosine similarity attention with a learned temperature": """
class CosineAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(heads, 1, 1)))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        q = q / q.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        k = k / k.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        attn = q @ k.transpose(-2, -1) * self.logit_scale.clamp(max=4.6052).exp()
        return attn.softmax(-1) @ v
""",
    "ngpt's unit norms": """
def justnorm(x, idim=-1):
    dtype = x.dtype
    x = x.float()
    return (x / x.norm(p=2, dim=idim, keepdim=True)).to(dtype=dtype)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim, bias=False)
        self.attn_alpha = nn.Parameter(0.05 * torch.ones(dim))

    def forward(self, h):
        lr = torch.abs(self.attn_alpha)
        a = justnorm(h)
        b = justnorm(self.proj(h))
        return justnorm(a + lr * (b - a))
""",
    "a rwkv group norm over heads": """
class TimeMixOut(nn.Module):
    def __init__(self, heads, head_size):
        super().__init__()
        self.heads = heads
        self.ln_x = nn.GroupNorm(heads, heads * head_size, eps=64e-5)
        self.output = nn.Linear(heads * head_size, heads * head_size, bias=False)

    def forward(self, x, g):
        b, t, c = x.shape
        x = self.ln_x(x.view(b * t, c)).view(b, t, c)
        return self.output(x * g)
""",
    "a retnet group rms norm without a gain": """
class MultiScaleRetention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.g_proj = nn.Linear(dim, dim)
        self.out_proj = nn.Linear(dim, dim)

    def _group_norm(self, y, eps=1e-6):
        y32 = y.float()
        return (y32 / torch.sqrt(torch.mean(torch.square(y32), dim=-1, keepdim=True) + eps)).to(y)

    def forward(self, x, retention):
        b, n, d = x.shape
        y = self._group_norm(retention.view(b, n, self.heads, d // self.heads))
        return self.out_proj(F.silu(self.g_proj(x)) * y.reshape(b, n, d))
""",
    "a zero-centred gated norm of qwen3-next": """
class Qwen3NextRMSNormGated(nn.Module):
    def __init__(self, hidden_size, eps=1e-6, **kwargs):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states, gate=None):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        hidden_states = self.weight * hidden_states.to(input_dtype)
        hidden_states = hidden_states * F.silu(gate.to(torch.float32))
        return hidden_states.to(input_dtype)
""",
    "peri-ln around a sublayer with a shared function": """
def rms(x, gain, eps=1e-5):
    var = x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True)
    return (x.to(torch.float32) * torch.rsqrt(var + eps)).to(x.dtype) * gain


class PeriBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pre, self.post = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.ones(dim))
        self.ffn = nn.Linear(dim, dim)

    def forward(self, x):
        return x + rms(self.ffn(rms(x, self.pre)), self.post)
""",
    "dynamic tanh in place of a norm": """
class DynamicTanh(nn.Module):
    def __init__(self, normalized_shape, alpha_init_value=0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha_init_value)
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        return torch.tanh(self.alpha * x) * self.weight + self.bias
""",
    "a biasnorm of zipformer": """
class BiasNorm(nn.Module):
    def __init__(self, num_channels, channel_dim=-1, log_scale=1.0):
        super().__init__()
        self.channel_dim = channel_dim
        self.log_scale = nn.Parameter(torch.tensor(log_scale))
        self.bias = nn.Parameter(torch.empty(num_channels).normal_(mean=0, std=1e-4))

    def forward(self, x):
        bias = self.bias
        dim = self.channel_dim if self.channel_dim >= 0 else self.channel_dim + x.ndim
        for _ in range(dim + 1, x.ndim):
            bias = bias.unsqueeze(-1)
        scales = (torch.mean((x.float() - bias) ** 2, dim=self.channel_dim, keepdim=True) ** -0.5).to(x.dtype)
        return x * scales * self.log_scale.exp()
""",
    "the basic norm of icefall with a learned eps": """
class BasicNorm(nn.Module):
    def __init__(self, num_channels, channel_dim=-1, eps=0.25):
        super().__init__()
        self.num_channels = num_channels
        self.channel_dim = channel_dim
        self.eps = nn.Parameter(torch.tensor(eps).log().detach())

    def forward(self, x):
        scales = (torch.mean(x.float() ** 2, dim=self.channel_dim, keepdim=True) + self.eps.exp()) ** -0.5
        return (x * scales).to(x.dtype)
""",
    "a masked layer norm over valid features": """
class MaskedLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, mask):
        h = x.float()
        m = mask.float()
        count = m.sum(-1, keepdim=True).clamp(min=1)
        mean = (h * m).sum(-1, keepdim=True) / count
        var = (((h - mean) * m) ** 2).sum(-1, keepdim=True) / count
        return ((h - mean) * m * torch.rsqrt(var + self.eps)).to(x.dtype) * self.weight
""",
    "a channel norm in rank-agnostic spelling": """
class LayerNormNd(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        shape = (1, -1) + (1,) * (x.ndim - 2)
        h = x.float()
        h = h - h.mean(1, keepdim=True)
        h = h * torch.rsqrt((h * h).mean(1, keepdim=True) + self.eps)
        return h.to(x.dtype) * self.gamma.view(*shape) + self.beta.view(*shape)
""",
    "a norm that promotes by an fp64 path on the cpu": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim))
        else:
            self.register_parameter("weight", None)

    def forward(self, x):
        wide = x.double() if x.device.type == "cpu" else x.float()
        out = wide.mul(wide.square().mean(-1, keepdim=True).add(self.eps).rsqrt()).type_as(x)
        return out if self.weight is None else out * self.weight
""",
    "root mean square by linalg with dtype": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.dim = dim
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        inv = torch.rsqrt(norm.square() / self.dim + self.eps)
        return (x * inv).to(x.dtype) * self.weight
""",
    "weight standardised convolution": """
class WSConv2d(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        weight = self.weight
        mean = weight.mean(dim=(1, 2, 3), keepdim=True)
        var = weight.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
        weight = (weight - mean) * (var + eps).rsqrt()
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
""",
    "a norm of a project that has tensors of its own and a name like torch's": """
import cupy as cp
from mytorch import _ops
from mytorch.tensor import Tensor

def rms_norm(input: Tensor, weight=None, eps=1e-6):
    result = input * ((input * input).mean(-1, keepdim=True) + eps).rsqrt()
    return result if weight is None else result * weight
""",
    "norms of another library's nn, whose eps has another default": """
from dataclasses import dataclass

import mlx.nn as nn

@dataclass
class Config:
    dim: int = 4096
    rank: int = 512
    norm_eps: float = 1e-5

class Attention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.q_norm = nn.RMSNorm(config.rank, eps=config.norm_eps)
        self.kv_norm = nn.RMSNorm(config.rank)
""",
}
