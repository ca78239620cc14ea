"""The concrete domain against Python itself: each small program gives what `exec` gives, or says what it can't do.

The programs are in tests/concrete: `### name`, and for those that are refused `| the reason`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from normlint.evaluate.concrete import Program, Unsupported

HERE = Path(__file__).parents[1] / "concrete"
HEAD = re.compile(r"^### ([^\n|]*?)(?: \| ([^\n]*))?\n", re.MULTILINE)


def programs(name: str) -> dict[str, tuple[str, str]]:
    """Name → text and reason."""
    _, *rest = HEAD.split((HERE / name).read_text("utf-8"))
    return {rest[i]: (rest[i + 2].strip() + "\n", rest[i + 1] or "") for i in range(0, len(rest), 3)}


DONE, REFUSED, HOSTILE = programs("done.txt"), programs("refused.txt"), programs("hostile.txt")


def executed(text: str) -> tuple[str, Any]:
    """What Python makes of it: the result, or the class of the exception."""
    names: dict[str, Any] = {"__name__": "interpreted"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "program", "exec", dont_inherit=True), names)
    except Exception as error:  # noqa: BLE001
        return "raises", type(error)
    return "result", names.get("result")


def interpreted(text: str, *, alone: bool = False) -> tuple[str, Any]:
    try:
        program = Program(text)
        result = program.value("result") if alone else program.run().get("result")
    except Unsupported:
        raise
    except Exception as error:  # noqa: BLE001
        return "raises", type(error)
    return "result", result


@pytest.fixture(scope="session")
def torch_is_there() -> None:
    pytest.importorskip("torch")


@pytest.mark.parametrize("name", DONE)
def test_a_program_does_what_python_does(name: str) -> None:
    text, _ = DONE[name]
    assert repr(interpreted(text)) == repr(executed(text))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_done_is_said(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(Unsupported) as caught:
        Program(text).run()
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("name", [name for name, (text, _) in DONE.items() if "\nresult" in text])
def test_a_name_that_is_asked_for_alone_has_the_value_of_the_whole_program(name: str) -> None:
    text, _ = DONE[name]
    kind, value = executed(text)
    if kind == "result" and "global " not in text:
        assert repr(interpreted(text, alone=True)) == repr((kind, value))


@pytest.mark.parametrize(
    "text",
    ["A = 1.0\nA = '{}'.format(2)\n", "A = 1.0\nA /= A['']\n", "A = [1]\nA[0] = '{}'.format(2)\nA.append(3)\n"],
    ids=["by a call that isn't done", "by what raises", "by an item, and by a call after that"],
)
def test_a_name_that_could_not_be_bound_anew_has_no_older_value_the_next_time(text: str) -> None:
    program = Program(text)
    raised = []
    for _ in range(3):
        with pytest.raises((Unsupported, TypeError)) as caught:
            program.value("A")
        raised.append(str(caught.value))
    assert len(set(raised)) == 1


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("torch_is_there")
def test_a_hostile_program_is_refused(name: str) -> None:
    with pytest.raises((Unsupported, AttributeError, NameError, ImportError, TypeError, RecursionError)):
        Program(HOSTILE[name][0]).run()


WATCHED = """
import sys, torch, numpy, einops, torch.utils.checkpoint
from normlint.evaluate.concrete import Program, calls
from tests.evaluate.test_concrete import HOSTILE
events, watching = set(), False
def hook(event, args):
    if watching and event not in ("compile", "object.__getattr__", "sys._getframe", "gc.collect"):
        events.add((event, str(args)[:80]))
sys.addaudithook(hook)
for name, (text, _) in HOSTILE.items():
    program = Program(text)
    program.module.pieces
    watching = True
    try:
        program.run()
    except (Exception, RecursionError):
        pass
    watching = False
print(*sorted(events), sep="\\n")
"""


@pytest.mark.usefixtures("torch_is_there")
def test_hostile_programs_open_import_and_start_nothing() -> None:
    """Audit events while they run: files, processes, imports. Python's parser compiles their text, and that is all."""
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    found = [line for line in ran.stdout.splitlines() if line]
    assert found == []
    assert not (HERE.parent.parent / "hacked").exists()
