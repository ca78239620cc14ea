import torch
import torch.nn as nn


class FC(nn.Module):
    def __init__(self, in_channels, out_channels, gain=2 ** 0.5, use_wscale=False, lrmul=1.0, bias=True):
        super().__init__()
        he_std = gain * in_channels ** (-0.5)
        init_std = 1.0 / lrmul if use_wscale else he_std / lrmul
        self.w_lrmul = he_std * lrmul if use_wscale else lrmul
        self.weight = nn.Parameter(torch.randn(out_channels, in_channels) * init_std)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        self.b_lrmul = lrmul

    def forward(self, x):
        bias = self.bias * self.b_lrmul if self.bias is not None else None
        return nn.functional.leaky_relu(nn.functional.linear(x, self.weight * self.w_lrmul, bias), 0.2)


class PixelNorm(nn.Module):
    def __init__(self, epsilon=1e-8):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, z):
        x = z.float()
        # x = x * torch.rsqrt(torch.mean(x * x, dim=1, keepdim=True) + self.epsilon)
        x = x * torch.rsqrt(torch.mean(x * x, dim=1, keepdim=True) + self.epsilon)
        return x.to(z.dtype)


class G_mapping(nn.Module):
    """Maps a latent code z to the intermediate w."""

    def __init__(self, dlatent_size=512, mapping_fmaps=512, normalize_latents=True):
        super().__init__()
        self.normalize = PixelNorm() if normalize_latents else nn.Identity()
        self.func = nn.Sequential(
            FC(dlatent_size, mapping_fmaps, lrmul=0.01, use_wscale=True),
            FC(mapping_fmaps, dlatent_size, lrmul=0.01, use_wscale=True),
        )

    def forward(self, z):
        return self.func(self.normalize(z))
