"""Verify jobs in worker processes and yield their verdicts. This process never imports torch."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from normlint.text.verdict import SKIPPED, Verdict
from normlint.verify.guard import frames
from normlint.verify.guard.limits import BROKEN, ending
from normlint.verify.guard.process import Process, VerifierError
from normlint.verify.job import Job

__all__ = ["DeviceError", "TorchMissingError", "Verifier", "VerifierError"]

_DEVICE: Final = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_START_TIMEOUT: Final = 180.0  # seconds to import torch in, from a cold disk
_GRACE: Final = 30.0  # seconds that the worker may be silent beyond a norm's timeout
_MOST: Final = 8  # norms at a time: each process takes some 50 MB


class TorchMissingError(VerifierError):
    """Torch isn't installed."""


class DeviceError(VerifierError):
    """The device is unknown or not available."""


class Verifier:
    """Judge norms in a process with limits, which starts at once; close it, or use it in a `with` statement.

    `device`: auto, cpu, cuda, cuda:N or mps. `timeout`: seconds a norm. `workers`: norms at a time, None for one a
    core. `seed`: the seed of the inputs. `execute`: jobs that name a module import it, which runs its code; all others
    are interpreted. `fork`: whether the worker may fork; only tests turn this off.
    """

    def __init__(
        self,
        device: str = "cpu",
        timeout: float = 10.0,
        workers: int | None = None,
        *,
        seed: int = 0,
        execute: bool = False,
        fork: bool = True,
    ) -> None:
        if not _DEVICE.fullmatch(device):
            raise DeviceError(f"--device {device}: not one of auto, cpu, cuda, cuda:N, mps")
        if importlib.util.find_spec("torch") is None:
            raise TorchMissingError("verification needs torch: pip install 'normlint[verify]'")
        self._workers = workers or min(_cores(), _MOST)
        self._timeout = timeout
        self._settings = {
            "device": device,
            "timeout": timeout,
            "workers": self._workers,
            "seed": seed,
            "execute": execute,
            "fork": fork,
        }
        self._hello: dict[str, Any] = {}
        self._alone = False  # one norm at a time, so that it is known which one the worker dies of
        self._process = Process(self._settings, isolated=not execute)

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and all its processes."""
        self._process.close()

    @property
    def device(self) -> str:
        """Return where the norms run (cpu, cuda, cuda:N or mps), waiting until the worker has reported it."""
        return str(self._worker_info()["device"])

    @property
    def torch_version(self) -> str:
        """Return the version of the worker's torch."""
        return str(self._worker_info()["torch"])

    def verdicts(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Verdict]]:
        """Yield each job's index and verdict as they come; jobs with the same key are run once."""
        by_key: dict[Job, list[int]] = {}
        for index, job in enumerate(jobs):
            by_key.setdefault(job.key, []).append(index)
        runnable = {}
        for first, *others in by_key.values():
            if needs := jobs[first].needs:
                yield from ((index, Verdict(SKIPPED, f"needs {needs}")) for index in (first, *others))
            else:
                runnable[first] = others
        for first, verdict in self._run([(index, jobs[index]) for index in runnable]):
            yield from ((index, verdict) for index in (first, *runnable[first]))

    def _run(self, jobs: list[tuple[int, Job]]) -> Iterator[tuple[int, Verdict]]:
        waiting = deque(jobs)
        running: dict[int, Job] = {}
        while waiting or running:
            window = self._window
            while waiting and len(running) < window:
                index, job = waiting.popleft()
                running[index] = job
                try:
                    self._process.send({"index": index, "job": asdict(job)})
                except frames.BrokenFrameError:
                    del running[index]
                    yield index, Verdict(SKIPPED, "needs a shorter program")
            answer = self._answer(running) if running else None
            if answer is not None:
                del running[answer[0]]
                yield answer
            elif running:
                waiting.extendleft(reversed(list(running.items())))
                running.clear()

    @property
    def _window(self) -> int:
        """Return how many norms may be under way: enough to keep every core busy."""
        return 2 * self._workers if self._worker_info()["fork"] and not self._alone else 1

    def _answer(self, running: dict[int, Job]) -> tuple[int, Verdict] | None:
        """Return the next verdict with its index; None if the worker died and it is unknown which norm is to blame."""
        message = self._process.receive(self._timeout + (_GRACE if self._hello["fork"] else 0.0))
        index = message.get("index") if message else None
        if message and isinstance(index, int) and index in running:
            try:
                verdict = frames.to_verdict(message.get("verdict"))
            except frames.BrokenFrameError:
                verdict = Verdict(SKIPPED, BROKEN)
            if message.get("last"):
                self._restart()
            return index, verdict
        late = self._process.late
        code = self._restart()
        if len(running) > 1:
            self._alone = True
            return None
        reason = BROKEN if message else f"timed out after {self._timeout:g} s" if late else ending(code, self._timeout)
        return next(iter(running)), Verdict(SKIPPED, reason)

    def _restart(self) -> int:
        self._hello = {}
        return self._process.restart()

    def _worker_info(self) -> dict[str, Any]:
        """Return the worker's first message, which it sends once torch is imported; VerifierError if it failed."""
        if not self._hello:
            hello = self._process.receive(_START_TIMEOUT)
            if hello is None:
                self.close()
                raise VerifierError("the verifier's process didn't start")
            if "error" in hello:
                self.close()
                raise (DeviceError if hello["error"].startswith("--device") else VerifierError)(hello["error"])
            self._hello = hello
        return self._hello


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
