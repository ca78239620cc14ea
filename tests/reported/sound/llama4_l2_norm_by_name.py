# report: huggingface/transformers#37934, meta-llama/llama-models#311
# why: an RMS norm that is called L2Norm
# run: Llama4TextL2Norm()
# reference: rms(x, 1e-6)
import torch
from torch import nn


class Llama4TextL2Norm(nn.Module):
    def __init__(self, eps: float = 1e-6):
        super().__init__()
        self.eps = eps

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x)

    def extra_repr(self):
        return f"eps={self.eps}"
