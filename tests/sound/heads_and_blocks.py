"""Sound: heads and blocks."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a mamba2 gated norm with groups": """
class RMSNormGated(nn.Module):
    def __init__(self, hidden_size, eps=1e-5, group_size=None, norm_before_gate=False):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.group_size = group_size or hidden_size
        self.norm_before_gate = norm_before_gate

    def forward(self, x, z=None):
        dtype = x.dtype
        x = x.float()
        if z is not None and not self.norm_before_gate:
            x = x * F.silu(z.float())
        groups = x.unflatten(-1, (-1, self.group_size))
        rstd = torch.rsqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        out = (groups * rstd).flatten(-2) * self.weight.float()
        if z is not None and self.norm_before_gate:
            out = out * F.silu(z.float())
        return out.to(dtype)
""",
    "a reference of a gated norm for a kernel test": """
from einops import rearrange
import torch
import torch.nn.functional as F


def rms_norm_ref(x, weight, bias, z=None, eps=1e-6, group_size=None, norm_before_gate=True, upcast=True):
    dtype = x.dtype
    weight = weight.float()
    bias = bias.float() if bias is not None else None
    if upcast:
        x = x.float()
        z = z.float() if z is not None else z
    if z is not None and not norm_before_gate:
        x = x * F.silu(z)
    if group_size is None:
        rstd = 1 / torch.sqrt((x.square()).mean(dim=-1, keepdim=True) + eps)
        out = (x * rstd * weight) + bias if bias is not None else (x * rstd * weight)
    else:
        x_group = rearrange(x, "... (g d) -> ... g d", d=group_size)
        rstd = 1 / torch.sqrt((x_group.square()).mean(dim=-1, keepdim=True) + eps)
        out = rearrange(x_group * rstd, "... g d -> ... (g d)") * weight
        if bias is not None:
            out = out + bias
    if z is not None and norm_before_gate:
        out *= F.silu(z)
    return out.to(dtype)
""",
    "whisper's layer norm": """
class LayerNorm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float()).type(x.dtype)
""",
    "a layer norm in fp32 with cast gains": """
class LayerNormFp32(nn.LayerNorm):
    def forward(self, x):
        output = F.layer_norm(
            x.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        )
        return output.type_as(x)
""",
    "nanogpt's layer norm": '''
class LayerNorm(nn.Module):
    """LayerNorm but with an optional bias."""

    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)
''',
    "a neox scale norm with a scalar": """
class ScaleNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.g = torch.nn.Parameter(torch.ones(1))
        self.eps = eps

    def forward(self, x):
        n = torch.norm(x, dim=-1, keepdim=True).clamp(min=self.eps)
        return x / n * self.g
""",
    "a partial rms norm over the first percent of the features": """
class PartialRMSNorm(nn.Module):
    def __init__(self, d, p=0.25, eps=1e-8, bias=False):
        super().__init__()
        self.eps = eps
        self.d = d
        self.p = p
        self.bias = bias
        self.scale = nn.Parameter(torch.ones(d))
        if self.bias:
            self.offset = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        partial_size = int(self.d * self.p)
        partial_x, _ = torch.split(x, [partial_size, self.d - partial_size], dim=-1)
        rms = (partial_x.pow(2).sum(-1, keepdim=True) / partial_size + self.eps).sqrt()
        normed = (x / rms).to(dtype)
        if self.bias:
            return self.scale * normed + self.offset
        return self.scale * normed
""",
    "a crms norm that knows the last feature": """
class CRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim + 1))

    def forward(self, x):
        h = x.float()
        last = -h.sum(dim=-1, keepdim=True)
        square_sum = h.square().sum(dim=-1, keepdim=True) + last.square()
        inv = torch.rsqrt(square_sum / (self.dim + 1) + self.eps)
        return (h * inv).to(x.dtype) * self.weight[:-1]
""",
    "layer norm on the gates of an lstm cell": """
class LayerNormLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.ih = nn.Linear(input_size, 4 * hidden_size, bias=False)
        self.hh = nn.Linear(hidden_size, 4 * hidden_size)
        self.gain = nn.Parameter(torch.ones(4, hidden_size))
        self.shift = nn.Parameter(torch.zeros(4, hidden_size))
        self.eps = 1e-5

    def norm(self, gates):
        g = gates.float()
        mu = g.mean(-1, keepdim=True)
        var = (g - mu).square().mean(-1, keepdim=True)
        return ((g - mu) / torch.sqrt(var + self.eps)).to(gates.dtype)

    def forward(self, x, state):
        h, c = state
        gates = (self.ih(x) + self.hh(h)).view(x.size(0), 4, -1)
        i, f, g, o = (self.norm(gates) * self.gain + self.shift).unbind(1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)
""",
    "a conditional layer norm with linear gains": """
