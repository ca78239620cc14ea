"""A small, fixed sample of mutated norms and random texts: the analysis does not raise."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import function, table
from tests.fuzz import soups, texts, trouble


@pytest.mark.parametrize("seed", range(4))
def test_mutated_norms_are_analysed_without_a_word(seed: int) -> None:
    """Fifty texts a seed."""
    wrong = [f"{text}\n{why}" for text in texts(50, seed) if (why := trouble(text)) and "took" not in why]
    assert not wrong, wrong[0]


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_are_analysed_without_a_word(seed: int) -> None:
    """A hundred texts a seed."""
    found = enumerate(soups(100, seed))
    wrong = [f"{text}\n{why}" for n, text in found if (why := trouble(text, fixes=n % 4 == 0)) and "took" not in why]
    assert not wrong, wrong[0]


@pytest.mark.parametrize(
    "line",
    table(
        ("an infinite number of a correction", "x = torch.std(x, huge, keepdim=huge)"),
        ("an infinite number of a length", "x = torch.linalg.vector_norm(x, huge, huge)"),
        ("an infinite axis", "x = x.mean(huge)"),
        ("an axis beyond counting behind one that was dropped", "y = x.mean(0).mean(10**30)"),
        ("a shape cut beyond counting", "y = x.view(*x.shape[: -(10**30)], 1)"),
        ("a range that gets nowhere", "x = x.mean(range(1, 2, 0))"),
        ("a range of four", "x = x.mean(range(1, 2, 3, 4))"),
        ("the variance of a mean", "x = (x.mean(-1, keepdim=True) + 1e-6).var(-1, keepdim=True)"),
        ("the deviation of a mean", "x = torch.std(x.mean(-1, keepdim=True) + 1e-6, -1, keepdim=True)"),
        ("variance and mean of a mean", "x = torch.var_mean(x.mean(-1, keepdim=True) + 1e-6, -1, keepdim=True)[0]"),
    ),
)
def test_what_the_fuzzer_found_is_analysed_without_a_word(line: str) -> None:
    text = function(f"{line}\nreturn x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)", "x, eps, huge=1e400")
    assert not trouble(text)
