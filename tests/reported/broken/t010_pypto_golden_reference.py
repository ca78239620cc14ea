# report: hw-native-sys/pypto-lib#111
# codes: NRM401|NRM402
# why: x * variance; the golden reference has the same error as the kernel
# run: lambda x: golden_rms_norm({"x": x, "gamma": torch.ones(24)}, {"epsilon": 1e-6})
# reference: rms(x, 1e-6)
# shows: values
from typing import Any, Dict

import torch


def golden_rms_norm(tensors: Dict[str, torch.Tensor], params: Dict[str, Any]) -> torch.Tensor:
    """What the kernel has to give for a tile."""
    x = tensors["x"].to(torch.float32)
    gamma = tensors["gamma"].to(torch.float32)
    epsilon = params.get("epsilon", 1e-6)

    variance = torch.mean(torch.mul(x, x), dim=-1, keepdim=True) + epsilon
    normed = torch.mul(x, variance)
    return torch.mul(normed, gamma).to(tensors["x"].dtype)


def tolerance(dtype: torch.dtype) -> float:
    return 1e-5 if dtype == torch.float32 else 2e-2
