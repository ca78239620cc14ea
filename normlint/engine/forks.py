"""Work in forked children, with as little around it as can be: a queue in a pipe, and answers in a pipe of each child.

A pool of the standard library does the same, but takes as long to import and to start as hundreds of files to read.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_HEAD: Final = struct.Struct("=II")  # the chunk, and the length of its pickled answers
_NUMBER: Final = struct.Struct("=I")
_MOST_CHUNKS: Final = 4096  # with those of the end, no more than a pipe holds of their numbers
_MOST_AT_ONCE: Final = 16
_PIECE: Final = 1 << 16


class Died:
    """In an answer's place: the process that was to give it died."""


def can_fork() -> bool:
    """Forking is safe where it exists, and no other thread may hold a lock (macOS has its own in its frameworks)."""
    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and sys.platform != "darwin" and (threads is None or threads.active_count() == 1)


def forked(work: Callable[[Asked], Answer], tasks: Sequence[Asked], workers: int) -> Iterator[Answer | Died]:
    """The answer to each task, in order. A task whose child died is tried once more in a child of its own."""
    chunks = _chunks(tasks, workers)
    crew = _Crew(work, chunks, min(workers, len(chunks)))
    try:
        for number, chunk in enumerate(chunks):
            answers = crew.wait_for(number)
            yield from answers if answers is not None else (_apart(work, task) for task in chunk)
    finally:
        crew.end()


def _chunks(tasks: Sequence[Asked], workers: int) -> list[Sequence[Asked]]:
    """Many tasks at once at first, one at a time at last, so that nobody is waited for long."""
    most = max(_MOST_AT_ONCE, -(-len(tasks) // _MOST_CHUNKS))
    chunks = []
    at = 0
    while at < len(tasks):
        size = min(most, max(1, (len(tasks) - at) // (8 * min(workers, 64))))
        chunks.append(tasks[at : at + size])
        at += size
    return chunks


def _apart(work: Callable[[Asked], Answer], task: Asked) -> Answer | Died:
    crew = _Crew(work, [[task]], 1)
    try:
        answers = crew.wait_for(0)
    finally:
        crew.end()
    return Died() if answers is None else answers[0]


class _Crew:
    """The children: `waiting` holds what has come from each by its pipe, `done` the answers by chunk."""

    def __init__(self, work: Callable[[Any], Any], chunks: Sequence[Sequence[Any]], workers: int) -> None:
        self.done: dict[int, list[Any]] = {}
        self.waiting: dict[int, bytearray] = {}
        self.children: list[int] = []
        sys.stdout.flush()
        sys.stderr.flush()
        queue, numbers = os.pipe()
        try:
            os.write(numbers, b"".join(map(_NUMBER.pack, range(len(chunks)))))
            os.close(numbers)
            for _ in range(workers):
                self._hire(work, chunks, queue)
        finally:
            os.close(queue)

    def _hire(self, work: Callable[[Any], Any], chunks: Sequence[Sequence[Any]], queue: int) -> None:
        answers, out = os.pipe()
        child = os.fork()
        if child == 0:
            _serve(work, chunks, queue, out, [answers, *self.waiting])
        os.close(out)
        self.children.append(child)
        self.waiting[answers] = bytearray()

    def wait_for(self, number: int) -> list[Any] | None:
        """The answers to this chunk; None if no child is left that could give them."""
        poll = select.poll()
        for pipe in self.waiting:
            poll.register(pipe, select.POLLIN)
        while number not in self.done and self.waiting:
            for pipe, _ in poll.poll():
                if not self._heard(pipe):
                    poll.unregister(pipe)
                    os.close(pipe)
                    del self.waiting[pipe]
        return self.done.pop(number, None)

    def _heard(self, pipe: int) -> bool:
        """Take what a child has written; False at its end."""
        came = os.read(pipe, _PIECE)
        held = self.waiting[pipe]
        held += came
        while len(held) >= _HEAD.size:
            number, length = _HEAD.unpack_from(held)
            end = _HEAD.size + length
            if len(held) < end:
                break
            self.done[number] = pickle.loads(memoryview(held)[_HEAD.size : end])  # noqa: S301 - from our own child
            held = self.waiting[pipe] = held[end:]
        return bool(came)

    def end(self) -> None:
        """Nobody stays: not after an interruption, and not where the answers are no longer asked for."""
        for pipe in self.waiting:
            os.close(pipe)
        for child in self.children:
            if self.waiting:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.waiting, self.children = {}, []


def _serve(
    work: Callable[[Any], Any], chunks: Sequence[Sequence[Any]], queue: int, out: int, others: Sequence[int]
) -> NoReturn:
    """A child's life: it never returns, and says nothing but answers."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for pipe in others:
            os.close(pipe)
        with os.fdopen(out, "wb") as answers:
            while number := os.read(queue, _NUMBER.size):
                (chunk,) = _NUMBER.unpack(number)
                data = pickle.dumps([work(task) for task in chunks[chunk]], pickle.HIGHEST_PROTOCOL)
                answers.write(_HEAD.pack(chunk, len(data)) + data)
                answers.flush()
    finally:
        os._exit(0)
