"""A small, fixed sample of mutated norms: the analysis neither raises nor lingers."""

from __future__ import annotations

import pytest

from tests.fuzz import texts, trouble


@pytest.mark.parametrize("seed", range(6))
def test_mutated_norms_are_analysed_without_a_word(seed: int) -> None:
    """Fifty texts a seed."""
    wrong = [f"{text}\n{why}" for text in texts(50, seed) if (why := trouble(text))]
    assert not wrong, wrong[0]
