"""What the tests on eps have in common: a text, its rule, and the changes that are expected of the fix."""

from __future__ import annotations

from dataclasses import dataclass

from normlint.fixes import analyse
from normlint.text.finding import Applicability
from tests.fixes.fixing import fix_text, only

IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


@dataclass(frozen=True)
class Case:
    """A text with a finding of `code`; `changes`: what stands once in it, and what stands there afterwards."""

    says: str
    code: str
    text: str
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def before(self) -> str:
        return IMPORTS + self.text

    @property
    def after(self) -> str:
        text = self.before
        for old, new in self.changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
            text = text.replace(old, new)
        return text


def module(parameters: str, stored: str, *forward: str) -> str:
    """An RMSNorm with these parameters and this line in its constructor ("" for none)."""
    lines = [f"    def __init__(self, {parameters}):", "        super().__init__()"]
    lines += [f"        {stored}"] if stored else []
    lines += ["        self.weight = nn.Parameter(torch.ones(dim))", "", "    def forward(self, x):"]
    return "\n".join(["class RMSNorm(nn.Module):", *lines, *(f"        {line}" for line in forward), ""])


def function(parameters: str, *body: str) -> str:
    """An rms_norm of x and weight."""
    return "\n".join([f"def rms_norm(x, weight{parameters}):", *(f"    {line}" for line in body), ""])


def stays(case: Case) -> None:
    """There is a finding, and it is left alone."""
    found = [f for f in analyse(case.before).findings if f.code == case.code]
    assert found, "the rule says nothing"
    assert all(f.fix is None or f.fix.applicability is Applicability.DISPLAY for f in found)


def is_fixed(case: Case) -> None:
    """The changes are made, all by one fix, and nothing is left to do."""
    fixed = fix_text(case.before, only(case.code))
    assert fixed.text == case.after
    assert [made.code for made in fixed.made] == [case.code]
    assert not fixed.left
