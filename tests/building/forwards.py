"""What forwards take and give back."""

from __future__ import annotations

from tests.building.case import CORE, SQUARES, Case, cls, layer, rms

ADA = (
    "class Norm(nn.Module):\n    def __init__(self, dim, cond_dim):\n        super().__init__()\n"
    "        self.linear = nn.Linear(cond_dim, 2 * dim)\n    def forward(self, x, emb):\n"
    "        scale, shift = self.linear(F.silu(emb)).chunk(2, -1)\n"
    "        y = F.layer_norm(x, x.shape[-1:], eps=1e-6)\n"
)
FORWARDS = {
    "dropout after the norm, in training": Case(
        cls(", dim, p=0.5", "dim", "self.drop = nn.Dropout(p)", "")
        + "    def forward(self, x):\n        return self.drop(self._norm(x) * self.weight)\n", rms()
    ),
    "dropout as a function after the norm": Case(
        cls(", dim, dropout=0.5", "dim", "self.p = dropout", "")
        + "    def forward(self, x):\n        return F.dropout(self._norm(x) * self.weight, self.p, self.training)\n",
        rms()
    ),
    "a residual": Case(
        CORE + "    def forward(self, x, residual):\n        return self._norm(x + residual) * self.weight\n", rms()
    ),
    "a residual that may be left out, and two outputs": Case(
        CORE + "    def forward(self, x, residual=None):\n        x = x if residual is None else x + residual\n"
        "        return x, self._norm(x) * self.weight\n", rms(),
    ),
    "an output in a dict": Case(
        CORE + "    def forward(self, x):\n        return {'in': x, 'out': self._norm(x) * self.weight}\n", rms()
    ),
    "an output in a dataclass": Case(
        "@dataclass\nclass Out:\n    mean: object\n    y: object\n" + CORE
        + "    def forward(self, x):\n        return Out(None, self._norm(x) * self.weight)\n", rms(),
    ),
    "a gate through silu": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x) * self.weight * F.silu(gate)\n", rms()
    ),
    "a gate through sigmoid": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x) * self.weight * gate.sigmoid()\n", rms()
    ),
    "a gate that is a plain factor": Case(
        CORE + "    def forward(self, x, z):\n        return self._norm(x) * self.weight * z\n", rms()
    ),
    "a gate in front of the norm": Case(
        CORE + "    def forward(self, x, gate):\n        return self._norm(x * F.silu(gate)) * self.weight\n", rms()
    ),
    "a gate that may be None": Case(
        CORE + "    def forward(self, x, gate):\n        y = self._norm(x) * self.weight\n"
        "        return y if gate is None else y * gate * 3\n", rms(),
    ),
    "an adaptive scale and shift for a sequence": Case(
        CORE + "    def forward(self, x, scale, shift):\n"
        "        return self._norm(x) * self.weight * (1 + scale[:, None]) + shift[:, None]\n", rms(),
        ranks=(3,),
    ),
    "a condition through a layer": Case(
        ADA + "        return y * (1 + scale[:, None]) + shift[:, None]\n",
        layer("", "", eps=1e-6), 1e-6, False, False, (3,),
    ),
    "a mask": Case(
        CORE + "    def forward(self, x, attention_mask):\n"
        "        return self._norm(x) * self.weight * attention_mask[..., None]\n", rms(),
    ),
    "a weight handed over": Case(
        "class Norm(nn.Module):\n    def forward(self, x, weight, eps=1e-6):\n"
        "        return F.rms_norm(x, weight.shape, weight, eps)\n", rms("weight"), 1e-6, True, True,
    ),
    "an input that isn't the first": Case(
        CORE + "    def forward(self, residual, x):\n        return self._norm(x + residual) * self.weight\n", rms()
    ),
    "channels first in four axes": Case(
        cls(", num_channels", "num_channels, 1, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,)), 1e-6, True, False, (4,),
    ),
    "channels first in three axes": Case(
        cls(", channels", "1, channels, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,)), 1e-6, True, False, (3,),
    ),
    "features three from the end": Case(
        cls(", channels", "channels, 1, 1", "",
            "    def forward(self, x):\n        y = x * torch.rsqrt(x.pow(2).mean(-3, keepdim=True) + 1e-6)\n"
            "        return y * self.weight\n"),
        rms(axes=(-3,)), 1e-6, True, False, (3, 4),
    ),
    "channels first in four axes where a gain of four seemed to tell of five": Case(
        cls(", channels", "1, channels, 1, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,), rank=5), 1e-6, True, False, (4,),
    ),
    "channels first in five axes": Case(
        cls(", channels", "channels, 1, 1, 1", "",
            f"    def forward(self, x):\n        return x * torch.rsqrt({SQUARES} + 1e-6) * self.weight\n"),
        rms(axes=(1,)), 1e-6, True, False, (5,),
    ),
    "heads that the gain is flat over": Case(
        cls(", num_heads, head_dim", "num_heads * head_dim", "self.heads = num_heads",
            "    def forward(self, x):\n        b, s, h, d = x.shape\n        if h != self.heads:\n"
            "            raise ValueError(h)\n        return self._norm(x).reshape(b, s, -1) * self.weight\n"),
        rms(rank=4), 1e-6, True, False, (3,),
    ),
    "an axis that is the last of three": Case(
        cls(", dim", "dim", "", "    def forward(self, x):\n"
            "        return x * torch.rsqrt(x.pow(2).mean(2, keepdim=True) + 1e-6) * self.weight\n"),
        rms(), 1e-6, True, False, (3,),
    ),
    "two axes by their normalized_shape": Case(
        cls(", normalized_shape", "*normalized_shape", "",
            "    def forward(self, x):\n        d = (-2, -1)\n"
            "        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(-2, -1)),
    ),
    "a plane, a gain for each of its columns": Case(
        cls(", dim", "dim", "",
            "    def forward(self, x):\n        d = (-2, -1)\n"
            "        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(-2, -1)),
    ),
    "channels and a plane, a gain for each channel": Case(
        cls(", channels", "1, channels, 1, 1", "",
            "    def forward(self, x):\n        d = (1, 2, 3)\n"
            "        return x * torch.rsqrt(x.pow(2).mean(d, keepdim=True) + 1e-6) * self.weight\n"),
        rms(axes=(1, 2, 3), rank=4), 1e-6, True, False, (2,),
    ),
    "a gain on its input": Case(
        cls(", dim", "dim", "", "    def forward(self, x):\n        return self._norm(x * self.weight)\n"),
        rms(""), 1e-6, False,
    ),
    "only the factor is returned": Case(
        CORE + "    def forward(self, x):\n        return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)\n",
        rms(""), 1e-6, False,
    ),
}  # fmt: skip
