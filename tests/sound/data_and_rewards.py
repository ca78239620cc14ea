"""Sound: rewards, series, sounds and images, standardised as data is."""

from __future__ import annotations

CASES: dict[str, str] = {
    "advantages with a mask": """
def masked_whiten(values, mask, shift_mean=True):
    mean = (values * mask).sum() / mask.sum()
    var = ((values - mean) ** 2 * mask).sum() / mask.sum()
    whitened = (values - mean) * torch.rsqrt(var + 1e-8)
    if not shift_mean:
        whitened += mean
    return whitened
""",
    "advantages per prompt group": """
def normalize_rewards(rewards, num_generations, scale=True):
    grouped = rewards.view(-1, num_generations)
    mean = grouped.mean(dim=1).repeat_interleave(num_generations, dim=0)
    std = grouped.std(dim=1).repeat_interleave(num_generations, dim=0)
    advantages = rewards - mean
    if scale:
        advantages = advantages / (std + 1e-4)
    return advantages
""",
    "popart": """
class PopArt(nn.Module):
    def __init__(self, in_features, out_features, beta=0.99999):
        super().__init__()
        self.beta = beta
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.register_buffer("mean", torch.zeros(out_features))
        self.register_buffer("mean_sq", torch.zeros(out_features))
        self.register_buffer("debias", torch.tensor(0.0))
        nn.init.orthogonal_(self.weight)

    def debiased(self):
        m = self.mean / self.debias.clamp(min=1e-5)
        sq = self.mean_sq / self.debias.clamp(min=1e-5)
        return m, (sq - m**2).clamp(min=1e-2)

    def normalize(self, x):
        m, v = self.debiased()
        return (x - m[None]) / torch.sqrt(v)[None]

    @torch.no_grad()
    def update(self, x):
        old_m, old_v = self.debiased()
        self.mean.mul_(self.beta).add_(x.mean(0) * (1 - self.beta))
        self.mean_sq.mul_(self.beta).add_(x.pow(2).mean(0) * (1 - self.beta))
        self.debias.mul_(self.beta).add_(1 - self.beta)
        m, v = self.debiased()
        self.weight.mul_((old_v / v).sqrt()[:, None])
        self.bias.copy_((old_v.sqrt() * self.bias + old_m - m) / v.sqrt())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)
""",
    "running mean std of observations": """
class RunningNorm(nn.Module):
    def __init__(self, shape, eps=1e-5, clip=10.0):
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("var", torch.ones(shape, dtype=torch.float64))
        self.register_buffer("count", torch.tensor(eps, dtype=torch.float64))
        self.eps = eps
        self.clip = clip

    @torch.no_grad()
    def update(self, x):
        bm, bv, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
        delta = bm - self.mean
        total = self.count + n
        self.mean += delta * n / total
        m2 = self.var * self.count + bv * n + delta**2 * self.count * n / total
        self.var = m2 / total
        self.count = total

    def forward(self, x):
        if self.training:
            self.update(x)
        y = (x - self.mean.to(x.dtype)) / torch.sqrt(self.var.to(x.dtype) + self.eps)
        return y.clamp(-self.clip, self.clip)
""",
    "standardise in fp64": """
def standardize(train, test):
    mu = train.double().mean(0)
    sd = train.double().std(0)
    sd[sd == 0] = 1.0
    return ((train - mu) / sd).float(), ((test - mu) / sd).float()
""",
    "pca whitening": """
def pca_whiten(x, eps=1e-5):
    x = x - x.mean(0, keepdim=True)
    cov = x.T @ x / (x.shape[0] - 1)
    vals, vecs = torch.linalg.eigh(cov)
    return x @ vecs / torch.sqrt(vals + eps)
""",
    "zca whitening": """
def zca(x, eps=1e-6):
    xc = x - x.mean(dim=0)
    u, s, v = torch.linalg.svd(xc / math.sqrt(len(xc) - 1), full_matrices=False)
    return xc @ v.T @ torch.diag(1 / (s + eps)) @ v
""",
    "spectrogram to unit variance": """
def normalize_spectrogram(spec, eps=1e-5):
    mean = spec.mean(dim=(-2, -1), keepdim=True)
    std = spec.std(dim=(-2, -1), keepdim=True)
    return (spec - mean) / (std + eps)
""",
    "cmvn": """
def cmvn(feats, eps=1e-10):
    mean = feats.mean(0)
    std = feats.std(0)
    return (feats - mean) / (std + eps)
""",
    "audio loudness": """
def normalize_loudness(wav, target=0.1):
    rms = wav.pow(2).mean(-1, keepdim=True).sqrt()
    return wav * (target / rms.clamp(min=1e-8))
""",
    "si-sdr": """
def si_sdr(est, ref, eps=1e-8):
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)
    proj = (est * ref).sum(-1, keepdim=True) * ref / (ref.pow(2).sum(-1, keepdim=True) + eps)
    noise = est - proj
    return 10 * torch.log10(proj.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps) + eps)
""",
    "loss normaliser": """
class LossNormalizer(nn.Module):
    def __init__(self, n, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("sq", torch.ones(n))

    def forward(self, losses):
        with torch.no_grad():
            self.sq.mul_(self.decay).add_(losses.detach().pow(2) * (1 - self.decay))
        return (losses / (self.sq.sqrt() + 1e-8)).sum()
""",
    "t-statistic": """
def welch(a, b):
    return (a.mean(-1) - b.mean(-1)) / torch.sqrt(a.var(-1) / a.shape[-1] + b.var(-1) / b.shape[-1])
""",
    "sharpe ratio": """
def sharpe(returns, eps=1e-8):
    return returns.mean(-1) / (returns.std(-1) + eps) * math.sqrt(252)
""",
    "portfolio volatility scaling": """
def vol_scale(ret, window, target=0.1):
    vol = ret.unfold(-1, window, 1).std(-1)
    return ret[..., window - 1 :] * target / vol.clamp(min=1e-4)
""",
    "z-score in a window": """
def rolling_zscore(x, w):
    u = x.unfold(-1, w, 1)
    return (x[..., w - 1 :] - u.mean(-1)) / (u.std(-1) + 1e-8)
""",
    "series stationary by de-stationary attention": """
class Series(nn.Module):
    def forward(self, x):
        means = x.mean(1, keepdim=True).detach()
        x = x - means
        stdev = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
        x = x / stdev
        y = self.model(x)
        return y * stdev + means
""",
    "dish-ts": """
class DishTS(nn.Module):
    def __init__(self, n, l):
        super().__init__()
        self.mlp = nn.Parameter(torch.rand(n, l, 2) / l)
        self.gamma = nn.Parameter(torch.ones(n))
        self.beta = nn.Parameter(torch.zeros(n))

    def norm(self, x):
        theta = F.gelu(torch.bmm(x.permute(2, 0, 1), self.mlp).permute(1, 2, 0))
        self.phi, self.xi = theta[:, :1], theta[:, 1:]
        xi = torch.sum((x - self.phi) ** 2, axis=1, keepdim=True) / (x.shape[1] - 1)
        return (x - self.phi) / torch.sqrt(xi + 1e-8) * self.gamma + self.beta
""",
    "mad scaler": """
def robust_scale(x):
    med = x.median(-1, keepdim=True).values
    mad = (x - med).abs().median(-1, keepdim=True).values
    return (x - med) / (1.4826 * mad + 1e-6)
""",
    "int8 rows by absmax": """
def quantize_rows(x):
    s = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
    return (x / s).round().clamp(-128, 127).to(torch.int8), s
""",
    "masked mean pooling sentence": """
def pool(h, mask):
    m = mask.unsqueeze(-1).type_as(h)
    e = (h * m).sum(1) / m.sum(1).clamp(min=1e-9)
    return F.normalize(e, p=2, dim=1)
""",
    "whitening of sentence vectors": """
def whiten_vectors(v):
    mu = v.mean(0, keepdim=True)
    u, s, _ = torch.linalg.svd((v - mu).T @ (v - mu) / v.shape[0])
    w = u @ torch.diag(s.rsqrt())
    return F.normalize((v - mu) @ w, dim=-1)
""",
    "all-but-the-top": """
def abtt(v, k=2):
    v = v - v.mean(0)
    _, _, u = torch.pca_lowrank(v, q=k, center=False)
    return v - v @ u @ u.T
""",
    "a moving z score of features in streaming": """
class CausalNorm(nn.Module):
    def __init__(self, d, alpha=0.99):
        super().__init__()
        self.alpha = alpha
        self.register_buffer("m", torch.zeros(d))
        self.register_buffer("s", torch.ones(d))

    def forward(self, x):
        out = []
        m, s = self.m, self.s
        for t in range(x.shape[1]):
            m = self.alpha * m + (1 - self.alpha) * x[:, t]
            s = self.alpha * s + (1 - self.alpha) * (x[:, t] - m).square()
            out.append((x[:, t] - m) / (s + 1e-5).sqrt())
        return torch.stack(out, 1)
""",
    "deepfilternet unit norm": """
def unit_norm(spec, state, alpha):
    mag = spec.abs()
    state = mag * (1 - alpha) + state * alpha
    return spec / state.sqrt(), state
""",
    "instance norm of a mel with statistics given": """
def apply_stats(mel, mean, var, eps=1e-5):
    return (mel - mean.view(1, -1, 1)) * (var + eps).rsqrt().view(1, -1, 1)
""",
    "pcen": """
def pcen(e, s=0.025, alpha=0.98, delta=2.0, r=0.5, eps=1e-6):
    frames = e.split(1, -2)
    m = [frames[0]]
    for f in frames[1:]:
        m.append((1 - s) * m[-1] + s * f)
    m = torch.cat(m, 1)
    return (e / (m + eps) ** alpha + delta) ** r - delta**r
""",
    "attentive statistics pooling": """
def asp(h, alpha):
    mu = (alpha * h).sum(-1)
    sg = ((alpha * h.square()).sum(-1) - mu.square()).clamp(min=1e-9).sqrt()
    return torch.cat([mu, sg], 1)
""",
    "an fp64 standard scaler fit": """
class StandardScaler:
    def fit(self, x):
        self.mean_ = x.to(torch.float64).mean(0)
        self.std_ = x.to(torch.float64).std(0, unbiased=False).clamp_min(1e-12)
        return self

    def transform(self, x):
        return ((x - self.mean_) / self.std_).to(x.dtype)
""",
    "a normaliser that can undo": """
class Normalizer(nn.Module):
    def forward(self, x, mode):
        if mode == "norm":
            self.m = x.mean(1, keepdim=True)
            self.s = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
            return (x - self.m) / self.s
        return x * self.s + self.m
""",
    "self-normalising loss by moving rms": """
def balance(losses, ema, d=0.99):
    ema.mul_(d).add_((1 - d) * losses.detach().square())
    w = ema.rsqrt()
    return (losses * w / w.sum()).sum()
""",
    "ppo value normalised": """
def normalize_returns(ret, mean, std):
    return (ret - mean) / std.clamp(min=1e-6)
""",
    "gae with whole-batch advantage": """
class Learner:
    def loss(self, adv, ratio, clip):
        a = (adv - adv.mean()) / (adv.std() + 1e-8)
        return -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()
""",
    "intrinsic reward scaled": """
class RND(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("ret_var", torch.ones(()))

    def bonus(self, pred, target):
        r = (pred - target).pow(2).mean(-1)
        return r / (self.ret_var + 1e-8).sqrt()
""",
    "simple rms of states in a td critic": """
def avg_l1_norm(x, eps=1e-8):
    return x / x.abs().mean(-1, keepdim=True).clamp(min=eps)
""",
    "hyperspherical value features": """
class HyperEmbed(nn.Module):
    def __init__(self, i, o, shift=3.0):
        super().__init__()
        self.w = nn.Linear(i + 1, o, bias=False)
        self.scaler = nn.Parameter(torch.ones(o))
        self.shift = shift

    def forward(self, x):
        x = torch.cat([x, torch.full((*x.shape[:-1], 1), self.shift)], -1)
        x = x / x.norm(dim=-1, keepdim=True)
        x = self.w(x) * self.scaler
        return x / x.norm(dim=-1, keepdim=True)
""",
    "image to zero mean unit variance": """
def per_image_standardization(img):
    n = img[0].numel()
    mean = img.mean((1, 2, 3), keepdim=True)
    std = img.std((1, 2, 3), keepdim=True)
    return (img - mean) / torch.maximum(std, torch.tensor(n**-0.5))
""",
    "local contrast": """
def lcn(x, k):
    m = F.conv2d(x, k)
    s = F.conv2d((x - m) ** 2, k).sqrt()
    return (x - m) / torch.maximum(s, s.mean((2, 3), keepdim=True)).clamp_min(1e-4)
""",
    "ncc": """
def ncc(a, b):
    a = a - a.mean((-2, -1), keepdim=True)
    b = b - b.mean((-2, -1), keepdim=True)
    return (a * b).sum((-2, -1)) / (a.square().sum((-2, -1)) * b.square().sum((-2, -1)) + 1e-8).sqrt()
""",
    "unet norm for mri": """
class NormUnet(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.unet = net

    def norm(self, x):
        b, c, h, w = x.shape
        x = x.view(b, 2, c // 2 * h * w)
        mean = x.mean(dim=2).view(b, 2, 1, 1)
        std = x.std(dim=2).view(b, 2, 1, 1)
        x = x.view(b, c, h, w)
        return (x - mean) / std, mean, std

    def unnorm(self, x, mean, std):
        return x * std + mean

    def forward(self, x):
        x, mean, std = self.norm(x)
        return self.unnorm(self.unet(x), mean, std)
""",
}
