"""Norms in processes of their own: a child of the worker answers by a deadline, and nothing of it stays."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from normlint.text.verdict import SKIPPED, Verdict
from normlint.verify.guard import frames, limits

_PATIENCE: Final = 0.5  # seconds from the end of a child's pipe to the end of the child
_LOOKING: Final = 5.0  # seconds after which it is seen that the parent is gone, though others hold its pipe open

Answer = dict[str, Any]
Request = dict[str, Any]
Respond = Callable[[Request], Answer]


@dataclass(slots=True)
class _Child:
    """A process, which leads a group of its own, the pipes it is asked on and answers on, and the norm it is at."""

    pid: int
    asks: int
    answers: frames.Reader
    left: int  # norms that it may still be asked for
    request: Request | None = None
    deadline: float = math.inf

    def ask(self, request: Request, timeout: float) -> None:
        """One more norm; a child that is gone answers with the end of its pipe."""
        self.request, self.deadline, self.left = request, time.monotonic() + timeout, self.left - 1
        with contextlib.suppress(BrokenPipeError):
            frames.write(self.asks, request)


@dataclass(frozen=True, slots=True)
class Settings:
    """How norms are run: so many at a time, each for so many seconds, and so many in a process, one after the other."""

    workers: int
    timeout: float
    accelerator: bool
    life: int


def serve(requests: frames.Reader, answers: int, settings: Settings, respond: Respond) -> None:
    """Answer the requests that come on one pipe on the other, until the first one ends."""
    waiting: deque[Request] = deque()
    children: list[_Child] = []
    parent = os.getppid()
    try:
        while os.getppid() == parent:
            while waiting and (child := _idle(children, settings, respond)):
                child.ask(waiting.popleft(), settings.timeout)
            ready = _ready([requests.pipe, *(child.answers.pipe for child in children)], children)
            if requests.pipe in ready:
                if not requests.receive():
                    return
                waiting.extend(iter(requests.taken, None))
            children = [
                child for child in children if not _finished(child, child.answers.pipe in ready, settings, answers)
            ]
    finally:
        for child in children:
            _end(child, patience=0.0)


def _idle(children: list[_Child], settings: Settings, respond: Respond) -> _Child | None:
    """A child that can be asked, perhaps a new one; None where as many are busy as may be."""
    found = next((child for child in children if child.request is None), None)
    if found is None and len(children) < settings.workers:
        found = _start(children, settings, respond)
        children.append(found)
    return found


def _ready(pipes: list[int], children: list[_Child]) -> list[int]:
    """The pipes that have something to read, by the next deadline."""
    left = min((child.deadline for child in children), default=math.inf) - time.monotonic()
    return select.select(pipes, [], [], min(max(left, 0), _LOOKING))[0]


def _start(others: list[_Child], settings: Settings, respond: Respond) -> _Child:
    asked, asks = os.pipe()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        for pipe in (asks, *(other.asks for other in others)):  # else none of them would see its end
            os.close(pipe)
        _live(frames.Reader(asked), writing, settings, respond)
    os.close(asked)
    os.close(writing)
    return _Child(pid, asks, frames.Reader(reading), settings.life)


def _live(asked: frames.Reader, writing: int, settings: Settings, respond: Respond) -> None:
    """The whole life of a child."""
    status = 1
    try:
        os.setsid()
        limits.die_with_parent()
        limits.confine(settings.timeout * settings.life, accelerator=settings.accelerator)
        while (request := asked.next()) is not None:
            frames.write(writing, respond(request))
        status = 0
    finally:
        os._exit(status)


def _finished(child: _Child, readable: bool, settings: Settings, answers: int) -> bool:
    """Whether the child is done with, for better or worse; then its processes are ended. What it says is sent on."""
    heard = _answer_of(child) if readable else None
    if heard is None and time.monotonic() >= child.deadline:
        heard = _failed(f"timed out after {settings.timeout:g} s")
    if heard is None:
        return False
    # what could not be judged may have left something behind
    over = not heard or heard["verdict"]["status"] == SKIPPED or not child.left or child.request is None
    status = _end(child, patience=0.0 if heard else _PATIENCE) if over else 0
    if child.request is not None:
        answer = heard or _failed(limits.ending(os.waitstatus_to_exitcode(status), settings.timeout))
        frames.write(answers, {**answer, "index": child.request["index"]})
    child.request, child.deadline = None, math.inf
    return over


def _answer_of(child: _Child) -> Answer | None:
    """Its answer if that is complete; empty where it ended without one."""
    more = child.answers.receive()
    try:
        answer = child.answers.taken()
        if answer is None:
            return None if more else {}
        verdict = frames.to_verdict(answer.get("verdict"))
    except frames.BrokenFrameError:
        return _failed(limits.BROKEN)
    return {"verdict": asdict(verdict)}


def _failed(reason: str) -> Answer:
    return {"verdict": asdict(Verdict(SKIPPED, reason))}


def _end(child: _Child, patience: float) -> int:
    """End the child and all processes of its group; the status it ended with, by itself if it does so in time."""
    for pipe in (child.asks, child.answers.pipe):
        os.close(pipe)
    until = time.monotonic() + patience
    while time.monotonic() < until and not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child.pid, signal.SIGKILL)
    return os.waitpid(child.pid, 0)[1]
