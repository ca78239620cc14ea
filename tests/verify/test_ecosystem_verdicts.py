"""The records of the run over four packages (fixtures/ecosystem/verify.py) are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from normlint.text.verdict import MATCH, SKIPPED

ECOSYSTEM = Path(__file__).parents[2] / "fixtures" / "ecosystem"


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ECOSYSTEM / name).read_text(encoding="utf-8").splitlines()]


def test_nearly_every_norm_has_a_verdict_and_the_others_a_reason() -> None:
    verdicts = records("verdicts.jsonl")
    claiming = [one["status"] for one in verdicts if one["claims"]]
    assert len(claiming) - claiming.count(SKIPPED) >= 0.92 * len(claiming)
    assert all(one["reason"] for one in verdicts if one["status"] != MATCH)


def test_where_reading_and_running_disagree_somebody_has_said_why() -> None:
    differ = [
        one
        for one in records("verdicts.jsonl")
        if one["status"] != SKIPPED and bool(one["codes"]) != (one["status"] != MATCH)
    ]
    explained = records("disagreements.jsonl")
    assert [{**one, "explained": ""} for one in explained] == [{**one, "explained": ""} for one in differ]
    assert all(one["explained"] for one in explained)
