"""Norms that misbehave: interpreted, none does anything, none takes more than its limits, none forges a verdict."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from normlint.text.verdict import MATCH, SKIPPED, WRONG, Verdict
from normlint.verify.guard.run import Verifier
from tests.verify.hostile_norms import HEAVY, HOSTILE
from tests.verify.runnable import norm

torch = pytest.importorskip("torch")

SECRET = "a-secret-of-the-environment"
TIMEOUT = 5.0


@dataclass(frozen=True)
class World:
    """What the hostile norms reach for."""

    place: Path
    listener: socket.socket

    def job(self, name: str) -> Any:
        """The wrong norm that reaches for it."""
        top, body = (
            text.replace("{place}", str(self.place)).replace("{port}", str(self.listener.getsockname()[1]))
            for text in HOSTILE[name]
        )
        return norm(top, f"{body}\n        x = x * 2 + 1")

    def untouched(self) -> bool:
        """Nothing was written, removed or called."""
        try:
            self.listener.accept()
        except BlockingIOError:
            return [path.name for path in self.place.iterdir()] == ["kept"] and (self.place / "kept").read_text() == "a"
        return False


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = tmp_path_factory.mktemp("reach")
    (place / "kept").write_text("a")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield World(place, listener)


@dataclass(frozen=True)
class Told:
    """All verdicts, those on sound norms between them, and where the verifier's processes had their home."""

    hostile: dict[str, Verdict]
    sound: list[Verdict]
    home: str
    seconds: float


@pytest.fixture(scope="module")
def told(world: World) -> Told:
    before = os.environ.get("TOKEN_OF_THE_USER")
    os.environ["TOKEN_OF_THE_USER"] = SECRET
    try:
        start = time.monotonic()
        jobs = [job for at, name in enumerate(HOSTILE) for job in (world.job(name), norm(f"NUMBER = {at % 9}"))]
        with Verifier("cpu", timeout=TIMEOUT, workers=4) as verifier:
            home = verifier._process._place
            found = dict(verifier.verdicts(jobs))
    finally:
        os.environ.pop("TOKEN_OF_THE_USER")
        if before is not None:
            os.environ["TOKEN_OF_THE_USER"] = before
    names = dict(zip(HOSTILE, range(0, len(jobs), 2), strict=True))
    hostile = {name: found[at] for name, at in names.items()}
    return Told(hostile, [found[at + 1] for at in names.values()], home, time.monotonic() - start)


def test_there_are_at_least_a_hundred() -> None:
    assert len(HOSTILE) >= 100


@pytest.mark.parametrize("name", HOSTILE)
def test_forges_no_verdict(name: str, told: Told) -> None:
    verdict = told.hostile[name]
    assert verdict.status in (SKIPPED, WRONG), verdict
    assert SECRET not in str(verdict)


def test_the_norms_beside_them_are_unharmed(told: Told) -> None:
    assert [verdict.status for verdict in told.sound] == [MATCH] * len(HOSTILE)


def test_nothing_was_reached(world: World, told: Told) -> None:
    assert len(told.hostile) == len(HOSTILE)
    assert world.untouched()


def test_none_takes_more_than_its_time(told: Told) -> None:
    slow = [name for name, verdict in told.hostile.items() if verdict.reason.startswith("timed out")]
    assert set(slow) <= HEAVY


@pytest.mark.skipif(sys.platform != "linux", reason="what processes there are is read in /proc")
def test_no_process_is_left(told: Told) -> None:
    places = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                places.append(os.readlink(process / "cwd"))
            except OSError:
                continue  # it has ended meanwhile, or is another user's
    assert [place for place in places if place.removesuffix(" (deleted)") == told.home] == []


REFUSED = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.fork", "os.forkpty", "os.kill"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link", "os.symlink"),
    *(
        "os.utime",
        "os.setxattr",
        "os.putenv",
        "subprocess.Popen",
        "socket.connect",
        "socket.bind",
        "socket.sethostname",
    ),
    *("ctypes.dlopen", "ctypes.dlsym", "pickle.find_class", "marshal.loads", "fcntl.fcntl", "signal.pthread_kill"),
    *("shutil.copyfile", "shutil.move", "shutil.rmtree", "tempfile.mkstemp", "urllib.Request", "code.__new__"),
    *("builtins.input", "builtins.breakpoint", "sys.settrace", "sys.setprofile", "gc.get_objects"),
)
_seen: list[str] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen and (event in REFUSED or (event == "open" and set(str(arguments[1])) & set("wax+"))):
        _seen.append(f"{event} {arguments}")


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - HEAVY))
def test_does_nothing_that_the_interpreter_would_audit(name: str, world: World) -> None:
    from normlint.verify.interpret import judged

    if not getattr(_hear, "added", False):
        sys.addaudithook(_hear)
        _hear.added = True  # type: ignore[attr-defined]
    job = world.job(name)
    judged(norm())  # all that the first norm imports
    _seen[:] = ["listening"]
    verdict = judged(job)
    heard, _seen[:] = _seen[1:], []
    assert heard == []
    assert verdict.status in (SKIPPED, WRONG)
    assert world.untouched()


def test_what_hangs_where_there_is_no_fork_is_ended_and_the_next_is_unharmed() -> None:
    hanging = norm("", "\n        for _ in range(9999): x @ x.new_ones(x.shape[-1], 9 ** 6)")
    with Verifier("cpu", timeout=3.0, fork=False) as verifier:
        found = dict(verifier.verdicts([hanging, norm()]))
    assert (found[0].reason, found[1].status) == ("timed out after 3 s", MATCH)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_norm_that_hangs_on_cuda_leaves_the_next_unharmed() -> None:
    with Verifier("cuda", timeout=30.0) as verifier:
        found = dict(verifier.verdicts([norm(body="while True: pass"), norm()]))
    assert (found[0].status, found[1].status, found[1].device) == (SKIPPED, MATCH, "cuda")
