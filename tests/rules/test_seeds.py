"""The documents that normlint was asked for with: every code block gets the right answer, through the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"


def report(name: str, *options: str) -> Any:
    command = [sys.executable, "-m", "normlint", "--isolated", "--output-format", "json", *options, str(SEEDS / name)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def places(name: str, *options: str) -> list[tuple[str, str]]:
    """(code, the text that the finding points at) for each finding."""
    lines = (SEEDS / name).read_text(encoding="utf-8").splitlines()
    return [
        (f["code"], lines[f["line"] - 1][f["column"] - 1 : f["end_column"] - 1])
        for f in report(name, *options)["findings"]
    ]


@pytest.mark.parametrize("name", ["article.md", "lesson.md", "notebook.ipynb", "prenorm.md"])
def test_a_document_of_sound_norms_and_exercises_gets_nothing(name: str) -> None:
    assert report(name)["findings"] == []


def test_the_review_gets_its_global_reduction_and_its_prints_and_nothing_else() -> None:
    assert places("review.md") == [
        ("NRM101", "torch.sum(torch.square(x))"),
        ("NRM503", "print(x.shape)"),
        ("NRM503", "print(res.shape)"),
    ]


def test_the_articles_roots_and_divisions_are_reported_when_asked_for() -> None:
    assert places("article.md", "--select", "NRM601") == [
        ("NRM601", "torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"),
        ("NRM601", "torch.sqrt((x ** 2).mean(-1, keepdim=True) + self.eps)"),
    ]


@pytest.mark.parametrize(
    ("name", "norms"),
    [
        ("review.md", ["rms forward", "rms forward"]),
        ("notebook.ipynb", ["rms RMSNorm.forward"]),
        ("article.md", ["rms RMSNorm.forward", "rms <module>", "rms <module>", "rms <module>"]),
        ("lesson.md", []),
        ("prenorm.md", ["rms RMSNorm.forward"]),
    ],
)
def test_the_norms_of_a_document_are_listed_with_their_kind(name: str, norms: list[str]) -> None:
    assert [f"{n['kind']} {n['qualname']}" for n in report(name)["norms"]] == norms


def test_the_reviews_spine_shows_that_everything_is_reduced() -> None:
    assert [n["spine"] for n in report("review.md")["norms"]] == [
        "mean[*] | eps → sqrt → recip → input(x) → scale(weights)",
        "mean[-1] keepdim | eps → sqrt → recip → input(x) → scale(weights)",
    ]
