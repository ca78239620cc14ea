# report: flagos-ai/FlagPerf#683
# codes: NRM504
# why: the gain is torch.empty and nothing fills it
# run: GLMBlock(24).input_layernorm
# reference: None
# shows: filled
import torch


class RMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, device=None, dtype=None, **kwargs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(normalized_shape, device=device, dtype=dtype))
        self.eps = eps

    def forward(self, hidden_states: torch.Tensor):
        input_dtype = hidden_states.dtype
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.eps)

        return (self.weight * hidden_states).to(input_dtype)


class GLMBlock(torch.nn.Module):
    """A single transformer layer: takes [s, b, h] and gives back the same."""

    def __init__(self, hidden_size, layernorm_epsilon=1e-5, device=None):
        super(GLMBlock, self).__init__()
        self.input_layernorm = RMSNorm(hidden_size, eps=layernorm_epsilon, device=device)
        self.mlp = torch.nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states):
        return hidden_states + self.mlp(self.input_layernorm(hidden_states))
