"""What constructors take."""

from __future__ import annotations

import torch

from tests.building.case import FORWARD, Case, cls, layer, rms

CONSTRUCTORS = {
    "a hidden_size": Case(cls(", hidden_size", "hidden_size"), rms()),
    "a hidden_size with an eps": Case(cls(", hidden_size, eps=1e-5", "hidden_size, eps=eps"), rms(), 1e-5, True, True),
    "an eps that is required": Case(cls(", dim, eps", "dim, eps=eps"), rms(), 1e-6, True, True),
    "an eps that is stored nowhere": Case(cls(", dim, eps=1e-3", "dim"), rms(), 1e-3, True, True),
    "a config": Case(
        cls(", config", "config.hidden_size, eps=config.rms_norm_eps"), rms(), 1e-6, True, True
    ),
    "a config read like a dict, by getattr and by get": Case(
        cls(", cfg", "cfg['dim'], eps=getattr(cfg, 'eps', 1e-3)", "self.drop = cfg.get('dropout', 0.1)"),
        rms(), 1e-6, True, True,
    ),
    "a config known by its annotation": Case(cls(", c: LlamaConfig", "c.n_embd"), rms()),
    "an unknown name annotated int": Case(cls(", many: int", "many"), rms()),
    "a mode that makes it another norm": Case(
        cls(
            ", dim, mode='layer'", "dim", "self.mode = mode",
            "    def forward(self, x):\n        x = x if self.mode == 'rms' else x - x.mean(-1, keepdim=True)\n"
            "        return self._norm(x) * self.weight\n",
        ),
        rms(),
    ),
    "a size that is passed by its place alone": Case(cls(", d, /, eps=1e-5", "d, eps=eps"), rms(), 1e-5, True, True),
    "an unknown name, alone": Case(cls(", k", "k"), rms()),
    "several unknown things of known types": Case(
        cls(", dim: int, layer_idx: int, dropout: float, fused: bool, act_layer, mode: str", "dim"), rms()
    ),
    "a features name with None for its default": Case(
        cls(", dim=None, eps=1e-6", "dim", "self.eps = eps"), rms(), 1e-6, True, True
    ),
    "a dim that is an axis": Case(
        "class Norm(nn.Module):\n    def __init__(self, dim=-1, eps=1e-6):\n        super().__init__()\n"
        "        self.dim, self.eps = dim, eps\n    def forward(self, x):\n"
        "        return x * torch.rsqrt(x.pow(2).mean(self.dim, keepdim=True) + self.eps)\n",
        rms(""), 1e-6, False, True,
    ),
    "eps as its first and only parameter": Case(
        "class Norm(nn.Module):\n    def __init__(self, eps=1e-4):\n        super().__init__()\n        self.e = eps\n"
        "    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.e)\n",
        rms(""), 1e-4, False, True,
    ),
    "a normalized_shape that must be a tuple": Case(
        cls(", normalized_shape", "*normalized_shape", "self.n = len(normalized_shape)"), rms(axes=None)
    ),
    "a normalized_shape that may be a number": Case(cls(", normalized_shape: int", "normalized_shape"), rms(axes=None)),
    "a bias that is required": Case(
        "class Norm(nn.Module):\n    def __init__(self, ndim, bias):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(ndim))\n"
        "        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None\n"
        "    def forward(self, input):\n"
        "        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)\n",
        layer(eps=1e-5), 1e-5,
    ),
    "all arguments handed on to nn.LayerNorm": Case(
        "class Norm(nn.LayerNorm):\n    def __init__(self, *args, mode='plain', **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n", layer(axes=None), 1e-5, True, True,
    ),
    "the rest handed on to a base": Case(
        "class Norm(Core):\n    def __init__(self, hidden_size, **kwargs):\n"
        "        super().__init__(hidden_size, **kwargs)\n" + FORWARD, rms(), 1e-6, True, True,
    ),
    "no constructor of its own": Case(
        "class Norm(nn.RMSNorm):\n    pass\n", rms(axes=None), torch.finfo(torch.float32).eps, True, True
    ),
    "groups that may be one": Case(
        cls(", dim, num_groups", "dim", "self.g = num_groups",
            "    def forward(self, x):\n        y = x.unflatten(-1, (self.g, -1))\n"
            "        return self._norm(y).flatten(-2) * self.weight\n"), rms(),
    ),
    "a group_size": Case(
        cls(", hidden_size, group_size", "hidden_size", "self.g = group_size",
            "    def forward(self, x):\n        y = x.view(*x.shape[:-1], -1, self.g)\n"
            "        return self._norm(y).view(x.shape) * self.weight\n"), rms(),
    ),
    "two groups and no choice": Case(
        cls(", dim", "dim", "",
            "    def forward(self, x):\n        y = x.unflatten(-1, (2, -1))\n"
            "        return self._norm(y).flatten(-2) * self.weight\n"), rms(), 1e-6, False,
    ),
    "a gain one level down": Case(
        "class Norm(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.inner = Core(dim)\n    def forward(self, x):\n"
        "        return self.inner._norm(x) * self.inner.weight\n",
        rms("inner.weight"),
    ),
    "a gain in a list": Case(
        cls(", dim", "dim", "self.gains = nn.ParameterList([nn.Parameter(torch.ones(dim))])",
            "    def forward(self, x):\n        return self._norm(x) * self.gains[0]\n"), rms("gains.0"),
    ),
    "a gain that is a plain tensor": Case(
        "class Norm:\n    def __init__(self, dim):\n        self.weight = torch.ones(dim)\n"
        "    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * self.weight\n",
        rms(), None,
    ),
    "a gain that counts from zero": Case(
        cls(", dim", "dim", "self.weight.data.zero_()",
            "    def forward(self, x):\n        return self._norm(x) * (1 + self.weight)\n"), rms(offset=1.0),
    ),
    "a gain for one input of a block with a mode": Case(
        "class Norm(nn.LayerNorm):\n    def __init__(self, dim, data_format='channels_last'):\n"
        "        super().__init__(dim)\n        self.mode = data_format\n    def forward(self, x):\n"
        "        if self.mode == 'channels_first':\n"
        "            return super().forward(x.movedim(1, -1)).movedim(-1, 1)\n"
        "        return super().forward(x)\n", layer(axes=(1,)), 1e-5, True, False, (3, 4),
    ),
}  # fmt: skip
