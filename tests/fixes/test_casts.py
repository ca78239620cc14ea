"""NRM201 to NRM206: the input cast before its squares are taken, and what comes out cast back, once each."""

from __future__ import annotations

import pytest

from normlint.text.finding import Applicability
from tests.fixes.cast_cases import FIXED, MENDED, SOUND, UNCLEAR, Case, layer
from tests.fixes.fixing import fix_text, only


def says(case: Case) -> str:
    return f"{case.code} {case.says}"


@pytest.mark.parametrize("case", SOUND, ids=says)
def test_what_is_right_stays(case: Case) -> None:
    assert fix_text(case.before, only(case.code)).left == ()
    assert fix_text(case.before, only(case.code)).text == case.before


@pytest.mark.parametrize("case", UNCLEAR, ids=says)
def test_what_is_found_but_unclear_stays(case: Case) -> None:
    assert {(f.code, f.fix) for f in fix_text(case.before, only(case.code)).left} == {(case.code, None)}
    assert fix_text(case.before, only(case.code)).text == case.before


@pytest.mark.parametrize("case", [*MENDED, *FIXED], ids=says)
def test_the_shortest_edit_in_the_words_of_the_text(case: Case) -> None:
    fixed = fix_text(case.before, only(case.code))
    assert fixed.text == case.after
    assert fixed.left == ()


@pytest.mark.parametrize("case", MENDED, ids=says)
def test_the_same_norm_in_more_digits_is_safe(case: Case) -> None:
    made = fix_text(case.before, only(case.code)).made
    assert {one.fix.applicability for one in made} == {Applicability.SAFE}


@pytest.mark.parametrize("case", FIXED, ids=says)
def test_a_dtype_that_a_caller_may_count_on_is_unsafe_to_change(case: Case) -> None:
    made = fix_text(case.before, only(case.code)).made
    assert {one.fix.applicability for one in made} == {Applicability.UNSAFE}


@pytest.mark.parametrize("case", [*MENDED, *FIXED], ids=says)
def test_no_rule_says_more_than_before(case: Case) -> None:
    before, after = fix_text(case.before, lambda _: False), fix_text(case.after, lambda _: False)
    assert {f.code for f in after.analysis.findings} <= {f.code for f in before.analysis.findings}


def test_what_the_square_was_cast_to_is_what_the_variance_is_taken_in() -> None:
    lines = ["mean = x.mean(-1, keepdim=True)", "var = x.pow(2).float().mean(-1, keepdim=True) - mean.pow(2)"]
    lines.append("return ((x - mean) * torch.rsqrt(var + self.eps)).type_as(x) * self.weight")
    fixed = fix_text(layer(*lines), only("NRM202", "NRM204"))
    assert [one.code for one in fixed.made] == ["NRM204"]
    assert (
        "mean = x.mean(-1, keepdim=True)\n        var = x.float().var(-1, unbiased=False, keepdim=True)" in fixed.text
    )


def test_no_dtype_is_stored_where_nothing_is_cast_back() -> None:
    lines = ["ms = x.pow(2).mean(-1, keepdim=True)", "x = x * self.weight", "x * torch.rsqrt(ms + self.eps)"]
    fixed = fix_text(layer(*lines, "return x"), only("NRM201"))
    assert "x.float().pow(2)" in fixed.text
    assert ".dtype" not in fixed.text


def test_both_of_two_norms_that_a_function_returns_are_cast_back() -> None:
    text = """import torch
from torch import nn

class QKNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.qw = nn.Parameter(torch.ones(dim))
        self.kw = nn.Parameter(torch.ones(dim))

    def forward(self, q, k):
        q = q.float()
        k = k.float()
        q = q * torch.rsqrt(q.pow(2).mean(-1, keepdim=True) + self.eps)
        k = k * torch.rsqrt(k.pow(2).mean(-1, keepdim=True) + self.eps)
        return q * self.qw, k * self.kw
"""
    fixed = fix_text(text, only("NRM203"))
    assert fixed.left == ()
    assert "k_dtype = k.dtype\n        input_dtype = q.dtype\n        q = q.float()" in fixed.text
    assert "return q.to(input_dtype) * self.qw, k.to(k_dtype) * self.kw" in fixed.text
