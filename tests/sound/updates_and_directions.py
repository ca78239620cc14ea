"""Sound: optimisers, codes, geometry and attention that divide by a length or a sum."""

from __future__ import annotations

CASES: dict[str, str] = {
    "clip by global norm": """
def clip_grad_norm(parameters, max_norm, eps=1e-6):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = torch.norm(torch.stack([torch.norm(g.detach(), 2) for g in grads]), 2)
    coef = torch.clamp(max_norm / (total + eps), max=1.0)
    for g in grads:
        g.detach().mul_(coef)
    return total
""",
    "vq with cosine codes": """
class CosineCodebook(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.embed = nn.Parameter(F.normalize(torch.randn(n, d), dim=-1))

    def forward(self, z):
        flat = F.normalize(z.reshape(-1, z.shape[-1]), dim=-1)
        codes = F.normalize(self.embed, dim=-1)
        idx = (flat @ codes.t()).argmax(-1)
        q = codes[idx].view_as(z)
        return z + (q - z).detach(), idx
""",
    "vq distances": """
class Quantizer(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.codebook = nn.Embedding(n, d)

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codebook.weight.t() + self.codebook.weight.pow(2).sum(1)
        idx = d.argmin(1)
        return self.codebook(idx).view_as(z), idx
""",
    "square relu normalised attention": """
def relu2_attention(q, k, v, eps=1e-6):
    s = F.relu(q @ k.transpose(-2, -1)).square()
    return (s / (s.sum(-1, keepdim=True) + eps)) @ v
""",
    "rms of adam update": """
class AdaLike(torch.optim.Optimizer):
    @staticmethod
    def _rms(t):
        return t.norm(2) / (t.numel() ** 0.5)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                u = p.grad * self.state[p]["v"].rsqrt()
                u.div_((self._rms(u) / group["clip"]).clamp_(min=1.0))
                p.add_(u, alpha=-group["lr"] * max(1e-3, self._rms(p).item()))
""",
    "muon": """
def zeropower(g, steps=5, eps=1e-7):
    x = g.bfloat16()
    if g.size(-2) > g.size(-1):
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + eps)
    for _ in range(steps):
        a = x @ x.mT
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.mT if g.size(-2) > g.size(-1) else x
""",
    "ngpt after each step": """
@torch.no_grad()
def normalize_matrices(model):
    for name, p in model.named_parameters():
        if p.ndim == 2:
            p.copy_(p / p.norm(dim=1 if "out" not in name else 0, keepdim=True))
""",
    "rescale cfg": """
def rescale_noise_cfg(cfg, text, rescale=0.0):
    std_text = text.std(dim=list(range(1, text.ndim)), keepdim=True)
    std_cfg = cfg.std(dim=list(range(1, cfg.ndim)), keepdim=True)
    scaled = cfg * (std_text / std_cfg)
    return rescale * scaled + (1 - rescale) * cfg
""",
    "pixel feature norm with lerp": """
def unit_normalize(x, eps=1e-10):
    norm = torch.sqrt(torch.sum(x**2, dim=1, keepdim=True))
    return x / (norm + eps)
""",
    "normalize a quaternion in place of a buffer": """
class Rotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.tensor([1.0, 0, 0, 0]))

    def forward(self, pts):
        w, x, y, z = (self.q / self.q.norm()).unbind()
        r = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
        return pts @ r
""",
    "gaussian splat covariance": """
def build_rotation(r):
    norm = torch.sqrt(r[:, 0] * r[:, 0] + r[:, 1] * r[:, 1] + r[:, 2] * r[:, 2] + r[:, 3] * r[:, 3])
    q = r / norm[:, None]
    return 1 - 2 * (q[:, 2] * q[:, 2] + q[:, 3] * q[:, 3])
""",
    "normalised device rays": """
def get_rays(dirs, c2w):
    rays_d = (dirs[..., None, :] * c2w[:3, :3]).sum(-1)
    viewdirs = rays_d / torch.norm(rays_d, dim=-1, keepdim=True)
    return rays_d, viewdirs
""",
    "lambertian normals": """
def shade(n, l):
    n = n / torch.sqrt((n**2).sum(-1, keepdim=True)).clamp_min(1e-6)
    return torch.clamp((n * l).sum(-1, keepdim=True), min=0)
""",
    "rms of a residual stream for logging": """
@torch.no_grad()
def residual_stats(h):
    rms = h.float().pow(2).mean(-1).sqrt()
    return {"mean": rms.mean().item(), "max": rms.max().item()}
""",
    "activation steering": """
def steer(h, v, alpha):
    scale = h.norm(dim=-1, keepdim=True) / (v.norm() + 1e-6)
    return h + alpha * scale * v
""",
    "norm-preserving edit": """
def edit_keep_norm(h, delta):
    before = h.norm(dim=-1, keepdim=True)
    out = h + delta
    return out * before / out.norm(dim=-1, keepdim=True).clamp_min(1e-8)
""",
    "lora with rms matched update": """
def scale_lora(delta, base):
    return delta * (base.pow(2).mean().sqrt() / (delta.pow(2).mean().sqrt() + 1e-8))
""",
    "weights to unit rms at init": """
def unit_rms_(w):
    with torch.no_grad():
        w.div_(w.pow(2).mean().sqrt())
    return w
""",
    "sum to one by squares": """
def born_rule(amp):
    p = amp.abs() ** 2
    return p / p.sum(-1, keepdim=True)
""",
    "wavefunction normalised": """
def normalize_state(psi):
    return psi / torch.sqrt((psi.abs() ** 2).sum(-1, keepdim=True))
""",
    "absmean gain": """
def absmean_scale(w):
    return w / w.abs().mean().clamp(min=1e-5)
""",
    "lars": """
def lars_update(p, g, lr, trust=1e-3, wd=1e-4):
    pn, gn = p.norm(), g.norm()
    local = trust * pn / (gn + wd * pn + 1e-8)
    p.add_(g + wd * p, alpha=-lr * local)
""",
    "novograd second moment": """
def novograd(g, v, beta):
    v.mul_(beta).add_(g.pow(2).sum(), alpha=1 - beta)
    return g / (v.sqrt() + 1e-8)
""",
    "adam-mini by block": """
def block_adam(g, m, v, b1, b2, eps):
    m.lerp_(g, 1 - b1)
    v.lerp_(g.square().mean(dim=-1, keepdim=True), 1 - b2)
    return m / (v.sqrt() + eps)
""",
    "fp32 rms of updates": """
def rms_matched(update, lr, p):
    rms = update.float().square().mean().sqrt().clamp_(min=1.0)
    p.data.add_((update / rms).to(p.dtype), alpha=-lr)
""",
    "gradnorm of gan": """
def normalize_gradient(net_d, x):
    x.requires_grad_(True)
    f = net_d(x)
    grad = torch.autograd.grad(f, [x], torch.ones_like(f), create_graph=True)[0]
    norm = torch.norm(torch.flatten(grad, start_dim=1), p=2, dim=1)
    norm = norm.view(-1, *[1] * (len(f.shape) - 1))
    return f / (norm + torch.abs(f))
""",
    "pgd attack in l2": """
def pgd_step(x, g, alpha, eps, x0):
    gn = g / (g.flatten(1).norm(dim=1).view(-1, 1, 1, 1) + 1e-12)
    d = x + alpha * gn - x0
    n = d.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    return x0 + d * torch.clamp(eps / (n + 1e-12), max=1.0)
""",
    "virtual adversarial direction": """
def _l2_normalize(d):
    flat = d.view(d.shape[0], -1, *(1 for _ in range(d.dim() - 2)))
    d = d / (torch.norm(flat, dim=1, keepdim=True) + 1e-8)
    return d
""",
    "ddpm score with norm": """
def langevin(x, score, snr):
    noise = torch.randn_like(x)
    gn = score.reshape(x.shape[0], -1).norm(dim=-1).mean()
    nn_ = noise.reshape(x.shape[0], -1).norm(dim=-1).mean()
    step = (snr * nn_ / gn) ** 2 * 2
    return x + step * score + torch.sqrt(step * 2) * noise
""",
    "perpneg": """
def perpendicular(x, y):
    return x - (x * y).sum((1, 2, 3), keepdim=True) / y.square().sum((1, 2, 3), keepdim=True) * y
""",
    "linear attention with elu": """
def linear_attn(q, k, v, eps=1e-6):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    kv = torch.einsum("nshd,nshm->nhmd", k, v)
    z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(1)) + eps)
    return torch.einsum("nlhd,nhmd,nlh->nlhm", q, kv, z)
""",
    "cosformer denominators": """
def cosformer_norm(q, k, v):
    s = (q.unsqueeze(-2) * k.cumsum(1).unsqueeze(-3)).sum(-1)
    return (q @ (k.transpose(-1, -2) @ v)) / s.abs().clamp(min=1.0).sum(-1, keepdim=True)
""",
    "xlstm max state normaliser": """
def mlstm_out(q, c, n):
    num = torch.einsum("bhd,bhde->bhe", q, c)
    den = torch.maximum((q * n).sum(-1).abs(), torch.ones(()))[..., None]
    return num / den
""",
    "von mises fisher sampling": """
def project_sphere(mu, w, v):
    v = v - (v * mu).sum(-1, keepdim=True) * mu
    v = v / v.norm(dim=-1, keepdim=True)
    return w * mu + torch.sqrt(1 - w**2) * v
""",
    "householder": """
def householder(x, v):
    return x - 2 * v * (x * v).sum(-1, keepdim=True) / (v * v).sum(-1, keepdim=True)
""",
    "gram schmidt": """
def gram_schmidt(a, b):
    a = a / a.norm(dim=-1, keepdim=True)
    b = b - (a * b).sum(-1, keepdim=True) * a
    return a, b / b.norm(dim=-1, keepdim=True)
""",
    "lie algebra": """
def so3_exp(w):
    t = (w.square().sum(-1, keepdim=True) + 1e-8).sqrt()
    return torch.cat([torch.cos(t / 2), torch.sin(t / 2) * w / t], -1)
""",
    "poincare exp map": """
def expmap0(u, c=1.0):
    n = u.norm(dim=-1, keepdim=True).clamp_min(1e-15)
    return torch.tanh(math.sqrt(c) * n) * u / (math.sqrt(c) * n)
""",
    "lpips normalise": """
def normalize_tensor(in_feat, eps=1e-10):
    norm_factor = torch.sqrt(torch.sum(in_feat**2, dim=1, keepdim=True))
    return in_feat / (norm_factor + eps)
""",
    "stylegan demodulate": """
def demodulate(w, s):
    w = w * s[:, None, :, None, None]
    d = (w.square().sum(dim=[2, 3, 4]) + 1e-8).rsqrt()
    return w * d[:, :, None, None, None]
""",
    "adafactor factored": """
def approx_sq(row, col):
    r = (row / row.mean(-1, keepdim=True)).rsqrt_().unsqueeze(-1)
    return r * col.unsqueeze(-2).rsqrt()
""",
    "adafactor update": """
def adafactor(g, row, col, beta, eps=1e-30):
    u = g.square() + eps
    row.mul_(beta).add_(u.mean(-1), alpha=1 - beta)
    col.mul_(beta).add_(u.mean(-2), alpha=1 - beta)
    r = (row / row.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1)
    return g * r * col.rsqrt().unsqueeze(-2)
""",
    "laprop": """
def laprop(g, m, v, b1, b2, eps, lr):
    v.mul_(b2).addcmul_(g, g, value=1 - b2)
    m.mul_(b1).add_(g / (v.sqrt() + eps), alpha=lr * (1 - b1))
    return m
""",
    "row normalised muon": """
def normuon(o, v, beta):
    v.lerp_(o.square().mean(-1, keepdim=True), 1 - beta)
    n = o.norm()
    o = o / (v.sqrt() + 1e-10)
    return o * (n / o.norm().clamp(min=1e-10))
""",
    "dihedral": """
def normals(u, v):
    n = torch.cross(u, v, dim=-1)
    return n / n.square().sum(-1, keepdim=True).sqrt()
""",
    "spherical harmonics normalised by component": """
def component(x, lmax):
    x = F.normalize(x, dim=-1)
    return torch.cat([x.pow(l) * math.sqrt(2 * l + 1) for l in range(lmax + 1)], -1)
""",
    "temperature by rms of scores": """
def scaled_scores(q, k):
    s = q @ k.mT
    s32 = s.float()
    return (s32 / s32.square().mean(-1, keepdim=True).add(1e-6).sqrt()).to(s.dtype)
""",
    "residual balanced by rms": """
def add_balanced(x, y):
    rx = x.float().pow(2).mean(-1, keepdim=True).sqrt()
    ry = y.float().pow(2).mean(-1, keepdim=True).sqrt()
    return x + y * (rx / (ry + 1e-6)).to(y.dtype)
""",
    "perturbed by relative noise": """
def relative_noise(x, s):
    n = torch.randn_like(x)
    return x + s * n * x.norm(dim=-1, keepdim=True) / n.norm(dim=-1, keepdim=True)
""",
}
