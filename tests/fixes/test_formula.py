"""What NRM401 to NRM406 make of a norm, text by text: the cases that must stay as they are first."""

from __future__ import annotations

import pytest

from normlint.text.finding import Applicability
from tests.fixes.fixing import FixedText, fix_text, only
from tests.fixes.formula_cases import AFTER_ONE_ANOTHER, CASES, FIRST_VALUES, UNCHANGED, norm

FORMULA = tuple(f"NRM40{n}" for n in range(1, 7))


def fixed(text: str) -> FixedText:
    return fix_text(text, only(*FORMULA))


@pytest.mark.parametrize("text", UNCHANGED.values(), ids=UNCHANGED)
def test_what_cannot_be_fixed_with_certainty_is_left_alone(text: str) -> None:
    done = fixed(text)
    assert done.text == text
    assert done.left


@pytest.mark.parametrize("name", CASES)
def test_a_formula_is_fixed_as_its_author_would_have_written_it(name: str) -> None:
    head, _, after = CASES[name].partition("        ---\n")
    before = head
    top = before[: before.index("        h = x.float()\n") + len("        h = x.float()\n")]
    done = fixed(before)
    assert done.text == top + after
    assert {made.code for made in done.made} == {name[:6]}
    assert done.left == ()
    best = Applicability.UNSAFE if name.startswith("NRM406") else Applicability.SAFE
    assert {made.fix.applicability for made in done.made} == {best}


@pytest.mark.parametrize(("before", "after"), FIRST_VALUES.values(), ids=FIRST_VALUES)
def test_a_gain_starts_at_one_by_its_first_value(before: str, after: str) -> None:
    assert fixed(before).text == after


@pytest.mark.parametrize(("before", "after"), AFTER_ONE_ANOTHER.values(), ids=AFTER_ONE_ANOTHER)
def test_two_defects_are_fixed_one_after_the_other(before: str, after: str) -> None:
    assert fix_text(norm(before, "LayerNorm")).text == norm(after, "LayerNorm")


def test_line_ends_stay_what_they_are() -> None:
    text = CASES["NRM405 a block without gradients moves out"].partition("        ---\n")[0]
    windows = text.replace("\n", "\r\n")
    assert fixed(windows).text == fixed(text).text.replace("\n", "\r\n")


def test_a_factor_that_is_divided_by_as_well_multiplies_afterwards() -> None:
    head = "import torch\n\n\ndef rms_norm(x, scale, eps=1e-6):\n    h = x.float()\n"
    inverse = "scale.float() * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)"
    done = fixed(f"{head}    return (h / ({inverse})).type_as(x)\n")
    assert done.text == f"{head}    return (h * ({inverse})).type_as(x)\n"


def test_a_helper_that_another_norm_uses_rightly_stays_what_it_is() -> None:
    more = (
        "    def root(self, h):\n        return torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)\n\n"
        "    def native(self, x):\n        h = x.float()\n"
        "        return (h / self.root(h)).type_as(x) * self.weight\n\n"
    )
    text = norm("return (h * self.root(h)).type_as(x) * self.weight", more=more)
    assert fixed(text).text == norm("return (h / self.root(h)).type_as(x) * self.weight", more=more)


@pytest.mark.parametrize(("name", "safe"), [("ln_mod", False), ("LayerNorm", True)])
def test_a_centre_is_safe_where_a_name_promises_it(name: str, *, safe: bool) -> None:
    text = CASES["NRM404 a mean over the axis of the variance"].partition("        ---\n")[0]
    (made,) = fixed(text.replace("LayerNorm", name)).made
    assert (made.fix.applicability is Applicability.SAFE) is safe
