"""Start, restart and end the worker process, and exchange messages with it."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

import normlint
from normlint.verify.guard import frames

# -I keeps the working directory and the environment out of the import path, so where normlint lies is passed along
_BOOTSTRAP: Final = """\
import sys
home, *paths = sys.argv[1:]
sys.path.insert(0, home)
import normlint
del sys.path[0]
sys.path += [path for path in paths if path not in sys.path]
from normlint.verify.guard.worker import main
main()
"""
_KEPT: Final = (
    *("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "LANG"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "LC_ALL"),
    *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
)
_ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_EXIT_TIME: Final = 2.0  # seconds for a worker to end when it is asked to


class VerifierError(Exception):
    """Norms can't be run here; the message says why."""


class Process:
    """A worker process that can be restarted.

    `isolated`: run it in its own temporary directory, with only the environment variables it needs.
    """

    def __init__(self, settings: dict[str, Any], *, isolated: bool = True) -> None:
        self._settings, self._isolated = settings, isolated
        self.closed = False
        self._place = tempfile.mkdtemp(prefix="normlint-")
        try:
            self._start()
        except OSError as error:
            shutil.rmtree(self._place, ignore_errors=True)
            raise VerifierError(f"the verifier can't be started: {error}") from error

    def _start(self) -> None:
        self.late = False
        home = str(Path(normlint.__file__).parents[1])
        here = _working_directory()
        paths = [path for path in sys.path if Path(path).is_absolute() and path != here]
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-c", _BOOTSTRAP, home, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._place if self._isolated else None,
            env=_environment(self._place) if self._isolated else {**os.environ, **_ONE_THREAD},
            start_new_session=True,
            bufsize=0,
        )
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._listener: threading.Thread | None = None
        self.send(self._settings)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; if the worker is gone, the next `receive` says so."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            frames.write(self._process.stdin.fileno(), message)

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Return the worker's next message; None if it is gone or, with `late` set, silent for `seconds`."""
        self.late = False
        self._listen()
        try:
            return self._messages.get(timeout=seconds)
        except queue.Empty:
            self.late = True
            return None

    def _listen(self) -> None:
        """Start the thread that reads answers, not before one is wanted: files can be linted in forks until then."""
        if self._listener is None:
            assert self._process.stdout is not None
            reader = frames.Reader(self._process.stdout.fileno())
            self._listener = threading.Thread(target=_listen, args=(reader, self._messages), daemon=True)
            self._listener.start()

    def restart(self) -> int:
        """End the worker and start another; return the exit status of the first, as `Popen` gives it."""
        code = self._end()
        if self.closed:
            raise VerifierError("the verifier was ended")
        self._start()
        return code

    def close(self) -> None:
        """End the worker and remove its directory; safe if another thread does so at the same time."""
        self.closed = True
        try:
            self._end()
        finally:
            shutil.rmtree(self._place, ignore_errors=True)

    def _end(self) -> int:
        """Close the worker's input, on which it ends its children and itself, and kill it if it doesn't."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018
        process.stdin.close()
        try:
            process.wait(0.0 if self.late else _EXIT_TIME)
        except subprocess.TimeoutExpired:
            _kill(process)
        code = process.wait()
        if self._listener is not None:
            self._listener.join(_EXIT_TIME)
            if self._listener.is_alive():  # something that outlived the worker may hold its pipe open
                return code
        process.stdout.close()
        return code


def _listen(reader: frames.Reader, messages: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    """Put each message into the queue, then None at the end of the pipe or at a broken frame."""
    with contextlib.suppress(OSError, frames.BrokenFrameError):
        while (message := reader.next()) is not None:
            messages.put(message)
    messages.put(None)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the worker and its group; its children, which lead their own groups, die with it."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _environment(place: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
    places = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), place)
    return {**kept, **places, **_ONE_THREAD}
