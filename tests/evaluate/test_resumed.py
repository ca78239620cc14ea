"""A path that goes on from where it parts from another is the path that begins anew."""

from __future__ import annotations

import pytest

from normlint.evaluate.module import Module
from normlint.evaluate.run import Run
from normlint.rules import analysed
from tests.sound.__init__ import with_imports

RMS = "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"
CLASS = "class RMSNorm(nn.Module):\n"
TEXTS = {
    "a flag that the constructor keeps": f"""{CLASS}
    def __init__(self, d, affine=True, bias=False, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d)) if affine else None
        if bias:
            self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        y = {RMS}
        if self.weight is not None:
            y = y * self.weight
        return y
""",
    "a name that is bound again": f"""{CLASS}
    def forward(self, x, mask=None, wide=False):
        kept = x
        if wide:
            x = x.float()
        if mask is not None:
            x = x * mask
        x = {RMS}
        return x.to(kept.dtype)
""",
    "a function that sees a later value": f"""{CLASS}
    def forward(self, x, twice=False, half=False):
        scale = 1.0
        def inner(x):
            return {RMS} * scale
        if twice:
            scale = 2.0
        if half:
            x = x.half()
        return inner(x)
""",
    "an attribute that is set on the way": f"""{CLASS}
    def forward(self, x, training=False, other=False):
        self.seen = x
        if training:
            self.seen = x.float()
        if other:
            self.seen = self.seen * 2
        x = self.seen
        return {RMS}
""",
    "an attribute of an object of another class": f"""class Stats:
    scale = 1.0


{CLASS}
    def forward(self, x, training=False, other=False):
        stats = Stats()
        stats.scale = 2.0
        if training:
            x = x.float()
        if other:
            stats.scale = x.mean()
        else:
            stats.scale = stats.scale * 2
        return {RMS} * stats.scale
""",
    "a function that the constructor keeps": """class Normalizer(nn.Module):
    def __init__(self, dim, mode="rms", affine=False, eps=1e-6):
        super().__init__()
        self.affine = affine
        self.weight = nn.Parameter(torch.ones(dim))
        if mode == "none":
            stat = lambda x: torch.ones_like(x)
        else:
            stat = lambda x: x.pow(2).mean(-1, keepdim=True)
        self.scale = lambda x: torch.rsqrt(stat(x) + eps)

    def forward(self, x, mean=None):
        if mean is None:
            mean = x.mean(-1, keepdim=True)
            return mean
        return x * self.scale(x) * self.weight
""",
    "an early return": f"""{CLASS}
    def forward(self, x, skip=False, wide=False):
        if skip:
            return x
        if wide:
            x = x.double()
        return {RMS}
""",
    "a dtype that is asked for": f"""{CLASS}
    def forward(self, x):
        if x.dtype == torch.float16:
            x = x.float()
        elif x.dtype == torch.bfloat16:
            x = x.float()
        return {RMS}
""",
    "statements of the unit": """
x = torch.randn(4, 8)
if torch.cuda.is_available():
    x = x.half()
if verbose:
    print(x)
y = x / torch.sqrt(x.pow(2).mean(-1, keepdim=True))
""",
    "a path that ends with an exception": f"""{CLASS}
    def forward(self, x, residual=None, strict=False):
        if strict:
            raise ValueError
        if residual is not None:
            x = x + residual
        return {RMS}
""",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_answers_are_the_same_with(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_up: list[int] = []
    begin = Run.__init__

    def counting(run: Run, *given: object) -> None:
        begin(run, *given)  # type: ignore[arg-type]
        taken_up.append(len(run._trail))

    monkeypatch.setattr(Run, "__init__", counting)
    resumed = analysed(Module(with_imports(text)))
    assert any(taken_up)
    monkeypatch.setattr(Run, "trail_to", lambda run, number: ())
    assert analysed(Module(with_imports(text))) == resumed
    assert resumed.norms
