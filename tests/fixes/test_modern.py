"""NRM601: one operation for two."""

from __future__ import annotations

import pytest

from tests.fixes.module_cases import (
    SAFE,
    FixedText,
    function,
    is_fixed,
    stays,
)

MS = "h.pow(2).mean(-1, keepdim=True) + eps"


def rooted(*lines: str) -> str:
    return function("h = x.float()", *lines, "return y.type_as(x) * weight")


STAYS = {
    "the root is used for something else, too": (
        "NRM601",
        rooted(f"rms = torch.sqrt({MS})", "y = h / rms", "y = y + 0 * rms"),
    ),
    "the helper gives the root back": (
        "NRM601",
        f"import torch\n\n\ndef _rms(h, eps):\n    return torch.sqrt({MS})\n\n\n"
        "def rms_norm(x, weight, eps=1e-6):\n    h = x.float()\n    return (h / _rms(h, eps)).type_as(x) * weight\n",
    ),
}

MENDED = {
    "one over a root": (
        ("NRM601", SAFE),
        rooted(f"y = h * (1 / torch.sqrt({MS}))"),
        ((f"(1 / torch.sqrt({MS}))", f"torch.rsqrt({MS})"),),
    ),
    "divided by a root": (
        ("NRM601", SAFE),
        rooted(f"y = h / torch.sqrt({MS})"),
        (("h / torch.sqrt", "h * torch.rsqrt"),),
    ),
    "divided by a method's": (
        ("NRM601", SAFE),
        rooted(f"y = h.div(({MS}).sqrt())"),
        ((f"h.div(({MS}).sqrt())", f"h * ({MS}).rsqrt()"),),
    ),
    "divided by a power": (
        ("NRM601", SAFE),
        rooted(f"y = h / ({MS}) ** 0.5"),
        ((f"h / ({MS}) ** 0.5", f"h * torch.rsqrt({MS})"),),
    ),
    "divided by torch's power": (
        ("NRM601", SAFE),
        rooted(f"y = h / torch.pow({MS}, 0.5)"),
        (("h / torch.pow", "h * torch.rsqrt"), (", 0.5)", ")")),
    ),
    "the reciprocal of a root": (
        ("NRM601", SAFE),
        rooted(f"y = h * torch.reciprocal(torch.sqrt({MS}))"),
        ((f"torch.reciprocal(torch.sqrt({MS}))", f"torch.rsqrt({MS})"),),
    ),
    "a root's method reciprocal": (
        ("NRM601", SAFE),
        rooted(f"y = h * ({MS}).sqrt().reciprocal()"),
        ((f"({MS}).sqrt().reciprocal()", f"({MS}).rsqrt()"),),
    ),
    "through a name, which says then that it is an inverse": (
        ("NRM601", SAFE),
        rooted(f"rms = torch.sqrt({MS})", "y = h / rms"),
        ((f"rms = torch.sqrt({MS})", f"inv_rms = torch.rsqrt({MS})"), ("h / rms", "h * inv_rms")),
    ),
    "through any word for it": (
        ("NRM601", SAFE),
        rooted(f"mag = torch.sqrt({MS})", "y = h / mag"),
        ((f"mag = torch.sqrt({MS})", f"inv_mag = torch.rsqrt({MS})"), ("h / mag", "h * inv_mag")),
    ),
    "by a method, through a name that says nothing": (
        ("NRM601", SAFE),
        rooted(f"r = ({MS}).sqrt()", "y = (h.float() / r)"),
        (("sqrt()", "rsqrt()"), ("h.float() / r", "h.float() * r")),
    ),
    "through a name that is given another value afterwards": (
        ("NRM601", SAFE),
        rooted(f"r = torch.sqrt({MS})", "y = h / r", "r = None"),
        (("torch.sqrt", "torch.rsqrt"), ("h / r", "h * r")),
    ),
    "through a name whose inverse is another one's": (
        ("NRM601", SAFE),
        rooted("inv_rms = 2", f"rms = torch.sqrt({MS})", "y = h / rms"),
        ((f"    rms = torch.sqrt({MS})\n", ""), ("h / rms", f"h * torch.rsqrt({MS})")),
    ),
}


@pytest.mark.parametrize(("code", "text"), STAYS.values(), ids=STAYS)
def test_what_cannot_be_fixed_with_certainty_is_reported_and_stays(code: str, text: str) -> None:
    stays(code, text)


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED)
def test_what_is_fixed_reads_as_its_author_would_have_written_it(case: FixedText) -> None:
    is_fixed(case)
