"""The page of findings that was shown last is shown again where nothing has changed, and only there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from normlint.faces import recalled
from tests.helpers import BAD
from tests.test_cache import OLD, Run, answer, tree

__all__ = ["answer", "tree"]  # fixtures


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formats in which pages are made from now on."""
    seen: list[str] = []
    render = recalled.render

    def counted(report: object, output_format: str, view: object) -> str:
        seen.append(output_format)
        return str(render(report, output_format, view))  # type: ignore[arg-type]

    monkeypatch.setattr(recalled, "render", counted)
    return seen


def test_a_page_is_made_once_and_is_the_same(tree: Path, answer: Run, rendered: list[str]) -> None:
    runs = [answer("--isolated") for _ in range(4)]
    assert len(set(runs)) == 1
    assert rendered == ["full"]


def test_a_page_may_hold_anything(tree: Path, answer: Run, rendered: list[str]) -> None:
    (tree / "bad.py").write_text(BAD + "# \\n \t ü \U0001f600 \\\n", encoding="utf-8")
    assert len({answer("--isolated") for _ in range(4)}) == 1
    assert rendered == ["full"]


CHANGES = {
    "another finding": lambda tree: (tree / "more.py").write_text(BAD),
    "a finding less": lambda tree: (tree / "bad.py").write_text("x = 1\n"),
    "a finding further down": lambda tree: (tree / "bad.py").write_text("\n" + BAD),
    "another name of the file": lambda tree: (tree / "bad.py").rename(tree / "worse.py"),
    "colour": lambda tree: os.environ.__setitem__("FORCE_COLOR", "1"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_page_is_not_shown_again_after(
    change: object, tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "")
    before = [answer("--isolated") for _ in range(3)][-1]
    change(tree)  # type: ignore[operator]
    for file in tree.glob("*.py"):
        os.utime(file, (OLD, OLD))
    after = [answer("--isolated") for _ in range(3)]
    assert len(set(after)) == 1
    assert after[0] == answer("--isolated", "--no-cache")
    assert after[0] != before
