"""A process a norm: each child of the worker answers once, by a deadline, and nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from normlint.text.verdict import SKIPPED, Verdict
from normlint.verify.guard import frames, limits

_PATIENCE: Final = 0.5  # seconds from the end of a child's pipe to the end of the child

Answer = dict[str, Any]
Request = dict[str, Any]
Respond = Callable[[Request], Answer]


@dataclass(slots=True)
class _Child:
    """A running norm: its process, which leads a group of its own, the pipe it answers on."""

    request: Request
    pid: int
    answers: frames.Reader
    deadline: float


@dataclass(frozen=True, slots=True)
class Settings:
    """How norms are run: so many at a time, each for so many seconds."""

    workers: int
    timeout: float
    accelerator: bool


def serve(requests: frames.Reader, answers: int, settings: Settings, respond: Respond) -> None:
    """Answer the requests that come on one pipe on the other, until the first one ends."""
    waiting: deque[Request] = deque()
    children: list[_Child] = []
    try:
        while True:
            while waiting and len(children) < settings.workers:
                children.append(_start(waiting.popleft(), settings, respond))
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


def _ready(pipes: list[int], children: list[_Child]) -> list[int]:
    """The pipes that have something to read, by the next deadline."""
    wait = min((child.deadline - time.monotonic() for child in children), default=None)
    return select.select(pipes, [], [], None if wait is None else max(wait, 0))[0]


def _start(request: Request, settings: Settings, respond: Respond) -> _Child:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _live(request, writing, settings, respond)
    os.close(writing)
    return _Child(request, pid, frames.Reader(reading), time.monotonic() + settings.timeout)


def _live(request: Request, writing: int, settings: Settings, respond: Respond) -> None:
    """The whole life of a child."""
    status = 1
    try:
        os.setsid()
        limits.die_with_parent()
        limits.confine(settings.timeout, accelerator=settings.accelerator)
        frames.write(writing, respond(request))
        status = 0
    finally:
        os._exit(status)


def _finished(child: _Child, readable: bool, settings: Settings, answers: int) -> bool:
    """Whether the child is done with, for better or worse; then its answer is sent and its processes are ended."""
    heard = _heard(child) if readable else None
    if heard is None and time.monotonic() >= child.deadline:
        heard = _failed(f"timed out after {settings.timeout:g} s")
    if heard is None:
        return False
    status = _end(child, patience=0.0 if heard else _PATIENCE)
    answer = heard or _failed(limits.ending(os.waitstatus_to_exitcode(status), settings.timeout))
    frames.write(answers, {**answer, "index": child.request["index"]})
    return True


def _heard(child: _Child) -> Answer | None:
    """Its answer if that is complete; empty where it ended without one."""
    more = child.answers.receive()
    try:
        answer = child.answers.taken()
        if answer is None:
            return None if more else {}
        verdict = frames.to_verdict(answer.get("verdict"))
    except frames.BrokenFrameError:
        return _failed(limits.BROKEN)
    return {"verdict": frames.of_verdict(verdict)}


def _failed(reason: str) -> Answer:
    return {"verdict": frames.of_verdict(Verdict(SKIPPED, reason))}


def _end(child: _Child, patience: float) -> int:
    """End the child and all processes of its group; the status it ended with, by itself if it does so in time."""
    os.close(child.answers.pipe)
    until = time.monotonic() + patience
    while time.monotonic() < until and not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child.pid, signal.SIGKILL)
    return os.waitpid(child.pid, 0)[1]
