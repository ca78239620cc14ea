"""Sound: data and retrieval."""

from __future__ import annotations

CASES: dict[str, str] = {
    "grpo group advantages": """
def compute_advantages(rewards, num_generations):
    mean = rewards.view(-1, num_generations).mean(dim=1)
    std = rewards.view(-1, num_generations).std(dim=1)
    mean = mean.repeat_interleave(num_generations, dim=0)
    std = std.repeat_interleave(num_generations, dim=0)
    return (rewards - mean) / (std + 1e-4)
""",
    "reinforce returns": """
def finish_episode(rewards, log_probs, gamma=0.99, eps=1e-8):
    R, returns = 0, []
    for r in rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    return sum(-lp * R for lp, R in zip(log_probs, returns))
""",
    "z-score of a data set": """
def zscore(x, dim=0, eps=1e-8):
    mu = x.mean(dim=dim, keepdim=True)
    sd = x.std(dim=dim, keepdim=True)
    return (x - mu) / (sd + eps)
""",
    "a standard scaler": """
class StandardScaler:
    def fit(self, x):
        self.mean = x.mean(0)
        self.std = x.std(0)
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def fit_transform(self, x):
        self.fit(x)
        return self.transform(x)
""",
    "running mean and std of observations": """
class RunningNorm:
    def __init__(self, shape, eps=1e-8):
        self.mean = torch.zeros(shape)
        self.var = torch.ones(shape)
        self.count = eps

    def update(self, x):
        batch_mean, batch_var, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
        delta = batch_mean - self.mean
        tot = self.count + n
        self.mean = self.mean + delta * n / tot
        self.var = (self.var * self.count + batch_var * n + delta ** 2 * self.count * n / tot) / tot
        self.count = tot

    def normalize(self, x):
        return (x - self.mean) / (self.var + 1e-8).sqrt()
""",
    "image normalisation with known statistics": """
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

def normalize_image(img):
    return (img.float() / 255 - MEAN) / STD
""",
    "standardisation of each image": """
def per_image_standardization(image):
    mean = image.mean()
    std = image.std()
    n = image.numel()
    return (image - mean) / torch.clamp(std, min=1.0 / math.sqrt(n))
""",
    "adain style transfer": """
def calc_mean_std(feat, eps=1e-5):
    N, C = feat.size()[:2]
    feat_var = feat.view(N, C, -1).var(dim=2) + eps
    feat_std = feat_var.sqrt().view(N, C, 1, 1)
    feat_mean = feat.view(N, C, -1).mean(dim=2).view(N, C, 1, 1)
    return feat_mean, feat_std

def adaptive_instance_normalization(content_feat, style_feat):
    size = content_feat.size()
    style_mean, style_std = calc_mean_std(style_feat)
    content_mean, content_std = calc_mean_std(content_feat)
    normalized_feat = (content_feat - content_mean.expand(size)) / content_std.expand(size)
    return normalized_feat * style_std.expand(size) + style_mean.expand(size)
""",
    "guidance rescaling": """
def rescale_noise_cfg(noise_cfg, noise_pred_text, guidance_rescale=0.0):
    std_text = noise_pred_text.std(dim=list(range(1, noise_pred_text.ndim)), keepdim=True)
    std_cfg = noise_cfg.std(dim=list(range(1, noise_cfg.ndim)), keepdim=True)
    noise_pred_rescaled = noise_cfg * (std_text / std_cfg)
    return guidance_rescale * noise_pred_rescaled + (1 - guidance_rescale) * noise_cfg
""",
    "cosine similarity": """
def cosine_sim(a, b, eps=1e-8):
    a_n = a / a.norm(dim=-1, keepdim=True).clamp_min(eps)
    b_n = b / b.norm(dim=-1, keepdim=True).clamp_min(eps)
    return a_n @ b_n.transpose(-1, -2)
""",
    "cosine similarity that divides by both norms": """
def cosine_similarity(x, y, eps=1e-8):
    num = (x * y).sum(-1)
    den = x.norm(dim=-1) * y.norm(dim=-1)
    return num / den.clamp(min=eps)
""",
    "clip features and logits": """
class CLIP(nn.Module):
    def __init__(self, visual, text):
        super().__init__()
        self.visual, self.text = visual, text
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, image, text):
        image_features = self.visual(image)
        text_features = self.text(text)
        image_features = image_features / image_features.norm(dim=1, keepdim=True)
        text_features = text_features / text_features.norm(dim=1, keepdim=True)
        logit_scale = self.logit_scale.exp()
        logits = logit_scale * image_features @ text_features.t()
        return logits, logits.t()
""",
    "info nce": """
def info_nce(query, key, temperature=0.1):
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    logits = query @ key.t() / temperature
    return F.cross_entropy(logits, torch.arange(len(query), device=query.device))
""",
    "nt-xent with normalize by default on two axes": """
class NTXent(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature

    def forward(self, zi, zj):
        z = F.normalize(torch.cat([zi, zj], dim=0))
        sim = torch.exp(z @ z.t() / self.temperature)
        mask = ~torch.eye(len(z), dtype=torch.bool, device=z.device)
        pos = torch.exp((F.normalize(zi) * F.normalize(zj)).sum(-1) / self.temperature)
        return -torch.log(pos.repeat(2) / sim.masked_select(mask).view(len(z), -1).sum(-1)).mean()
""",
    "barlow twins": """
def barlow(z1, z2, lambd=5e-3):
    n, d = z1.shape
    z1 = (z1 - z1.mean(0)) / z1.std(0)
    z2 = (z2 - z2.mean(0)) / z2.std(0)
    c = z1.T @ z2 / n
    on = (torch.diagonal(c) - 1).pow(2).sum()
    off = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
    return on + lambd * off
""",
    "vicreg": """
def vicreg(x, y):
    x = x - x.mean(dim=0)
    y = y - y.mean(dim=0)
    std_x = torch.sqrt(x.var(dim=0) + 0.0001)
    std_y = torch.sqrt(y.var(dim=0) + 0.0001)
    std_loss = torch.mean(F.relu(1 - std_x)) / 2 + torch.mean(F.relu(1 - std_y)) / 2
    cov_x = (x.T @ x) / (x.shape[0] - 1)
    return std_loss + cov_x.pow(2).sum() / x.shape[1]
""",
    "arcface head": """
class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=30.0, m=0.50):
        super().__init__()
        self.s, self.m = s, m
        self.weight = nn.Parameter(torch.FloatTensor(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input, label):
        cosine = F.linear(F.normalize(input), F.normalize(self.weight))
        sine = torch.sqrt(1.0 - torch.pow(cosine, 2)).clamp(0, 1)
        phi = cosine * math.cos(self.m) - sine * math.sin(self.m)
        one_hot = torch.zeros_like(cosine).scatter_(1, label.view(-1, 1).long(), 1)
        return self.s * (one_hot * phi + (1.0 - one_hot) * cosine)
""",
    "a softmax by hand": """
def softmax(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)
""",
    "scaled dot product attention": """
def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return scores.softmax(-1) @ v
""",
    "masked mean pooling and normalisation of embeddings": """
def mean_pooling(token_embeddings, attention_mask):
    mask = attention_mask.unsqueeze(-1).expand(token_embeddings.size()).float()
    emb = torch.sum(token_embeddings * mask, 1) / torch.clamp(mask.sum(1), min=1e-9)
    return F.normalize(emb, p=2, dim=1)
""",
    "squash of capsules": """
def squash(s, dim=-1, eps=1e-8):
    sq = torch.sum(s ** 2, dim=dim, keepdim=True)
    return sq / (1 + sq) * s / torch.sqrt(sq + eps)
""",
    "quaternions to rotations": """
def quat_to_rot(q):
    norm = torch.sqrt(q[:, 0] ** 2 + q[:, 1] ** 2 + q[:, 2] ** 2 + q[:, 3] ** 2)
    q = q / norm[:, None]
    r, x, y, z = q.unbind(-1)
    return torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y)], -1)
""",
    "six dimensions to a rotation": """
def rotation_6d_to_matrix(d6):
    a1, a2 = d6[..., :3], d6[..., 3:]
    b1 = F.normalize(a1, dim=-1)
    b2 = a2 - (b1 * a2).sum(-1, keepdim=True) * b1
    b2 = F.normalize(b2, dim=-1)
    b3 = torch.cross(b1, b2, dim=-1)
    return torch.stack((b1, b2, b3), dim=-2)
""",
    "quaternion normalisation by sum of squares": """
def normalize_quaternion(quaternion: torch.Tensor, eps: float = 1e-12) -> torch.Tensor:
    return F.normalize(quaternion, p=2.0, dim=-1, eps=eps)

def standardize_quaternion(q):
    q = q / q.pow(2).sum(-1, keepdim=True).sqrt()
    return torch.where(q[..., 0:1] < 0, -q, q)
""",
    "a projection onto a direction": """
def project(v, u):
    return v - (v * u).sum(-1, keepdim=True) / (u * u).sum(-1, keepdim=True) * u
""",
    "directional ablation": """
def ablate(activation, direction):
    direction = direction / (direction.norm(dim=-1, keepdim=True) + 1e-8)
    return activation - (activation @ direction).unsqueeze(-1) * direction
""",
    "adam": """
class Adam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                g = p.grad
                st = self.state[p]
                st["m"] = b1 * st["m"] + (1 - b1) * g
                st["v"] = b2 * st["v"] + (1 - b2) * g.pow(2)
                p.data -= group["lr"] * st["m"] / (st["v"].sqrt() + group["eps"])
""",
    "lamb trust ratio": """
def lamb_step(p, update, lr):
    w_norm = p.data.pow(2).sum().sqrt()
    u_norm = update.pow(2).sum().sqrt()
    trust = torch.where(w_norm > 0, torch.where(u_norm > 0, w_norm / u_norm, 1.0), 1.0)
    p.data.add_(update * trust, alpha=-lr)
""",
    "adafactor": """
class Adafactor(torch.optim.Optimizer):
    @staticmethod
    def _rms(tensor):
        return tensor.norm(2) / (tensor.numel() ** 0.5)

    @staticmethod
    def _approx_sq_grad(exp_avg_sq_row, exp_avg_sq_col):
        r_factor = (exp_avg_sq_row / exp_avg_sq_row.mean(dim=-1, keepdim=True)).rsqrt_().unsqueeze(-1)
        c_factor = exp_avg_sq_col.unsqueeze(-2).rsqrt()
        return torch.mul(r_factor, c_factor)

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad.float()
                update = grad ** 2 + group["eps"][0]
                row, col = update.mean(dim=-1), update.mean(dim=-2)
                update = self._approx_sq_grad(row, col).mul_(grad)
                update.div_((self._rms(update) / group["clip_threshold"]).clamp_(min=1.0))
                p.data.add_(-update)
""",
}
