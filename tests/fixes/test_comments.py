"""What a fix does with comments: they stay, but for those behind a statement that goes."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fix_text

MS = "h.pow(2).mean(-1, keepdim=True)"
KEPT = {
    "within the parentheses of what is no longer a power": (
        f"r = ({MS} + eps  # why\n        ) ** 0.5\n    y = h / r",
        f"r = torch.rsqrt({MS} + eps  # why\n        )\n    y = h * r",
    ),
    "within the parentheses of a root that becomes an inverse one": (
        f"r = (1 / torch.sqrt(  # why\n        {MS} + eps))\n    y = h * r",
        f"r = (torch.rsqrt(  # why\n        {MS} + eps))\n    y = h * r",
    ),
    "at the end of a block that is no longer one": (
        f"with torch.no_grad():\n        r = torch.rsqrt({MS} + eps)\n        # why\n    y = h * r",
        f"r = torch.rsqrt({MS} + eps)\n    # why\n    y = h * r",
    ),
    "above a root that goes, which come to stand above the division": (
        f"inv_rms = 0\n    # over the features\n    rms = torch.sqrt({MS} + eps)\n    # the norm\n    y = h / rms",
        f"inv_rms = 0\n    # over the features\n    # the norm\n    y = h * torch.rsqrt({MS} + eps)",
    ),
    "above a print that goes": (
        f"# the input\n    print(x)\n    y = h * torch.rsqrt({MS} + eps)",
        f"# the input\n    y = h * torch.rsqrt({MS} + eps)",
    ),
    "behind a print, which go together": (
        f"print(x)  # why\n    y = h * torch.rsqrt({MS} + eps)",
        f"y = h * torch.rsqrt({MS} + eps)",
    ),
}


def norm(body: str) -> str:
    return (
        "import torch\n\n\ndef rms_norm(x, weight, eps=1e-6):\n    h = x.float()\n"
        f"    {body}\n    return y.type_as(x) * weight\n"
    )


@pytest.mark.parametrize(("before", "after"), KEPT.values(), ids=KEPT)
def test_comments(before: str, after: str) -> None:
    made = fix_text(norm(before), lambda code: code != "NRM602")
    assert made.made
    assert made.text == norm(after)


def test_what_would_lose_a_comment_is_not_fixed() -> None:
    text = norm(f"r = (1  # why\n        / torch.sqrt({MS} + eps))\n    y = h * r")
    assert fix_text(text, lambda code: code != "NRM602").text == text
