"""Sound: structures."""

from __future__ import annotations

CASES: dict[str, str] = {
    "statistics reported by a hook": """
def hook(module, inputs, output):
    rms = output.float().pow(2).mean().sqrt().item()
    stats[module].append(rms)
    print(f"rms {rms:.3f}")
""",
    "a noisy norm": """
class NoisyRMSNorm(nn.Module):
    def __init__(self, dim, sigma=0.1, eps=1e-6):
        super().__init__()
        self.sigma, self.eps = sigma, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.training:
            h = h + torch.randn_like(h) * self.sigma
        return h.type_as(x) * self.weight
""",
    "crms norm of a vector without its last component": """
class CRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        last = -h.sum(-1, keepdim=True)
        ms = (h.square().sum(-1, keepdim=True) + last.square()) / (self.dim + 1)
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.scale
""",
    "a power norm with a learned exponent": """
class PowerScale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.p = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x.abs().clamp_min(1e-6).pow(self.p) * x.sign()
""",
    "a film layer after a norm": """
class FiLM(nn.Module):
    def __init__(self, dim, cond, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.to_scale_shift = nn.Linear(cond, 2 * dim)

    def forward(self, x, c):
        scale, shift = self.to_scale_shift(c).unsqueeze(1).chunk(2, -1)
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return h * (1 + scale) + shift
""",
    "a layer norm through torch.ops and a fallback in eval": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.variance_epsilon = eps

    def forward_cuda(self, x, residual=None):
        from vllm import _custom_ops as ops
        if residual is not None:
            ops.fused_add_rms_norm(x, residual, self.weight.data, self.variance_epsilon)
            return x, residual
        out = torch.empty_like(x)
        ops.rms_norm(out, x, self.weight.data, self.variance_epsilon)
        return out

    def forward_native(self, x, residual=None):
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        if residual is not None:
            x = x + residual.to(torch.float32)
            residual = x.to(orig_dtype)
        x_var = x
        variance = x_var.pow(2).mean(dim=-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        x = x.to(orig_dtype)
        x = x * self.weight
        return x if residual is None else (x, residual)
""",
    "a static method for torch compile in vllm's gemma": """
class GemmaRMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    @staticmethod
    def forward_static(weight, variance_epsilon, x, residual):
        orig_dtype = x.dtype
        if residual is not None:
            x = x + residual.float() if orig_dtype == torch.float16 else x + residual
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
    "a rwkv group norm of heads with a manual gain": """
def head_norm(x, weight, bias, heads, eps=64e-5):
    b, t, c = x.shape
    return F.group_norm(x.view(b * t, c), heads, weight, bias, eps).view(b, t, c)
""",
    "a triton kernel": """
import triton
import triton.language as tl

@triton.jit
def _rms_norm_fwd(X, Y, W, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    var = tl.sum(x * x, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    w = tl.load(W + cols, mask=mask)
    tl.store(Y + row * stride + cols, x * rstd * w, mask=mask)
""",
    "a jax norm": """
import jax
import jax.numpy as jnp

def rms_norm(x, w, eps=1e-6):
    var = jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True)
    return (x * jax.lax.rsqrt(var + eps)).astype(x.dtype) * w
""",
    "a flax module": """
import flax.linen as nn
import jax.numpy as jnp
from jax import lax

class RMSNorm(nn.Module):
    eps: float = 1e-6

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        var = jnp.mean(lax.square(x), axis=-1, keepdims=True)
        return x * lax.rsqrt(var + self.eps) * scale
""",
    "a tinygrad norm": """
from tinygrad import Tensor

class RMSNorm:
    def __init__(self, dim, eps=1e-6):
        self.eps = eps
        self.weight = Tensor.ones(dim)

    def _norm(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()

    def __call__(self, x):
        return self._norm(x.float()).cast(x.dtype) * self.weight
""",
    "an mlx norm": """
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
    "a keras layer": """
import keras
from keras import ops

class RMSNorm(keras.layers.Layer):
    def __init__(self, eps=1e-6, **kw):
        super().__init__(**kw)
        self.eps = eps

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x):
        h = ops.cast(x, "float32")
        var = ops.mean(ops.square(h), axis=-1, keepdims=True)
        return ops.cast(h * ops.rsqrt(var + self.eps), x.dtype) * self.scale
""",
    "a tensorflow layer norm": """
import tensorflow as tf

class LayerNorm(tf.keras.layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight("gamma", shape[-1:], initializer="ones")
        self.beta = self.add_weight("beta", shape[-1:], initializer="zeros")

    def call(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(var + 1e-6) * self.gamma + self.beta
""",
    "a paddle norm": """
import paddle
import paddle.nn as nn

class RMSNorm(nn.Layer):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = paddle.create_parameter([dim], "float32", default_initializer=nn.initializer.Constant(1.0))
        self.eps = eps

    def forward(self, x):
        with paddle.amp.auto_cast(False):
            h = x.astype("float32")
            var = h.pow(2).mean(-1, keepdim=True)
            h = paddle.rsqrt(var + self.eps) * h
        return h.astype(x.dtype) * self.weight
""",
    "a megatron norm with sequence parallel flags": """
class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6, sequence_parallel: bool = False, apply_layernorm_1p: bool = False):
        super().__init__()
        self.eps = eps
        self.apply_layernorm_1p = apply_layernorm_1p
        self.weight = torch.nn.Parameter(torch.zeros(dim) if apply_layernorm_1p else torch.ones(dim))
        setattr(self.weight, "sequence_parallel", sequence_parallel)

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        weight = self.weight + 1 if self.apply_layernorm_1p else self.weight
        return output * weight
""",
    "a norm with weights cast to the parameter dtype": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, cast_back="weight"):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = self.weight.dtype
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.to(dtype) * self.weight
""",
}
