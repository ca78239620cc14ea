"""Norms around a few lines, and what NRM101 to NRM106 make of them."""

from __future__ import annotations

from dataclasses import dataclass

from normlint.text.finding import Applicability
from tests.fixes.fixing import fix_text, only

CODES = tuple(f"NRM10{n}" for n in range(1, 7))


@dataclass(frozen=True, slots=True)
class Case:
    """A text and the replacements that fix it; none where it must stay."""

    says: str
    code: str
    text: str
    changes: tuple[tuple[str, str], ...] = ()
    safe: bool = True

    @property
    def after(self) -> str:
        text = self.text
        for old, new in self.changes:
            assert text.count(old) == 1, f"{old} stands {text.count(old)} times"
            text = text.replace(old, new)
        return text


def module(*body: str, name: str = "RMSNorm", init: str = "", gain: str = "self.weight", more: str = "") -> str:
    """A module with a gain along the last axis."""
    setup = f"        {init}\n" if init else ""
    lines = "".join(f"        {line}\n" for line in body)
    return (
        "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
        f"class {name}(nn.Module):\n{more}"
        f"    def __init__(self, dim, eps=1e-6):\n        super().__init__()\n        self.eps = eps\n{setup}"
        f"        self.weight = nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n        h = x.float()\n"
        f"{lines}        return y.type_as(x) * {gain}\n"
    )


def is_fixed(case: Case) -> None:
    """Exactly the replacements are made, and nothing is left."""
    done = fix_text(case.text, only(*CODES))
    assert done.text == case.after
    assert case.code in {made.code for made in done.made}
    assert done.left == ()
    assert done.settled
    sure = Applicability.SAFE if case.safe else Applicability.UNSAFE
    assert {made.fix.applicability for made in done.made if made.code == case.code} == {sure}


def stays(case: Case) -> None:
    """The finding is there, and no edit is made."""
    done = fix_text(case.text, only(*CODES))
    assert case.code in {left.code for left in done.left}
    assert done.text == case.text
