import torch


class T5Norm(torch.nn.Module):
    def __init__(self, model_dim: int, layer_norm_epsilon: float = 1e-6, dtype=torch.float32):
        super().__init__()
        self.variance_epsilon = layer_norm_epsilon
        self.weight = torch.nn.Parameter(torch.ones((model_dim,), dtype=dtype))

    def forward(self, hidden_states: torch.Tensor):
        hidden = hidden_states.to(dtype=torch.float32)
        scale = torch.rsqrt(hidden.pow(2).mean(dim=-1, keepdim=True) + self.variance_epsilon)
        hidden = hidden * scale
        if self.weight.dtype in (torch.float16, torch.bfloat16):
            hidden = hidden.to(self.weight.dtype)
        return (self.weight * hidden).to(hidden_states.dtype)
