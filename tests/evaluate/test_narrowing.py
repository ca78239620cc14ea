"""Decisions of a path: asked once, planned ahead, and shared by dtype tests."""

from __future__ import annotations

import pytest

from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import FLOATS, DType
from tests.evaluate.spines import table


@pytest.mark.parametrize(
    ("to", "outcome", "left"),
    table(
        ("to nothing it can be", frozenset({"fp64"}), False, FLOATS),
        ("to all that it can be", FLOATS | {"fp64"}, True, FLOATS),
        ("to one, as planned", frozenset({"fp16"}), True, {"fp16"}),
        ("to another, not as planned", frozenset({"bf16"}), False, {"fp16", "fp32"}),
    ),
)
def test_a_dtype_test_narrows_what_a_dtype_can_be(to: frozenset[str], outcome: bool, left: set[str]) -> None:
    context = Context({"fp16": True, "bf16": False})
    assert context.narrow(DType.INPUT, to, "".join(sorted(to))) is outcome
    assert context.possible.get(DType.INPUT, FLOATS) == left


def test_a_narrowed_dtype_decides_the_next_test() -> None:
    context = Context({"half": True})
    assert context.narrow(DType.INPUT, frozenset({"fp16", "bf16"}), "half")
    assert not context.narrow(DType.INPUT, frozenset({"fp32"}), "wide")
    assert context.narrow(DType.INPUT, frozenset({"fp16", "bf16"}), "again")
    assert context.decisions == {"half": True}


def test_a_decision_is_the_same_each_time_it_is_asked_for() -> None:
    context = Context({"planned": False})
    context.prefer = True
    assert (context.decide("planned"), context.decide("new")) == (False, True)
    context.prefer = None
    assert (context.decide("new"), context.decide("other", True), context.decide("last")) == (True, True, False)
