"""Sound: heads and blocks more."""

from __future__ import annotations

CASES: dict[str, str] = {
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
