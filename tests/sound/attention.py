"""Sound: attention."""

from __future__ import annotations

CASES: dict[str, str] = {
    "per-head qk norm with reshape": """
class Attention(nn.Module):
    def __init__(self, dim, heads, eps=1e-6):
        super().__init__()
        self.heads, self.head_dim, self.eps = heads, dim // heads, eps
        self.qkv = nn.Linear(dim, 3 * dim)
        self.q_w = nn.Parameter(torch.ones(self.head_dim))
        self.k_w = nn.Parameter(torch.ones(self.head_dim))

    def _qk_norm(self, t, w):
        f = t.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(t) * w

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self._qk_norm(q, self.q_w), self._qk_norm(k, self.k_w)
        o = F.scaled_dot_product_attention(q, k, v)
        return o.transpose(1, 2).reshape(b, n, d)
""",
    "l2 qk norm with a learned temperature": """
class CosineAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones((heads, 1, 1))))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        scale = torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        return ((attn * scale).softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)
""",
    "restormer's transposed attention with l2 norms over pixels": """
from einops import rearrange
import torch
from torch import nn

class MDTA(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.temperature = nn.Parameter(torch.ones(num_heads, 1, 1))
        self.qkv = nn.Conv2d(dim, dim * 3, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=1)
        q = rearrange(q, 'b (head c) h w -> b head c (h w)', head=self.num_heads)
        k = rearrange(k, 'b (head c) h w -> b head c (h w)', head=self.num_heads)
        v = rearrange(v, 'b (head c) h w -> b head c (h w)', head=self.num_heads)
        q = torch.nn.functional.normalize(q, dim=-1)
        k = torch.nn.functional.normalize(k, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        return attn.softmax(dim=-1) @ v
""",
    "qk norm over all heads before the split": """
class Olmo2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.q_norm = Olmo2RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.k_norm = Olmo2RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.head_dim = config.hidden_size // config.heads

    def forward(self, h):
        q = self.q_norm(self.q_proj(h)).view(*h.shape[:-1], -1, self.head_dim).transpose(1, 2)
        k = self.k_norm(self.k_proj(h)).view(*h.shape[:-1], -1, self.head_dim).transpose(1, 2)
        return q @ k.transpose(-1, -2)

class Olmo2RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return (self.weight * hidden_states).to(input_dtype)
""",
    "nGPT: unit vectors and learned scales": """
class NGPTBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attn = nn.Linear(config.n_embd, config.n_embd)
        self.attn_alpha_init_value = 0.05
        self.attn_alpha_init_scaling = config.base_scale
        self.attn_alpha = nn.Parameter(self.attn_alpha_init_scaling * torch.ones(config.n_embd))

    def justnorm(self, x):
        return x / x.norm(p=2, dim=-1, keepdim=True)

    def forward(self, h):
        h_att = self.attn(h)
        lr = torch.abs(self.attn_alpha * (self.attn_alpha_init_value / self.attn_alpha_init_scaling))
        A_norm = self.justnorm(h)
        B_norm = self.justnorm(h_att)
        return self.justnorm(A_norm + lr * (B_norm - A_norm))
""",
    "rotary attention with an l2 norm of queries as in delta net": '''
def l2norm(x: torch.FloatTensor, dim: int = -1, eps: float = 1e-6):
    """This function is intended to align with the l2norm implementation in the FLA library."""
    inv_norm = torch.rsqrt((x * x).sum(dim=dim, keepdim=True) + eps)
    return x * inv_norm
''',
    "l2norm in a gated delta rule with state updates": """
def l2norm(x, dim=-1, eps=1e-6):
    return x * torch.rsqrt((x * x).sum(dim=dim, keepdim=True) + eps)

def torch_recurrent_gated_delta_rule(query, key, value, g, beta, use_qk_l2norm=False):
    initial_dtype = query.dtype
    if use_qk_l2norm:
        query = l2norm(query, dim=-1, eps=1e-6)
        key = l2norm(key, dim=-1, eps=1e-6)
    query, key, value, beta, g = [
        x.transpose(1, 2).contiguous().to(torch.float32) for x in (query, key, value, beta, g)
    ]
    scale = 1 / (query.shape[-1] ** 0.5)
    query = query * scale
    out = torch.zeros_like(value)
    state = torch.zeros(1, 1, key.shape[-1], value.shape[-1])
    for i in range(query.shape[2]):
        k_t = key[:, :, i]
        state = state * g[:, :, i].exp()[..., None, None]
        kv = (state * k_t.unsqueeze(-1)).sum(dim=-2)
        delta = (value[:, :, i] - kv) * beta[:, :, i].unsqueeze(-1)
        state = state + k_t.unsqueeze(-1) * delta.unsqueeze(-2)
        out[:, :, i] = (state * query[:, :, i].unsqueeze(-1)).sum(dim=-2)
    return out.to(initial_dtype)
""",
    "a differential attention sub-norm": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elementwise_affine=True, memory_efficient=False):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if self.elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim))
        else:
            self.register_parameter('weight', None)

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        if self.weight is not None:
            output = output * self.weight
        return output
""",
    "a block that scales by depth after its norm": """
class Block(nn.Module):
    def __init__(self, dim, depth, eps=1e-5):
        super().__init__()
        self.scale = 1 / math.sqrt(2 * depth)
        self.eps = eps
        self.norm_weight = nn.Parameter(torch.ones(dim))
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def norm(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.norm_weight

    def forward(self, x):
        return x + self.scale * self.ff(self.norm(x))
""",
}
