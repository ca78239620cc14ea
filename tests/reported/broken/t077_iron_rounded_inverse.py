# report: amd/IRON#139
# codes: NRM205
# why: the inverse RMS is rounded to bf16 before the product
# run: lambda x: reference_rms_norm(x.bfloat16(), torch.ones(24).bfloat16()).float()
# reference: rms(x.bfloat16().double(), 1e-5)
# shows: bf16-rows
import torch


def reference_rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """What the operator of the NPU computes."""
    x_f32 = x.to(torch.float32)
    mean_sq = (x_f32 * x_f32).mean(dim=-1, keepdim=True)
    inv_rms = torch.rsqrt(mean_sq + eps).to(x.dtype)
    return x * inv_rms * weight


def generate_golden(rows: int, cols: int, seed: int = 42):
    torch.manual_seed(seed)
    x = torch.rand(rows, cols, dtype=torch.bfloat16) * 4
    w = torch.rand(cols, dtype=torch.bfloat16)
    return {"input": x, "weight": w, "output": reference_rms_norm(x, w)}
