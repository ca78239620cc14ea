"""Work in several processes: the order holds, and a process that dies costs one file."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from normlint.engine import run
from normlint.engine.report import Failure
from normlint.engine.selection import Demand

Task = tuple[str, int]


def double(_: str, number: int) -> int:
    return number * 2


def dies_at_7(_: str, number: int) -> int:
    return os._exit(9) if number == 7 else number


def dies_at_0(_: str, number: int) -> int:
    return os._exit(9) if number == 0 else number


def dies_at_four(_: str, number: int) -> int:
    return os._exit(9) if number in (2, 3, 25, 39) else number


def tasks(count: int) -> list[Task]:
    return [(f"{number}.py", number) for number in range(count)]


SIZES = {"no task": 0, "one task": 1, "as many as workers": 3, "one more": 4, "many": 1000}


@pytest.mark.parametrize("count", SIZES.values(), ids=SIZES)
def test_the_order_holds_for(count: int) -> None:
    assert list(run.each(double, tasks(count), 3)) == [number * 2 for number in range(count)]


DEATHS: dict[str, tuple[Callable[[str, int], int], set[int]]] = {
    "one": (dies_at_7, {7}),
    "the first": (dies_at_0, {0}),
    "more than there are workers": (dies_at_four, {2, 3, 25, 39}),
}


@pytest.mark.parametrize(("work", "fatal"), DEATHS.values(), ids=DEATHS)
def test_each_costs_itself_alone(work: Callable[[str, int], int], fatal: set[int]) -> None:
    answers = list(run.each(work, tasks(40), 2))
    assert [n for n, one in enumerate(answers) if isinstance(one, Failure)] == sorted(fatal)
    assert [one for one in answers if not isinstance(one, Failure)] == [n for n in range(40) if n not in fatal]
    assert {one.path for one in answers if isinstance(one, Failure)} == {f"{n}.py" for n in fatal}


def test_who_stops_asking_leaves_no_child() -> None:
    answers = run.each(double, tasks(1000), 2)
    assert next(answers) == 0
    answers.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


PROGRAM = """
import os, time
from normlint.engine.run import each
def work(_, number):
    os.write(1, b"%d\\n" % number)
    time.sleep(60)
try:
    list(each(work, [("a", 0), ("b", 1)], 2))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_an_interruption_leaves_no_child_and_no_traceback() -> None:
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert ran.stdout is not None
    started = {ran.stdout.readline(), ran.stdout.readline()}
    os.killpg(ran.pid, signal.SIGINT)
    out, err = ran.communicate(timeout=30)  # ends only when nobody holds the other end any more
    assert (started, out, err) == ({"0\n", "1\n"}, "interrupted\n", "")


def test_with_another_thread_nothing_is_forked() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not run.can_fork()
    finally:
        ended.set()
        thread.join()


def test_where_forks_are_unsafe_the_answers_are_the_same(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [(f"{tmp_path}/{number}.py", Demand()) for number in range(3)]
    expected = list(run.check_all(tasks, 2))
    assert [report.errors[0].message for report in expected] == ["No such file or directory"] * 3
    monkeypatch.setattr(run, "can_fork", lambda: False)
    assert list(run.check_all(tasks, 2)) == expected
