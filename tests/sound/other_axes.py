"""Sound: norms over batches, groups, images, graphs and weights."""

from __future__ import annotations

CASES: dict[str, str] = {
    "an instance norm that keeps its statistics in a pair, to undo it": """
class InstNorm(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        mu = x.mean(1, keepdim=True)
        sd = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + self.eps)
        self.out = (x - mu) / sd
        self.saved = (mu, sd)
        return self.out
""",
    "a reversible instance norm that keeps its statistics in a dict": """
class TimeInstanceNorm(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps, self.cache = eps, {}

    def forward(self, x):
        self.cache["mean"] = x.mean(1, keepdim=True).detach()
        self.cache["std"] = (x.std(1, keepdim=True) + self.eps).detach()
        return (x - self.cache["mean"]) / self.cache["std"]

    def inverse(self, y):
        return y * self.cache["std"] + self.cache["mean"]
""",
    "the rewards of a group": """
def group_norm(rewards, eps=1e-4):
    return (rewards - rewards.mean(-1, keepdim=True)) / (rewards.std(-1, keepdim=True) + eps)
""",
    "an image by its own statistics": """
class InstanceNormalize:
    def __call__(self, img):
        return (img - img.mean((1, 2), keepdim=True)) / (img.std((1, 2), keepdim=True) + 1e-5)
""",
    "groups of points with one deviation": """
class GroupNormPoints(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.ones(1, 1, 1, d)), nn.Parameter(torch.zeros(1, 1, 1, d))

    def forward(self, grouped):
        mean = grouped.mean(2, keepdim=True)
        std = torch.std((grouped - mean).reshape(grouped.shape[0], -1), dim=-1, keepdim=True)[..., None, None]
        return self.alpha * (grouped - mean) / (std + 1e-5) + self.beta
""",
    "a norm of images' means within a plus of an instance norm": """
class InstanceNorm2dPlus(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels)
        self.alpha = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        means = x.mean(dim=(2, 3))
        spread = means.var(dim=-1, keepdim=True)
        means = (means - means.mean(dim=-1, keepdim=True)) / torch.sqrt(spread + 1e-5)
        return self.norm(x) + means[..., None, None] * self.alpha[..., None, None]
""",
    "instance norms of a content, with the statistics of a style": """
def adaptive_instance_norm(content, style):
    mean, std = content.mean((2, 3), keepdim=True), content.std((2, 3), keepdim=True) + 1e-5
    return (content - mean) / std * style.std((2, 3), keepdim=True) + style.mean((2, 3), keepdim=True)
""",
    "a group norm with a filter instead of a view, in the input's dtype": """
class GroupNorm(nn.Module):
    def __init__(self, groups, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps

    def forward(self, x):
        y = x.unflatten(1, (self.groups, -1))
        mean = y.mean((2, 3, 4), keepdim=True)
        var = (y - mean).square().mean((2, 3, 4), keepdim=True)
        return ((y - mean) / (var + self.eps).sqrt()).flatten(1, 2)
""",
    "batch renorm": """
class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-3, momentum=0.01):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.eps = eps
        self.momentum = momentum

    def forward(self, x):
        if self.training:
            dims = [i for i in range(x.dim() - 1)]
            batch_mean = x.mean(dims)
            batch_std = x.std(dims, unbiased=False) + self.eps
            r = (batch_std.detach() / self.running_std.view_as(batch_std)).clamp_(1 / 3, 3)
            d = ((batch_mean.detach() - self.running_mean) / self.running_std).clamp_(-5, 5)
            x = (x - batch_mean) / batch_std * r + d
            self.running_mean += self.momentum * (batch_mean.detach() - self.running_mean)
            self.running_std += self.momentum * (batch_std.detach() - self.running_std)
        else:
            x = (x - self.running_mean) / self.running_std
        return self.weight * x + self.bias
""",
    "group norm by hand in fp32": """
class GroupNorm32(nn.Module):
    def __init__(self, groups, channels, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, channels, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        y = x.float().reshape(n, self.groups, -1)
        mean = y.mean(-1, keepdim=True)
        var = y.var(-1, keepdim=True, unbiased=False)
        y = ((y - mean) * torch.rsqrt(var + self.eps)).reshape(n, c, h, w)
        return (y * self.weight + self.bias).to(x.dtype)
""",
    "instance norm 1d": """
class InstanceNorm1d(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(channels, 1))
        self.beta = nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x):
        x32 = x.float()
        mu = x32.mean(dim=2, keepdim=True)
        sigma = x32.var(dim=2, keepdim=True, unbiased=False)
        return (((x32 - mu) / (sigma + self.eps).sqrt()) * self.gamma + self.beta).to(x.dtype)
""",
    "switchable norm": """
class SwitchNorm2d(nn.Module):
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, c, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.mean_weight = nn.Parameter(torch.ones(3))
        self.var_weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        n, c, h, w = x.size()
        x = x.view(n, c, -1)
        mean_in = x.mean(-1, keepdim=True)
        var_in = x.var(-1, keepdim=True)
        mean_ln = mean_in.mean(1, keepdim=True)
        temp = var_in + mean_in**2
        var_ln = temp.mean(1, keepdim=True) - mean_ln**2
        mean_bn = mean_in.mean(0, keepdim=True)
        var_bn = temp.mean(0, keepdim=True) - mean_bn**2
        mw = F.softmax(self.mean_weight, 0)
        vw = F.softmax(self.var_weight, 0)
        mean = mw[0] * mean_in + mw[1] * mean_ln + mw[2] * mean_bn
        var = vw[0] * var_in + vw[1] * var_ln + vw[2] * var_bn
        x = (x - mean) / (var + self.eps).sqrt()
        x = x.view(n, c, h, w)
        return x * self.weight + self.bias
""",
    "weight norm linear": """
class WNLinear(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.g = nn.Parameter(torch.ones(o, 1))

    def forward(self, x):
        w = self.g * self.weight / self.weight.norm(dim=1, keepdim=True)
        return F.linear(x, w, self.bias)
""",
    "spectral norm": """
class SpectralLinear(nn.Linear):
    def __init__(self, i, o, iters=1):
        super().__init__(i, o)
        self.iters = iters
        self.register_buffer("u", F.normalize(torch.randn(o), dim=0))

    def forward(self, x):
        u = self.u
        with torch.no_grad():
            for _ in range(self.iters):
                v = F.normalize(self.weight.t() @ u, dim=0)
                u = F.normalize(self.weight @ v, dim=0)
            self.u.copy_(u)
        sigma = torch.dot(u, self.weight @ v)
        return F.linear(x, self.weight / sigma, self.bias)
""",
    "adain": """
def adaptive_instance_normalization(content, style, eps=1e-5):
    size = content.size()
    n, c = size[:2]
    cm = content.view(n, c, -1).mean(2).view(n, c, 1, 1)
    cs = (content.view(n, c, -1).var(2) + eps).sqrt().view(n, c, 1, 1)
    sm = style.view(n, c, -1).mean(2).view(n, c, 1, 1)
    ss = (style.view(n, c, -1).var(2) + eps).sqrt().view(n, c, 1, 1)
    return (content - cm) / cs * ss + sm
""",
    "ema norm": """
class EMANorm(nn.Module):
    def __init__(self, dim, decay=0.99, eps=1e-6):
        super().__init__()
        self.decay, self.eps = decay, eps
        self.register_buffer("ms", torch.ones(dim))
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.ms.lerp_(x.float().pow(2).mean(tuple(range(x.ndim - 1))), 1 - self.decay)
        return x * torch.rsqrt(self.ms + self.eps).to(x.dtype) * self.weight
""",
    "power norm": """
class PowerNorm(nn.Module):
    def __init__(self, dim, momentum=0.1, eps=1e-5):
        super().__init__()
        self.register_buffer("psi2", torch.ones(dim))
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        if self.training:
            quad = x.float().pow(2).mean((0, 1))
            self.psi2.mul_(1 - self.momentum).add_(quad.detach(), alpha=self.momentum)
            scale = (quad + self.eps).rsqrt()
        else:
            scale = (self.psi2 + self.eps).rsqrt()
        return x * (scale * self.weight).to(x.dtype) + self.bias
""",
    "masked norm over tokens": """
class MaskedBatchNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))
        self.beta = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x, mask):
        m = mask.unsqueeze(-1).to(x.dtype)
        n = m.sum((0, 1), keepdim=True)
        mean = (x * m).sum((0, 1), keepdim=True) / n
        var = ((x - mean).pow(2) * m).sum((0, 1), keepdim=True) / n
        return (x - mean) / torch.sqrt(var + self.eps) * self.gamma + self.beta
""",
    "divisive normalisation": """
class DivisiveNorm(nn.Module):
    def __init__(self, c, size=5):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(c, 1, 1))
        self.pool = nn.AvgPool2d(size, 1, size // 2)

    def forward(self, x):
        return x / torch.sqrt(self.beta**2 + self.pool(x.pow(2).mean(1, keepdim=True)))
""",
    "gdn of image compression": """
class GDN(nn.Module):
    def __init__(self, c, inverse=False):
        super().__init__()
        self.inverse = inverse
        self.beta = nn.Parameter(torch.ones(c))
        self.gamma = nn.Parameter(0.1 * torch.eye(c))

    def forward(self, x):
        c = x.shape[1]
        norm = F.conv2d(x**2, self.gamma.view(c, c, 1, 1), self.beta)
        norm = torch.sqrt(norm) if self.inverse else torch.rsqrt(norm)
        return x * norm
""",
    "evonorm s0": """
class EvoNormS0(nn.Module):
    def __init__(self, c, groups=8, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.gamma = nn.Parameter(torch.ones(1, c, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.v = nn.Parameter(torch.ones(1, c, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        g = x.view(n, self.groups, c // self.groups, h, w).float()
        std = (g.var((2, 3, 4), keepdim=True, unbiased=False) + self.eps).sqrt()
        std = std.expand_as(g).reshape(n, c, h, w).to(x.dtype)
        return x * torch.sigmoid(self.v * x) / std * self.gamma + self.beta
""",
    "positional norm of images": """
def positional_norm(x, eps=1e-5):
    mean = x.float().mean(1, keepdim=True)
    std = x.float().var(1, keepdim=True, unbiased=False).add(eps).sqrt()
    return ((x - mean) / std).to(x.dtype), mean, std
""",
    "cross norm": """
def cross_norm(x):
    n, c = x.shape[:2]
    perm = torch.randperm(n, device=x.device)
    flat = x.reshape(n, c, -1)
    mean = flat.mean(-1)[..., None, None]
    std = (flat.var(-1) + 1e-5).sqrt()[..., None, None]
    return (x - mean) / std * std[perm] + mean[perm]
""",
    "mixstyle": """
class MixStyle(nn.Module):
    def __init__(self, p=0.5, alpha=0.1, eps=1e-6):
        super().__init__()
        self.p, self.eps = p, eps
        self.beta = torch.distributions.Beta(alpha, alpha)

    def forward(self, x):
        if not self.training or torch.rand(()) > self.p:
            return x
        mu = x.mean(dim=[2, 3], keepdim=True)
        sig = (x.var(dim=[2, 3], keepdim=True) + self.eps).sqrt()
        mu, sig = mu.detach(), sig.detach()
        normed = (x - mu) / sig
        lam = self.beta.sample((x.size(0), 1, 1, 1)).to(x.device)
        perm = torch.randperm(x.size(0))
        return normed * (sig * lam + sig[perm] * (1 - lam)) + mu * lam + mu[perm] * (1 - lam)
""",
    "edm2 normalize over all but the batch": """
def normalize(x, dim=None, eps=1e-4):
    if dim is None:
        dim = list(range(1, x.ndim))
    norm = torch.linalg.vector_norm(x, dim=dim, keepdim=True, dtype=torch.float32)
    norm = torch.add(eps, norm, alpha=math.sqrt(norm.numel() / x.numel()))
    return x / norm.to(x.dtype)
""",
    "vector gating of gvp": """
def _norm_no_nan(x, axis=-1, keepdims=False, eps=1e-8, sqrt=True):
    out = torch.clamp(torch.sum(torch.square(x), axis, keepdims), min=eps)
    return torch.sqrt(out) if sqrt else out


class GVPLayerNorm(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.s, self.v = dims
        self.scalar_norm = nn.LayerNorm(self.s)

    def forward(self, x):
        s, v = x
        vn = _norm_no_nan(v, axis=-1, keepdims=True, sqrt=False)
        vn = torch.sqrt(torch.mean(vn, dim=-2, keepdim=True))
        return self.scalar_norm(s), v / vn
""",
    "equivariant norm over l": """
class EquivariantRMS(nn.Module):
    '''x: (nodes, (lmax + 1)^2, channels)'''

    def __init__(self, c, lmax=2, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(lmax + 1, c))
        self.register_buffer("idx", torch.tensor([l for l in range(lmax + 1) for _ in range(2 * l + 1)]))
        self.register_buffer("balance", torch.tensor([1 / (2 * l + 1) / 9 for l in range(3) for _ in range(2 * l + 1)]))
        self.eps = eps

    def forward(self, x):
        n = torch.einsum("nic,i->nc", x.float().pow(2), self.balance).mean(-1, keepdim=True)
        inv = (n + self.eps).rsqrt().unsqueeze(1)
        return (x * inv).to(x.dtype) * self.weight[self.idx]
""",
    "interleaved channels group standardised": """
def channel_shuffle_norm(x, g):
    b, c, t = x.shape
    y = x.view(b, c // g, g, t).float()
    v, m = torch.var_mean(y, dim=(1, 3), unbiased=False, keepdim=True)
    return ((y - m) * (v + 1e-5).rsqrt()).view(b, c, t).type_as(x)
""",
    "layer norm of a graph by scatter": """
def graph_ln(x, batch, n, eps=1e-5):
    cnt = torch.bincount(batch, minlength=n).clamp(min=1).to(x.dtype) * x.size(-1)
    mean = torch.zeros(n, dtype=x.dtype).index_add_(0, batch, x.sum(-1)) / cnt
    x = x - mean[batch].unsqueeze(-1)
    var = torch.zeros(n, dtype=x.dtype).index_add_(0, batch, (x * x).sum(-1)) / cnt
    return x / (var + eps).sqrt()[batch].unsqueeze(-1)
""",
    "diff norm": """
class DiffGroupNorm(nn.Module):
    def __init__(self, d, groups, lamda=0.01):
        super().__init__()
        self.g, self.lamda = groups, lamda
        self.lin = nn.Linear(d, groups)
        self.bn = nn.BatchNorm1d(groups * d)

    def forward(self, x):
        s = self.lin(x).softmax(-1)
        out = (s.unsqueeze(-1) * x.unsqueeze(1)).reshape(x.shape[0], -1)
        return x + self.lamda * self.bn(out).view(-1, self.g, x.shape[-1]).sum(1)
""",
    "pair norm scale individually": """
class PairNorm(nn.Module):
    def __init__(self, mode="PN", scale=1.0):
        super().__init__()
        self.mode, self.scale = mode, scale

    def forward(self, x):
        if self.mode == "None":
            return x
        dtype, x = x.dtype, x.float()
        mean = x.mean(dim=0)
        if self.mode == "PN":
            x = x - mean
            rn = (1e-6 + x.pow(2).sum(dim=1).mean()).sqrt()
            return (self.scale * x / rn).to(dtype)
        if self.mode == "PN-SI":
            x = x - mean
            rn = (1e-6 + x.pow(2).sum(dim=1, keepdim=True)).sqrt()
            return (self.scale * x / rn).to(dtype)
        rn = (1e-6 + x.pow(2).sum(dim=1, keepdim=True)).sqrt()
        return (self.scale * x / rn - mean).to(dtype)
""",
    "node norm": """
class NodeNorm(nn.Module):
    '''x: (nodes, features); the deviation of each node's features, without a centre, to a root of it.'''

    def __init__(self, p=2, eps=1e-5):
        super().__init__()
        self.p, self.eps = p, eps

    def forward(self, x):
        std = (torch.var(x, unbiased=False, dim=1, keepdim=True) + self.eps).sqrt()
        return x / std ** (1 / self.p)
""",
    "msg norm": """
class MessageNorm(nn.Module):
    def __init__(self, learn=False):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1), requires_grad=learn)

    def forward(self, x, msg, p=2):
        msg = F.normalize(msg, p=p, dim=-1)
        return msg * x.norm(p=p, dim=-1, keepdim=True) * self.scale
""",
    "weight standardised conv with a gain": """
class ScaledStdConv2d(nn.Conv2d):
    def __init__(self, *a, gamma=1.0, eps=1e-6, **k):
        super().__init__(*a, **k)
        self.gain = nn.Parameter(torch.ones(self.out_channels, 1, 1, 1))
        self.scale = gamma * self.weight[0].numel() ** -0.5
        self.eps = eps

    def forward(self, x):
        v, m = torch.var_mean(self.weight, dim=[1, 2, 3], keepdim=True, unbiased=False)
        w = (self.weight - m) * torch.rsqrt(v + self.eps) * (self.gain * self.scale)
        return F.conv2d(x, w, self.bias, self.stride, self.padding)
""",
    "two axes beside a gain whose shape is a tuple": """
class RMSNorm(nn.Module):
    def __init__(self, shape, eps=1e-6):
        super().__init__()
        self.shape = tuple(shape)
        self.weight = nn.Parameter(torch.ones(self.shape))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        ms = h.pow(2).mean((-2, -1), keepdim=True)
        return (h * torch.rsqrt(ms + self.eps)).type_as(x) * self.weight
""",
}
