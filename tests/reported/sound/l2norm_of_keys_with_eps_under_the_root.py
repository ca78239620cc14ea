# report: fla-org/flash-linear-attention, huggingface/transformers#40842, unslothai/llama.cpp#156
# why: an L2 norm sums, and keeps eps under its root
# run: l2norm
# reference: x * (x.pow(2).sum(-1, keepdim=True) + 1e-6).rsqrt()
import torch
import torch.nn.functional as F


def l2norm(x: torch.FloatTensor, dim: int = -1, eps: float = 1e-6):
    """Unit vectors, as the fused kernel makes them."""
    inv_norm = torch.rsqrt((x * x).sum(dim=dim, keepdim=True) + eps)
    return x * inv_norm


def torch_chunk_gated_delta_rule(query, key, value, g, beta, use_qk_l2norm_in_kernel=False):
    initial_dtype = query.dtype
    if use_qk_l2norm_in_kernel:
        query = l2norm(query, dim=-1, eps=1e-6)
        key = l2norm(key, dim=-1, eps=1e-6)
    query, key, value, beta, g = [
        x.transpose(1, 2).contiguous().to(torch.float32) for x in (query, key, value, beta, g)
    ]
    scale = 1 / (query.shape[-1] ** 0.5)
    attn = (query * scale) @ key.transpose(-1, -2)
    return (F.softmax(attn * beta.unsqueeze(-1), dim=-1) @ value).transpose(1, 2).to(initial_dtype)
