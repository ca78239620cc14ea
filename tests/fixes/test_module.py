"""NRM502 and NRM503: the input stays what it was, and nothing is printed."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from tests.fixes.module_cases import NORM, RETURN, SAFE, SCALED, UNSAFE, FixedText, forward, function, is_fixed, stays

STAYS = {
    "a caller that drops the result": (
        "NRM502",
        function("x = x.float()", f"x.mul_({SCALED})", "return x * weight")
        + "\n\nrms_norm(torch.ones(2, 4), torch.ones(4))\n",
    ),
    "part of a tensor": (
        "NRM502",
        function("x[..., :4] *= 2", f"h = x.float() * {SCALED}", "return h.type_as(x) * weight"),
    ),
    "a print that changes something": ("NRM503", forward("h = x.float()", "print(h.mul_(2))", NORM, "return h")),
    "a print that gives a name a value": (
        "NRM503",
        forward("h = x.float()", "print(d := h.shape[-1])", NORM, RETURN),
    ),
    "a print in an expression": (
        "NRM503",
        forward("h = x.float()", "told = print(h.shape)", NORM, RETURN),
    ),
}

MENDED = {
    "an operator in place": (
        ("NRM502", SAFE),
        function("x = x.float()", f"x *= {SCALED}", "return x * weight"),
        (("x *= torch", "x = x * torch"),),
    ),
    "an operator in place, whose right side is a product": (
        ("NRM502", SAFE),
        function("x = x.float()", f"x *= {SCALED} * weight", "return x"),
        ((f"x *= {SCALED} * weight", f"x = x * ({SCALED} * weight)"),),
    ),
    "the dtype stays what it was in place": (
        ("NRM502", SAFE),
        function("h = x.float()", f"x *= {SCALED.replace('x', 'h')}", "return x.to(x.dtype) * weight"),
        (
            (
                f"x *= {SCALED.replace('x', 'h')}",
                f"x = (x * {SCALED.replace('x', 'h')}).to(x.dtype)",
            ),
        ),
    ),
    "a method in place, as a statement": (
        ("NRM502", SAFE),
        function("x = x.float()", f"x.mul_({SCALED})", "return x * weight"),
        (("x.mul_(", "x = x.mul("),),
    ),
    "a chain of them: the first makes a tensor, the others may go on": (
        ("NRM502", SAFE),
        function("x = x.float()", f"x.mul_({SCALED}).mul_(weight)", "return x"),
        (("x.mul_(torch", "x = x.mul(torch"),),
    ),
    "a method in place, whose result gets another name": (
        ("NRM502", SAFE),
        function("h = x.float()", f"y = h.mul_({SCALED})", "return y.type_as(x) * weight"),
        (("h.mul_(", "h.mul("),),
    ),
    "and whose old name is read again": (
        ("NRM502", SAFE),
        function(
            "h = x.float()",
            "c = h.sub_(h.mean(-1, keepdim=True))",
            "v = h.pow(2).mean(-1, keepdim=True)",
            "return (c * torch.rsqrt(v + eps)).type_as(x) * weight",
            name="layer_norm",
        ),
        (("c = h.sub_(", "c = h = h.sub("),),
    ),
    "in a return": (
        ("NRM502", SAFE),
        function(f"return x.float().mul_({SCALED.replace('x.pow', 'x.float().pow')}).type_as(x) * weight"),
        ((".mul_(", ".mul("),),
    ),
    "a print": (
        ("NRM503", SAFE),
        forward("h = x.float()", "print(h.shape)", NORM, RETURN),
        (("        print(h.shape)\n", ""),),
    ),
    "a print between blank lines": (
        ("NRM503", SAFE),
        forward("h = x.float()", "", "print(", "    h.shape", ")", "", NORM, RETURN),
        (("        print(\n            h.shape\n        )\n\n", ""),),
    ),
    "a print behind a semicolon": (
        ("NRM503", SAFE),
        forward("h = x.float(); print(h.shape)", NORM, RETURN),
        (("; print(h.shape)", ""),),
    ),
    "a print in front of one": (
        ("NRM503", SAFE),
        forward("print(x.shape); h = x.float()", NORM, RETURN),
        (("print(x.shape); ", ""),),
    ),
    "all that a block holds": (
        ("NRM503", SAFE),
        forward(
            "h = x.float()",
            "with torch.no_grad():",
            '    print("nan")',
            "    print(h.shape)",
            NORM,
            RETURN,
        ),
        (('            print("nan")\n            print(h.shape)\n', "            pass\n"),),
    ),
    "all that a line holds": (
        ("NRM503", SAFE),
        forward("h = x.float()", "with torch.no_grad(): print(h)", NORM, RETURN),
        (("print(h)", "pass"),),
    ),
    "a print of what a function of the text gives": (
        ("NRM503", UNSAFE),
        forward("h = x.float()", "print(self.describe(h))", NORM, RETURN),
        (("        print(self.describe(h))\n", ""),),
    ),
}


@pytest.mark.parametrize(("name", "more"), [("rms_norm_", ""), ("rms_norm", ", inplace=True")], ids=["name", "flag"])
def test_what_says_that_it_works_in_place_is_not_reported(name: str, more: str) -> None:
    text = function("x = x.float()", f"x.mul_({SCALED})", "return x * weight", name=name, more=more)
    assert not [one for one in analyse(text).findings if one.code == "NRM502"]


@pytest.mark.parametrize(("code", "text"), STAYS.values(), ids=STAYS)
def test_what_cannot_be_fixed_with_certainty_is_reported_and_stays(code: str, text: str) -> None:
    stays(code, text)


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED)
def test_what_is_fixed_reads_as_its_author_would_have_written_it(case: FixedText) -> None:
    is_fixed(case)
