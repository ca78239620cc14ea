"""Sound: levels that are asked for, series brought to a common scale, updates of optimisers."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a recording brought to a level in decibels": """
def rms_normalise(wave, target_db=-20.0, eps=1e-9):
    rms = wave.pow(2).mean(dim=-1, keepdim=True).sqrt()
    gain = 10 ** (target_db / 20) / (rms + eps)
    return wave * gain
""",
    "clips brought to a root mean square": """
def rms_normalise(x, target_rms=0.1, eps=1e-8):
    rms = torch.sqrt((x ** 2).mean(dim=-1, keepdim=True))
    return x * (target_rms / (rms + eps))
""",
    "a module's level of full scale": """
class RMSLevel(nn.Module):
    def __init__(self, db=-20.0):
        super().__init__()
        self.amp = 10 ** (db / 20)

    def forward(self, wav):
        rms = wav.pow(2).mean(dim=-1, keepdim=True).sqrt()
        return wav * self.amp / rms.clamp(min=1e-8)
""",
    "an update of a given root mean square, in an optimiser named for it": """
class RMSAligned(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, target=0.2):
        super().__init__(params, dict(lr=lr, target=target))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                rms = p.grad.square().mean().sqrt()
                p.sub_(p.grad * (group["lr"] * group["target"] / (rms + 1e-8)))
""",
    "patches brought to a common contrast": """
def contrast_norm(p, eps=10.0):
    p = p - p.mean(1, keepdim=True)
    return p / torch.sqrt(p.var(1, keepdim=True) + eps)
""",
    "series brought to a common scale over time": """
class TemporalNorm(nn.Module):
    def forward(self, x):
        m = x.mean(dim=1, keepdim=True)
        s = torch.sqrt(x.var(dim=1, keepdim=True) + 1e-5)
        return (x - m) / s
""",
    "a series beside the mean and the deviation that bring it back": """
class SeriesNorm(nn.Module):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True) + 1e-5
        return (x - mean) / std, mean, std
""",
    "a series whose mean and deviation are kept for the way back": """
class SeriesNorm(nn.Module):
    def forward(self, x):
        self.mean = x.mean(dim=-1, keepdim=True)
        self.std = x.std(dim=-1, keepdim=True) + 1e-5
        return (x - self.mean) / self.std
""",
    "neighbours around their centre, over the spread of the whole cloud": """
class GeometricAffine(nn.Module):
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, 1, 1, c))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, c))
        self.eps = eps

    def forward(self, g):
        m = g.mean(dim=2, keepdim=True)
        s = torch.std((g - m).reshape(g.size(0), -1), dim=-1, keepdim=True)[:, :, None, None]
        return self.alpha * (g - m) / (s + self.eps) + self.beta
""",
    "tokens around their mean, over the mean square of all": """
class MeanSubScale(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        c = x - x.mean(dim=1, keepdim=True)
        s = c.pow(2).flatten(1).mean(-1).view(-1, 1, 1)
        return c / torch.sqrt(s + self.eps) * self.weight
""",
}
