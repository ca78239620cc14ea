"""Norms interpreted and executed: the same bits, forward and backward, in fp32, fp16 and bf16."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from normlint.verify.program.prepare import prepare_to_execute
from tests.held import EVERY, Held
from tests.verify.verified import jobs_of

torch = pytest.importorskip("torch")


def _script() -> ModuleType:
    path = Path(__file__).parents[2] / "fixtures" / "unseen" / "interpreted.py"
    spec = importlib.util.spec_from_file_location("interpreted", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["interpreted"] = module
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures" / "unseen"))
interpreted = _script()


def compared(path: Path) -> list[dict[str, object]]:
    jobs = [job for _, job in jobs_of(path, prepare=prepare_to_execute)]
    rows = [interpreted.compare(interpreted.Case(path, 1, job), False, judging=False) for job in jobs]
    return [row for row in rows if row["status"] != "not executed"]


@pytest.mark.parametrize("held", EVERY, ids=lambda held: held.name)
def test_a_norm_is_computed_to_the_bit(held: Held) -> None:
    for row in compared(held.path):
        assert row["status"] == "same", row["reason"]


def test_most_held_norms_can_be_compared() -> None:
    assert sum(bool(compared(held.path)) for held in EVERY[::4]) > len(EVERY[::4]) * 0.9


def test_a_slip_of_the_last_bits_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from normlint.evaluate.concrete import calls

    monkeypatch.setattr(calls, "call", calls.call)  # the script changes it
    interpreted.nudge_interpreter()
    path = next(held.path for held in EVERY if "rsqrt" in held.text)
    assert [row["status"] for row in compared(path)] == ["differs"]


def test_an_exception_is_the_same_exception() -> None:
    text = "import torch\ndef norm(x):\n    return x / x.pow(2).mean(5, keepdim=True).sqrt()\n"
    names: dict[str, object] = {}
    exec(text, names)
    x = torch.ones(2, 3)
    raised = []
    for function in (names["norm"], interpreted.Program(text).value("norm")):
        with pytest.raises(IndexError) as caught:
            function(x)  # type: ignore[operator]
        raised.append(str(caught.value))
    assert raised[0] == raised[1]
