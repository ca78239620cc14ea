"""A small, fixed sample of mutated norms and random texts: the analysis does not raise."""

from __future__ import annotations

import pytest

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
