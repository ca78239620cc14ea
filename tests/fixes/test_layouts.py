"""Broken norms in odd layouts are fixed rightly or left alone, and what else the text computes stays as it is."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="texts are run before and after")

from tests.layouts import DEFECTS, Layout, bodies, classes, helpers, layers, spellings, statements
from tests.layouts.run import fixed, judged

PER_LAYOUT = 3
_ODD = {**statements.LAYOUTS, **bodies.LAYOUTS, **helpers.LAYOUTS, **classes.LAYOUTS}
WRONG = {  # without a defect of ours, too
    "a chained assignment of the input itself",
    "a helper whose sum a norm forgets to divide",
    "a method that its subclass calls for something else",
    "a wrapper around the forward of another",
}
UNREPORTED = {"the mean subtracted under the square, in a wrapper around the forward of another"}  # nothing says norm
SOUND = {name: layout for name, layout in _ODD.items() if name not in WRONG}
BROKEN: dict[str, tuple[Layout, str]] = {name: (layout, "") for name, layout in layers.LAYOUTS.items()}
for number, (name, layout) in enumerate(_ODD.items()):
    several = list(DEFECTS)
    for defect in several[number % len(several) :: len(several) // PER_LAYOUT][:PER_LAYOUT]:
        BROKEN[f"{defect}, in {name}"] = layout, defect
for defect in DEFECTS:  # each has to be fixed in both places
    BROKEN[f"{defect}, in the statistic written twice"] = bodies.LAYOUTS["the statistic written twice"], defect


def runs(text: str) -> None:
    """Newer syntax and packages that aren't there are left out."""
    try:
        compile(text, "", "exec")
    except SyntaxError:
        pytest.skip("newer syntax")
    if "einops" in text:
        pytest.importorskip("einops")


def test_there_are_enough() -> None:
    assert len(BROKEN) >= 150
    assert len(_ODD) >= 100
    assert len(spellings.LAYOUTS) >= 100


@pytest.mark.parametrize("layout", SOUND.values(), ids=SOUND)
def test_nothing_changes_in_a_sound_norm_with(layout: Layout) -> None:
    text = layout.with_("")
    runs(text)
    assert fixed(text).after.text == text


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_becomes_worse_with(name: str) -> None:
    layout, defect = BROKEN[name]
    text = layout.with_(defect)
    runs(text)
    done = fixed(text)
    assert done.report.errors == ()
    if done.changed:
        found = judged(text, done.after.text, layout.norm, layout.meant, layout.others)
        assert found.worse == ()
        assert found.off == () or done.report.findings or name in UNREPORTED


@pytest.mark.parametrize("layout", spellings.LAYOUTS.values(), ids=spellings.LAYOUTS)
def test_a_sound_norm_stays_sound_with(layout: Layout) -> None:
    text = layout.with_("")
    runs(text)
    done = fixed(text)
    assert done.report.errors == ()
    found = judged(text, done.after.text, layout.norm, layout.meant, layout.others)
    assert (found.worse, found.off) == ((), ())
