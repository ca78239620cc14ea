"""Sound: optimisers and quantisers."""

from __future__ import annotations

CASES: dict[str, str] = {
    "muon newton-schulz": """
def zeropower_via_newtonschulz5(G, steps):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G.bfloat16()
    if G.size(-2) > G.size(-1):
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    return X
""",
    "norm muon": """
def normuon_update(grad, second_moment, beta2=0.95):
    update = grad
    vnorm = update.norm(dim=(-2, -1), keepdim=True)
    v_mean = torch.mean(update * update, dim=-1, keepdim=True)
    second_moment.lerp_(v_mean, 1 - beta2)
    step_size = second_moment.clamp_min(1e-10).rsqrt()
    update.mul_(step_size)
    vnorm_new = update.norm(dim=(-2, -1), keepdim=True)
    update.mul_(vnorm / vnorm_new.clamp_min(1e-10))
    return update
""",
    "gradient clipping by global norm": """
def clip_grad_norm_(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = torch.norm(torch.stack([g.norm(2) for g in grads]), 2)
    clip = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(clip)
    return total
""",
    "adaptive gradient clipping": """
def unitwise_norm(x):
    dim, keepdim = (None, False) if x.ndim <= 1 else (tuple(range(1, x.ndim)), True)
    return torch.sqrt(torch.sum(x ** 2, dim=dim, keepdim=keepdim))

def agc(p, clipping=0.01, eps=1e-3):
    p_norm = unitwise_norm(p).clamp_(min=eps)
    g_norm = unitwise_norm(p.grad)
    max_norm = p_norm * clipping
    clipped = p.grad * (max_norm / g_norm.clamp(min=1e-6))
    p.grad = torch.where(g_norm < max_norm, p.grad, clipped)
""",
    "bitnet weight quantisation": """
def weight_quant(w):
    scale = 1.0 / w.abs().mean().clamp_(min=1e-5)
    u = (w * scale).round().clamp_(-1, 1) / scale
    return u

def activation_quant(x):
    scale = 127.0 / x.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)
    return (x * scale).round().clamp_(-128, 127) / scale
""",
    "lsq quantisation": """
class LSQ(nn.Module):
    def __init__(self, bits=8):
        super().__init__()
        self.qp = 2 ** (bits - 1) - 1
        self.s = nn.Parameter(torch.ones(1))

    def init_from(self, x):
        self.s = nn.Parameter(x.detach().abs().mean() * 2 / (self.qp ** 0.5))

    def forward(self, x):
        return (x / self.s).round().clamp(-self.qp, self.qp) * self.s
""",
    "binary weights with a scale of each row": """
class BinaryLinear(nn.Linear):
    def forward(self, x):
        w = self.weight - self.weight.mean(dim=-1, keepdim=True)
        alpha = self.weight.abs().mean(dim=-1, keepdim=True)
        return F.linear(x, alpha * w.sign(), self.bias)
""",
    "psnr and snr": """
def psnr(a, b, peak=1.0):
    return 10 * torch.log10(peak ** 2 / ((a - b) ** 2).mean())

def si_sdr(est, ref, eps=1e-8):
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)
    alpha = (est * ref).sum(-1, keepdim=True) / (ref.pow(2).sum(-1, keepdim=True) + eps)
    proj = alpha * ref
    return 10 * torch.log10(proj.pow(2).sum(-1) / ((est - proj).pow(2).sum(-1) + eps) + eps)
""",
    "rms energy of frames": """
def rms_energy(frames):
    return frames.pow(2).mean(-1).sqrt()

def normalise_loudness(x, frames):
    return x / (rms_energy(frames).max() + 1e-9)
""",
    "mix noise at a given snr": """
def mix(speech, noise, snr_db):
    speech_rms = speech.pow(2).mean().sqrt()
    noise_rms = noise.pow(2).mean().sqrt()
    noise = noise * (speech_rms / (noise_rms * 10 ** (snr_db / 20)))
    return speech + noise
""",
    "features of wav2vec normalised to zero mean and unit variance": """
def zero_mean_unit_var_norm(input_values, attention_mask=None):
    return [(x - x.mean()) / torch.sqrt(x.var() + 1e-7) for x in input_values]
""",
    "a relative loss": """
def relative_l2(pred, target):
    return torch.norm(pred - target, dim=-1) / torch.norm(target, dim=-1)
""",
    "a perceptual loss over normalised features": """
def normalize_tensor(in_feat, eps=1e-10):
    norm_factor = torch.sqrt(torch.sum(in_feat ** 2, dim=1, keepdim=True))
    return in_feat / (norm_factor + eps)

def lpips(f0, f1, lin):
    return lin((normalize_tensor(f0) - normalize_tensor(f1)) ** 2).mean([2, 3], keepdim=True)
""",
    "a gradient penalty": """
def gradient_penalty(d, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    grads = torch.autograd.grad(d(inter).sum(), inter, create_graph=True)[0].view(real.size(0), -1)
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()
""",
    "minibatch standard deviation": """
class MinibatchStd(nn.Module):
    def forward(self, x):
        y = x - x.mean(dim=0, keepdim=True)
        y = y.square().mean(dim=0).add(1e-8).sqrt()
        y = y.mean(dim=[1, 2, 3], keepdim=True)
        return torch.cat([x, y.expand(x.shape[0], 1, *x.shape[2:])], 1)
""",
    "noise scaled to the parameter's norm": """
def perturb(p, scale=1e-2):
    noise = torch.randn_like(p)
    return p + noise * scale * p.norm() / (noise.norm() + 1e-12)
""",
    "sam's perturbation": """
def sam_first_step(params, rho=0.05):
    grad_norm = torch.norm(torch.stack([p.grad.norm(p=2) for p in params]), p=2)
    for p in params:
        e_w = p.grad * (rho / (grad_norm + 1e-12))
        p.data.add_(e_w)
""",
    "a pearson correlation": """
def pearson(x, y):
    vx = x - x.mean()
    vy = y - y.mean()
    return (vx * vy).sum() / (vx.pow(2).sum().sqrt() * vy.pow(2).sum().sqrt() + 1e-8)
""",
    "a correlation matrix of features": """
def corr(x):
    x = x - x.mean(dim=0, keepdim=True)
    x = x / x.norm(dim=0, keepdim=True)
    return x.T @ x
""",
    "linear attention that divides by the sum of keys": """
def linear_attention(q, k, v, eps=1e-6):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    kv = torch.einsum("nlhd,nlhm->nhmd", k, v)
    z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(dim=1)) + eps)
    return torch.einsum("nlhd,nhmd,nlh->nlhm", q, kv, z)
""",
    "retention with a group norm": """
class Retention(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.group_norm = nn.GroupNorm(heads, dim)

    def forward(self, qk, v):
        qk = qk / qk.detach().abs().sum(dim=-1, keepdim=True).clamp(min=1, max=5e4)
        return self.group_norm((qk @ v).flatten(0, 1))
""",
    "graph norm with a segment mean": """
class GraphNorm(nn.Module):
    def __init__(self, in_channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(in_channels))
        self.bias = nn.Parameter(torch.zeros(in_channels))
        self.mean_scale = nn.Parameter(torch.ones(in_channels))

    def forward(self, x, batch, batch_size):
        mean = scatter(x, batch, 0, batch_size, reduce='mean')
        out = x - mean.index_select(0, batch) * self.mean_scale
        var = scatter(out.pow(2), batch, 0, batch_size, reduce='mean')
        std = (var + self.eps).sqrt().index_select(0, batch)
        return self.weight * out / std + self.bias
""",
    "pair norm": """
class PairNorm(nn.Module):
    def __init__(self, scale=1., eps=1e-5):
        super().__init__()
        self.scale, self.eps = scale, eps

    def forward(self, x):
        x = x - x.mean(dim=0, keepdim=True)
        return self.scale * x / (self.eps + x.pow(2).sum(-1).mean()).sqrt()
""",
    "inverse distance weights": """
def idw(dist, feats, eps=1e-8):
    w = 1.0 / (dist.pow(2) + eps)
    w = w / w.sum(dim=-1, keepdim=True)
    return (w.unsqueeze(-1) * feats).sum(-2)
""",
    "points in a unit sphere": """
def pc_normalize(pc):
    centroid = pc.mean(dim=0)
    pc = pc - centroid
    m = torch.max(torch.sqrt(torch.sum(pc ** 2, dim=1)))
    return pc / m
""",
    "heatmap entropy": """
def normalized_entropy(p):
    p = p / p.sum(dim=-1, keepdim=True)
    return -(p * (p + 1e-12).log()).sum(-1) / math.log(p.shape[-1])
""",
    "vector quantisation by cosine": """
class CosineVQ(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(n, d))

    def forward(self, z):
        zn = F.normalize(z, dim=-1)
        cn = F.normalize(self.codebook, dim=-1)
        idx = (zn @ cn.t()).argmax(-1)
        q = cn[idx]
        return zn + (q - zn).detach(), idx
""",
    "numpy standardisation": """
import numpy as np

def standardize(x, axis=0):
    return (x - np.mean(x, axis=axis)) / (np.std(x, axis=axis) + 1e-8)
""",
    "numpy embeddings": """
import numpy as np

def l2_normalize(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)
""",
    "multi-resolution spectral convergence": """
def spectral_convergence(x_mag, y_mag):
    return torch.norm(y_mag - x_mag, p="fro") / torch.norm(y_mag, p="fro")
""",
    "attention entropy temperature by key norm": """
def temperature(k, tau):
    k = k - k.mean(dim=-2, keepdim=True)
    return k * tau / k.norm(dim=-1).mean()
""",
    "ema codebook with laplace smoothing": """
def laplace(counts, n, eps=1e-5):
    total = counts.sum(dim=-1, keepdim=True)
    return (counts + eps) / (total + n * eps) * total
""",
}
