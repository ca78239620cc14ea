"""Hostile texts end, give no internal error, and take no more steps than they may.

The small ones of each builder are read here; `benchmarks/hostile.py` measures all of them, up to 100 KB each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.linter import MOST_NORMS, attempt, check_bytes
from normlint.engine.report import Failure, Report, Unread
from normlint.engine.selection import Demand, Selection
from normlint.engine.stored import restored, stored
from normlint.evaluate.context import MAX_SPENT, MAX_STEPS
from normlint.evaluate.module import Module
from normlint.faces.cli import norms_text
from normlint.faces.render import Display
from normlint.text.source import Place
from tests.hostile import Hostile, hostile, small
from tests.hostile.builder import HEAD, MOST, NORM, WRONG, function

SMALL = list(small())
SOME = 300  # of them


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Module]]:
    """Every module that is evaluated."""
    made: list[Module] = []
    begin = Module.__init__

    def noted(self: Module, *args: object, **others: object) -> None:
        begin(self, *args, **others)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(Module, "__init__", noted)
    yield made
    assert all(module.spent <= 2 * MAX_SPENT + MAX_STEPS for module in made)


def test_there_are_many_and_none_is_large() -> None:
    every = list(hostile())
    assert len(SMALL) >= SOME
    assert len({one.name for one in every}) > 3 * SOME
    assert all(len(one.data) <= MOST for one in every)


@pytest.mark.parametrize("one", SMALL, ids=[one.name for one in SMALL])
def test_a_hostile_text_ends_in_order(one: Hostile, modules: list[Module]) -> None:
    report = check_bytes(one.name, one.data, Demand())
    assert [error for error in report.errors if error.message.startswith("internal error")] == []
    assert len(report.norms) <= one.data.count(b"\n") + one.data.count(b";") + one.data.count(b",") + 8
    assert len(modules) < 300  # each fix is read again once, in its own block


NORMED = "import torch\n\nclass RMSNorm(torch.nn.Module):\n    def forward(self, x):\n"
LARGE = {
    "terms": "x = " + "x + " * 400 + "x",
    "calls on calls": "x = x" + ".abs()" * 200,
    "branches": "if x: pass\n" + "\n".join("    elif x: pass" for _ in range(300)),
}


@pytest.mark.parametrize("line", LARGE.values(), ids=LARGE)
def test_a_function_that_is_too_large_is_reported(line: str) -> None:
    text = function([line, f"return {NORM}"], name="large") + f"\n\ndef rms_norm(x):\n    return {NORM}\n"
    report = check_bytes("a.py", text.encode(), Demand())
    assert [norm.qualname for norm in report.norms if norm.qualname == "rms_norm"] == ["rms_norm"]
    assert report.unread == (Unread("a.py", Place(None, 6, 5), "large"),)
    assert report.errors == ()
    assert "a.py:6:5: too large to be read: large\n" in norms_text(report, Display())


def test_a_mistake_beside_five_hundred_branches_is_reported_and_not_fixed() -> None:
    branches = "".join(f"        elif x.ndim == {n}:\n            x = x * 1\n" for n in range(500))
    text = f"{NORMED}        if x.ndim < 0:\n            pass\n{branches}"
    text += "        return x * torch.rsqrt(x.pow(2).mean() + 1e-6)\n"
    report = check_bytes("norm.py", text.encode(), Demand())
    assert (report.errors, {one.code for one in report.findings}) == ((), {"NRM101", "NRM201"})
    assert all(one.fix is None for one in report.findings)


def test_what_an_error_holds_need_not_be_printable() -> None:
    class Held:
        def __repr__(self) -> str:
            raise RecursionError

    def fails() -> Failure:
        raise KeyError(Held())

    assert attempt("norm.py", fails) == Failure("norm.py", None, "internal error: KeyError", internal=True)


def test_a_class_of_very_many_bases_is_reported() -> None:
    chain = "".join(f"class C{i + 1}(C{i}): pass\n" for i in range(70))
    text = f"{HEAD}class C0(nn.Module):\n    def forward(self, x):\n        return {NORM}\n\n\n{chain}"
    report = check_bytes("a.py", text.encode(), Demand())
    assert [one.qualname for one in report.unread] == [f"C{i}" for i in range(64, 71)]
    assert len(report.norms) == 64
    assert report.errors == ()


def test_a_run_that_is_too_long_is_reported() -> None:
    text = function([*["x = torch.sin(x + 1) * 2"] * 3000, f"return {NORM}"], name="rms_norm")
    assert [one.qualname for one in check_bytes("a.py", text.encode(), Demand()).unread] == ["rms_norm"]


def test_a_file_of_very_many_norms_is_not_fixed_and_that_is_reported() -> None:
    text = HEAD + "".join(f"def rms_norm{i}(x):\n    return {WRONG}\n\n\n" for i in range(MOST_NORMS + 1))
    done = fix_file("a.py", FixRequest(Demand()), text.encode())
    assert isinstance(done, Fixed)
    assert not done.changed
    assert [one.message for one in done.report.errors] == [
        f"not fixed: {MOST_NORMS + 1} norms to fix, at most {MOST_NORMS} a file: select fewer rules or split the file"
    ]


def test_a_file_of_very_many_norms_that_no_safe_fix_is_for_gets_no_remark() -> None:
    line = "    return (x - x.mean(-1, True)) / (x.float().std(-1, True) + 1e-6)\n\n\n"
    text = HEAD + "".join(f"def layer_norm{i}(x):\n    x = x.float()\n{line}" for i in range(MOST_NORMS + 1))
    done = fix_file("a.py", FixRequest(Demand(Selection(("NRM105",)))), text.encode())
    assert isinstance(done, Fixed)
    assert len(done.report.findings) == MOST_NORMS + 1
    assert done.report.errors == ()


def test_what_is_unread_is_kept_with_the_norms() -> None:
    report = Report(unread=(Unread("a.py", Place(None, 6, 5), "large"), Unread("a.py", Place(2, 1, 1), "<module>")))
    assert restored("a.py", stored(report)) == report
    assert restored("a.py", stored(report), norms=False) == Report()
