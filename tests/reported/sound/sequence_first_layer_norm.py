# report: mlfoundations/open_clip#603, facebookresearch/fairseq#4322
# why: (seq, batch, dim) or (batch, seq, dim): only the last axis matters
# run: LayerNormFp32(24)
# reference: layer(x, 1e-5)
import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerNormFp32(nn.LayerNorm):
    """A layer norm that computes in float32 whatever comes in."""

    def forward(self, x: torch.Tensor):
        orig_type = x.dtype
        x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.to(orig_type)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model: int, n_head: int):
        super().__init__()
        self.ln_1 = LayerNormFp32(d_model)
        self.attn = nn.MultiheadAttention(d_model, n_head)

    def forward(self, x: torch.Tensor):
        # NLD -> LND
        x = x.permute(1, 0, 2)
        h = self.ln_1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x.permute(1, 0, 2)
