from typing import Any, Dict

import torch


def golden_rms_norm(tensors: Dict[str, torch.Tensor], params: Dict[str, Any]) -> torch.Tensor:
    """What the kernel has to give for a tile."""
    x = tensors["x"].to(torch.float32)
    gamma = tensors["gamma"].to(torch.float32)
    epsilon = params.get("epsilon", 1e-6)

    variance = torch.mean(torch.mul(x, x), dim=-1, keepdim=True) + epsilon
    normed = torch.mul(x, torch.rsqrt(variance))
    return torch.mul(normed, gamma).to(tensors["x"].dtype)


def tolerance(dtype: torch.dtype) -> float:
    return 1e-5 if dtype == torch.float32 else 2e-2
