"""Sound: what was called wrong in repositories that nobody had read before."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a window with a learned scale that the first item of its deviation undoes": """
class Forecast(nn.Module):
    def __init__(self, n, horizon):
        super().__init__()
        self.horizon = horizon
        self.scale = nn.Parameter(torch.ones(1, 1, n))
        self.offset = nn.Parameter(torch.zeros(1, 1, n))
        self.body = nn.Linear(n, n)

    def forward(self, x):
        mean = x.float().mean(1, keepdim=True).detach()
        centred = x.float() - mean
        std = torch.sqrt(centred.var(dim=1, keepdim=True, unbiased=False) + 1e-5)
        out = self.body((centred / std * self.scale + self.offset).type_as(x))
        out = (out - self.offset) / (self.scale + 1e-10)
        out = out * std[:, 0, :].unsqueeze(1).repeat(1, self.horizon, 1)
        return out + mean[:, 0, :].unsqueeze(1).repeat(1, self.horizon, 1)
""",
    "a norm of what another function made a bfloat16": """
def mixed(x, residual):
    return (x.float() + residual.float()).bfloat16()


def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def mixed_and_normalised(x, residual, weight):
    return rms_norm(mixed(x, residual), weight)
""",
    "what an autoencoder calls a layer norm, beside the mean and the deviation that bring it back": """
def ln(x, eps=1e-5):
    mu = x.mean(dim=-1, keepdim=True)
    x = x - mu
    std = x.std(dim=-1, keepdim=True)
    return x / (std + eps), mu, std
""",
    "a layer norm of whole samples, where a batch of one is flattened to a vector": """
class LayerNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        shape = [-1] + [1] * (x.dim() - 1)
        h = x.float()
        if x.size(0) == 1:
            mean = h.view(-1).mean().view(*shape)
            var = h.view(-1).var(unbiased=False).view(*shape)
        else:
            mean = h.view(x.size(0), -1).mean(1).view(*shape)
            var = h.view(x.size(0), -1).var(1, unbiased=False).view(*shape)
        y = ((h - mean) / torch.sqrt(var + self.eps)).type_as(x)
        shape = [1, -1] + [1] * (x.dim() - 2)
        return y * self.gamma.view(*shape) + self.beta.view(*shape)
""",
    "rewards of an example, beside the log-probabilities that they weigh": """
rewards = torch.tensor([1.0, 1.0, 0.0, 0.0])
logprobs = torch.tensor([-7.9, -20.2, -16.6, -23.4])
advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
loss = -(advantages.detach() * logprobs).mean()
""",
}
