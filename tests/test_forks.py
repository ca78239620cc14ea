"""Work in forked children: the order holds, and a child that dies costs one task."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from normlint.engine import run
from normlint.engine.forks import Died, can_fork, forked
from normlint.engine.linter import Demand

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def double(number: int) -> int:
    return number * 2


def shift(bits: int) -> bytes:
    return b"x" * (1 << bits)


SIZES = {"no task": 0, "one task": 1, "as many as workers": 3, "one more": 4, "many": 1000, "very many": 20_000}


@pytest.mark.parametrize("count", SIZES.values(), ids=SIZES)
def test_the_order_holds_for(count: int) -> None:
    assert list(forked(double, range(count), 3)) == [number * 2 for number in range(count)]


def test_answers_may_be_longer_than_a_pipe() -> None:
    assert [len(one) for one in forked(shift, [22, 3, 20, 0], 2)] == [1 << 22, 8, 1 << 20, 1]


def dies_at(*fatal: int) -> Callable[[int], int]:
    return lambda number: os._exit(9) if number in fatal else number


def raises_at_five(number: int) -> int:
    if number == 5:
        raise ValueError
    return number


DEATHS: dict[str, tuple[Callable[[int], int], set[int]]] = {
    "one": (dies_at(7), {7}),
    "the first": (dies_at(0), {0}),
    "as many as there are workers": (dies_at(2, 25), {2, 25}),
    "more than there are workers": (dies_at(2, 3, 25, 39), {2, 3, 25, 39}),
    "one that raises": (raises_at_five, {5}),
}


@pytest.mark.parametrize(("work", "fatal"), DEATHS.values(), ids=DEATHS)
def test_each_costs_itself_alone(work: Callable[[int], int], fatal: set[int]) -> None:
    answers = list(forked(work, range(40), 2))
    assert [isinstance(one, Died) for one in answers] == [number in fatal for number in range(40)]
    assert [one for one in answers if not isinstance(one, Died)] == [n for n in range(40) if n not in fatal]


def no_child_is_left() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_who_stops_asking_leaves_no_child() -> None:
    answers = forked(double, range(10_000), 2)
    assert next(answers) == 0
    answers.close()  # type: ignore[attr-defined]
    assert no_child_is_left()


PROGRAM = """
import os, time
from normlint.engine.forks import forked
def work(number):
    os.write(1, b"%d\\n" % number)
    time.sleep(60)
try:
    list(forked(work, range(2), 2))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


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
        assert not can_fork()
    finally:
        ended.set()
        thread.join()


def test_where_forks_are_unsafe_a_pool_gives_the_same(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [(f"{tmp_path}/{number}.py", Demand()) for number in range(3)]
    expected = list(run.check_all(tasks, 2))
    assert [report.errors[0].message for report in expected] == ["No such file or directory"] * 3
    monkeypatch.setattr(run, "can_fork", lambda: False)
    assert list(run.check_all(tasks, 2)) == expected
