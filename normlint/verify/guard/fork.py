"""Judge norms in forked children of the worker, which are killed if they don't answer by a deadline."""

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

_EXIT_TIME: Final = 0.5  # seconds that a child has to exit after its pipe ended
_PARENT_CHECK: Final = 5.0  # seconds between checks whether the parent is gone, whose pipe others may hold open

Answer = dict[str, Any]
Request = dict[str, Any]
Respond = Callable[[Request], Answer]


@dataclass(slots=True)
class _Child:
    """A forked process, which leads its own group: its pipes, and the request that it is working on."""

    pid: int
    asks: int
    answers: frames.Reader
    left: int  # requests that it may still be sent
    request: Request | None = None
    deadline: float = math.inf

    def ask(self, request: Request, timeout: float) -> None:
        """Send a request; that the child is gone shows later, as the end of its pipe."""
        self.request, self.deadline, self.left = request, time.monotonic() + timeout, self.left - 1
        with contextlib.suppress(BrokenPipeError):
            frames.write(self.asks, request)


@dataclass(frozen=True, slots=True)
class Settings:
    """How many children run at a time, and what each of them may use."""

    workers: int
    timeout: float  # seconds a norm
    accelerator: bool
    life: int  # norms that one child judges, one after the other


def serve(requests: frames.Reader, answers: int, settings: Settings, respond: Respond) -> None:
    """Answer the requests read from one pipe on the pipe `answers`, until the first one ends."""
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
    """Return an idle child, started if need be; None if `workers` children are busy."""
    found = next((child for child in children if child.request is None), None)
    if found is None and len(children) < settings.workers:
        found = _start(children, settings, respond)
        children.append(found)
    return found


def _ready(pipes: list[int], children: list[_Child]) -> list[int]:
    """Return the pipes that have something to read, waiting until the next deadline at most."""
    left = min((child.deadline for child in children), default=math.inf) - time.monotonic()
    return select.select(pipes, [], [], min(max(left, 0), _PARENT_CHECK))[0]


def _start(others: list[_Child], settings: Settings, respond: Respond) -> _Child:
    asked, asks = os.pipe()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        for pipe in (asks, *(other.asks for other in others)):  # else the others would not see the end of their pipes
            os.close(pipe)
        _run_child(frames.Reader(asked), writing, settings, respond)
    os.close(asked)
    os.close(writing)
    return _Child(pid, asks, frames.Reader(reading), settings.life)


def _run_child(asked: frames.Reader, writing: int, settings: Settings, respond: Respond) -> None:
    """Answer requests in a forked child until their pipe ends, then exit."""
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
    """Send on the child's answer, or its failure; return whether the child was ended, with all its processes."""
    heard = _answer_of(child) if readable else None
    if heard is None and time.monotonic() >= child.deadline:
        heard = _failed(f"timed out after {settings.timeout:g} s")
    if heard is None:
        return False
    over = not heard or heard["spent"] or not child.left or child.request is None
    status = _end(child, patience=0.0 if heard else _EXIT_TIME) if over else 0
    if child.request is not None:
        answer = heard or _failed(limits.ending(os.waitstatus_to_exitcode(status), settings.timeout))
        frames.write(answers, {**answer, "index": child.request["index"]})
    child.request, child.deadline = None, math.inf
    return over


def _answer_of(child: _Child) -> Answer | None:
    """Return the child's answer, {} if it ended without one, None if there is none yet."""
    more = child.answers.receive()
    try:
        answer = child.answers.taken()
        if answer is None:
            return None if more else {}
        verdict = frames.to_verdict(answer.get("verdict"))
    except frames.BrokenFrameError:
        return _failed(limits.BROKEN)
    return {"verdict": asdict(verdict), "spent": bool(answer.get("spent"))}


def _failed(reason: str) -> Answer:
    return {"verdict": asdict(Verdict(SKIPPED, reason)), "spent": True}


def _end(child: _Child, patience: float) -> int:
    """Kill the child and its group after `patience` seconds at most; return its wait status."""
    for pipe in (child.asks, child.answers.pipe):
        os.close(pipe)
    until = time.monotonic() + patience
    while time.monotonic() < until and not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child.pid, signal.SIGKILL)
    return os.waitpid(child.pid, 0)[1]
