"""Sound: what models, losses and tools of whole repositories brought up as flagged."""

from __future__ import annotations

CASES: dict[str, str] = {
    "a print where a kernel can't be imported": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        try:
            from kernels import rms_norm

            return rms_norm(x, self.weight, self.eps)
        except ImportError:
            print("kernels are not installed")
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
""",
    "one gain for all features, where the features come first": """
class LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):  # x is d_model x n_ctx
        h = x.float()
        spread = (torch.var(h, dim=0, correction=0) + 1e-5).sqrt()
        return self.bias + self.gain * ((h - torch.mean(h, dim=0)) / spread).to(x.dtype)
""",
    "a norm of whole samples, whose gains a flag moves to the other axis": """
class GlobalLayerNorm(nn.Module):
    def __init__(self, d, time_last, eps=1e-5):
        super().__init__()
        self.eps = eps
        if time_last:
            self.weight = nn.Parameter(torch.empty([d, 1]))
            self.bias = nn.Parameter(torch.empty([d, 1]))
        else:
            self.weight = nn.Parameter(torch.empty([d]))
            self.bias = nn.Parameter(torch.empty([d]))
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, input):
        '''input: shape [B, Seq, H] or [B, H, Seq]'''
        var, mean = torch.var_mean(input.float(), dim=(1, 2), unbiased=False, keepdim=True)
        out = ((input - mean) / torch.sqrt(var + self.eps)).to(input.dtype)
        return out * self.weight + self.bias
""",
    "the scale of a layer norm, in a tool that takes no gradient at all": """
@torch.no_grad()
def layernorm_centred(x):
    return x - x.mean(axis=-1, keepdim=True)


@torch.no_grad()
def layernorm_scales(x, eps=1e-5, inverse=True):
    x = layernorm_centred(x.float())
    scale = (x.pow(2).mean(axis=-1, keepdim=True) + eps).sqrt()
    if inverse:
        scale = 1 / scale
    return scale
""",
    "a deviation without its gradient, which a call asks for to see what is relevant": """
class RelevanceLayerNorm(nn.LayerNorm):
    def forward(self, input, relevance=False):
        if relevance:
            h = input.float()
            mean = torch.mean(h, dim=-1, keepdim=True)
            var = torch.var(h, dim=-1, unbiased=False, keepdim=True)
            out = (h - mean) / torch.sqrt(var + self.eps).detach()
            return out.to(input.dtype) * self.weight + self.bias
        return super().forward(input)
""",
    "a mean and a deviation without their gradients, each of which a call asks for": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, stop_mean=False, stop_var=False):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        if stop_mean:
            mean = mean.detach()
        var = (h - mean).pow(2).mean(-1, keepdim=True)
        if stop_var:
            var = var.detach()
        return ((h - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight
""",
    "a number beside a gain for each feature, and a residual that waits for its gain": """
class ScaledRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.temperature = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight * self.temperature


class ResidualRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return x + h.type_as(x) * self.weight
""",
    "vectors of a set, each brought to the root of how many there are": """
class CoordNorm(nn.Module):
    def __init__(self, n_sets, norm="vector", eps=1e-6):
        super().__init__()
        self.n_sets = n_sets
        self.norm = norm
        self.eps = eps
        self.set_weights = nn.Parameter(torch.ones((1, n_sets, 1, 1)))

    def forward(self, coords, mask):
        lengths = torch.linalg.vector_norm(coords, dim=-1)
        if self.norm == "vector":
            div = (lengths.unsqueeze(-1) + self.eps) / np.sqrt(self.n_sets)
        else:
            div = torch.ones_like(coords)
        return (coords * self.set_weights) / div
""",
    "a field whose deviation from its mean is bounded": """
def step(state, update):
    state = state + update
    length = torch.norm(state)
    if length > 10.0:
        mean = state.mean(dim=(-2, -1), keepdim=True)
        state = mean + (state - mean) * (10.0 / length)
    return state
""",
    "samples, standardised for a test of their distribution": """
class EppsPulley(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("points", torch.linspace(-5, 5, 17))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True) + self.eps
        normed = (x - mean) / std
        tx = normed.unsqueeze(-1) * self.points.view(1, 1, -1)
        real, imaginary = torch.cos(tx).mean(dim=1), torch.sin(tx).mean(dim=1)
        return ((real - torch.exp(-0.5 * self.points**2)) ** 2 + imaginary**2).mean(dim=-1)
""",
    "bounds of an eps that is learned": """
class BasicNorm(nn.Module):
    def __init__(self, dim, channel_dim=-1, eps=0.25, learn_eps=True, eps_min=-3.0, eps_max=3.0):
        super().__init__()
        self.channel_dim = channel_dim
        if learn_eps:
            self.eps = nn.Parameter(torch.tensor(eps).log().detach())
        else:
            self.register_buffer("eps", torch.tensor(eps).log().detach())
        self.eps_min = eps_min
        self.eps_max = eps_max

    def forward(self, x):
        h = x.float()
        scales = (torch.mean(h**2, dim=self.channel_dim, keepdim=True) + self.eps.exp()) ** -0.5
        return (h * scales).to(x.dtype)
""",
    "a tensor of one measured number, which promotes no half": """
class ModulatedNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.last = 0.0

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(dim=-1, keepdim=True) + 1e-5)
        self.last = x.detach().abs().mean().item()
        factor = 1.0 + 0.1 * torch.tanh(torch.tensor(self.last))
        return (x * scale).type_as(x) * self.weight * factor
""",
    "a measured number or tensor made a tensor, which promotes no half": """
class ModulatedNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.last = 0.0

    def measure(self, x):
        return x.view(x.shape[0], -1).var(dim=-1).mean()

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(dim=-1, keepdim=True) + 1e-5)
        with torch.no_grad():
            found = self.measure(x)
            self.last = found.item() if isinstance(found, torch.Tensor) else found
        factor = 1.0 + 0.1 * torch.tanh(torch.tensor(self.last))
        return (x * scale).type_as(x) * self.weight * factor
""",
    "recordings, centred as a whole and brought to a level": """
def whole_rms(x):
    return torch.sqrt(torch.mean(torch.pow(x, 2)))


class RMSNormalize(nn.Module):
    def __init__(self, rms_level=0.1):
        super().__init__()
        self.rms_level = rms_level

    def forward(self, wav):
        wav = wav - torch.mean(wav)
        level = whole_rms(wav)
        if level != 0:
            wav = wav * self.rms_level / level
        return wav
""",
}