class ConditionalLayerNorm(nn.Module):
    def __init__(self, dim, cond_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.to_gamma = nn.Linear(cond_dim, dim)
        self.to_beta = nn.Linear(cond_dim, dim)
        nn.init.zeros_(self.to_gamma.weight)
        nn.init.ones_(self.to_gamma.bias)
        nn.init.zeros_(self.to_beta.weight)
        nn.init.zeros_(self.to_beta.bias)

    def forward(self, x, cond):
        gamma = self.to_gamma(cond).unsqueeze(1)
        beta = self.to_beta(cond).unsqueeze(1)
        with torch.autocast(device_type=x.device.type, enabled=False):
            h = x.float()
            h = h - h.mean(dim=2, keepdim=True)
            h = h * (h.pow(2).mean(dim=2, keepdim=True) + self.eps).rsqrt()
        return gamma * h.to(x.dtype) + beta
""",
    "a norm spread over tensor-parallel ranks": """
import torch
import torch.distributed as dist
from torch import nn


class ParallelRMSNorm(nn.Module):
    def __init__(self, hidden_size, world_size, eps=1e-6, group=None):
        super().__init__()
        self.world_size = world_size
        self.group = group
        self.hidden_size = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size // world_size))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        square_sum = x.pow(2).sum(dim=-1, keepdim=True)
        dist.all_reduce(square_sum, op=dist.ReduceOp.SUM, group=self.group)
        x = x * torch.rsqrt(square_sum / self.hidden_size + self.eps)
        return x.to(dtype) * self.weight
""",
    "a vllm-like norm that averages the local means": """
class MiniMaxText01RMSNormTP(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.tp_world = get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.ones(int(hidden_size / self.tp_world)))
        self.variance_epsilon = eps

    def forward(self, x, residual=None):
        assert residual is None, "RMSNorm does not support residual connection."
        orig_dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(dim=-1, keepdim=True, dtype=torch.float32)
        if self.tp_world > 1:
            variance = tensor_model_parallel_all_reduce(variance) / self.tp_world
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        weight = self.weight
        if x.size(-1) != self.weight.size(0):
            weight = self.weight[: x.size(-1)]
        return x.to(orig_dtype) * weight
""",
    "global response normalisation of convnext v2": '''
class GRN(nn.Module):
    """Global response normalisation."""

    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, 1, dim))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, dim))

    def forward(self, x):
        Gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        Nx = Gx / (Gx.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * Nx) + self.beta + x
''',
    "a convnext layer norm with two formats": """
class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-6, data_format="channels_last"):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps
        self.data_format = data_format
        if self.data_format not in ["channels_last", "channels_first"]:
            raise NotImplementedError
        self.normalized_shape = (normalized_shape,)

    def forward(self, x):
        if self.data_format == "channels_last":
            return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        elif self.data_format == "channels_first":
            dtype = x.dtype
            x = x.float()
            u = x.mean(1, keepdim=True)
            s = (x - u).pow(2).mean(1, keepdim=True)
            x = ((x - u) / torch.sqrt(s + self.eps)).to(dtype)
            return self.weight[:, None, None] * x + self.bias[:, None, None]
""",
    "a qk norm with gains per head in an mmdit block": """
class HeadRMSNorm(nn.Module):
    def __init__(self, num_heads, head_dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_heads, 1, head_dim))

    def forward(self, x):
        rrms = torch.rsqrt(torch.mean(x.float() ** 2, dim=-1, keepdim=True) + self.eps)
        return (x.float() * rrms).to(dtype=x.dtype) * self.weight.to(x.dtype)


class JointAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_img = nn.Linear(dim, 3 * dim)
        self.qkv_txt = nn.Linear(dim, 3 * dim)
        self.q_norm = HeadRMSNorm(num_heads, dim // num_heads)
        self.k_norm = HeadRMSNorm(num_heads, dim // num_heads)
        self.proj = nn.Linear(dim, dim)

    def forward(self, img, txt):
        b, n, d = img.shape
        m = txt.shape[1]
        qkv = torch.cat([self.qkv_txt(txt), self.qkv_img(img)], dim=1)
        q, k, v = qkv.view(b, m + n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v)
        out = self.proj(out.transpose(1, 2).reshape(b, m + n, d))
        return out[:, m:], out[:, :m]
""",
    "an rms norm of all heads at once in olmo2 style": """
class QKNormAttention(nn.Module):
    def __init__(self, dim, heads, eps=1e-6):
        super().__init__()
        self.heads = heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.q_gain = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        q = self.wq(x)
        q32 = q.float()
        q = (q32 * torch.rsqrt(q32.pow(2).mean(-1, keepdim=True) + self.eps) * self.q_gain.float()).to(q.dtype)
        return q.unflatten(-1, (self.heads, -1)).transpose(1, 2)
""",
    "layer norm as a function of a shape": """
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    dims = tuple(range(-len(normalized_shape), 0))
    h = x.float()
    mean = h.mean(dim=dims, keepdim=True)
    var = h.var(dim=dims, keepdim=True, unbiased=False)
    out = (h - mean) * torch.rsqrt(var + eps)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out.to(x.dtype)
""",
    "a deepnorm residual with its own norm": """
class DeepNorm(nn.Module):
    def __init__(self, dim, layers, eps=1e-5):
        super().__init__()
        self.alpha = (2 * layers) ** 0.25
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x, sublayer):
        y = (self.alpha * x + sublayer).float()
        var, mean = torch.var_mean(y, dim=-1, keepdim=True, correction=0)
        y = (y - mean) / (var + self.eps).sqrt()
        return y.to(x.dtype) * self.gamma + self.beta
""",
    "a dit modulation around a parameter-free norm": """
def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(dim, 3 * dim))
        nn.init.zeros_(self.ada[-1].weight)
        nn.init.zeros_(self.ada[-1].bias)
        self.mlp = nn.Linear(dim, dim)

    @staticmethod
    def _ln(x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        return (h / (h.square().mean(-1, keepdim=True) + 1e-6).sqrt()).to(x.dtype)

    def forward(self, x, c):
        shift, scale, gate = self.ada(c).chunk(3, dim=-1)
        return x + gate.unsqueeze(1) * self.mlp(modulate(self._ln(x), shift, scale))
""",
}
