"""Norms that misbehave: each is refused or contained, none gets a verdict of match, and the next norm is unharmed."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from normlint.text.verdict import MATCH, SKIPPED, Verdict
from normlint.verify.guard.run import Verifier
from tests.runnable import norm

torch = pytest.importorskip("torch")

FILTERED = sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}
CONTAINS = pytest.mark.skipif(not FILTERED, reason="no filter of system calls here: only the gate refuses these")

# a top, a body, what the verdict says where the gate reads it first, and where it doesn't
HOSTILE: dict[str, tuple[str, str, str, str]] = {
    "an endless loop": ("", "while True: pass", "timed out", "timed out"),
    "an endless loop when it is imported": ("while True: pass", "pass", "timed out", "timed out"),
    "sleep": ("import time", "time.sleep(600)", "refused: it imports time", "timed out"),
    "a loop that ignores signals": (
        "import signal\nfor one in (1, 2, 15, 24): signal.signal(one, signal.SIG_IGN)\nwhile True: pass",
        "pass",
        "refused: it imports signal",
        "timed out",
    ),
    "100 GB of memory": ("y = bytearray(100 << 30)", "pass", "crashed: out of memory", "crashed: out of memory"),
    "100 GB of a tensor": ("y = torch.ones(25 << 30)", "pass", "crashed: RuntimeError", "crashed: RuntimeError"),
    "processes that multiply": (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        time.sleep(600)",
        "pass",
        "refused: it imports os",
        "crashed: PermissionError",
    ),
    "a shell through torch": ("torch.os.system('echo a > {place}/shell')", "pass", "refused: torch.os", ""),
    "a shell through a layer": (
        "nn.functional.torch.os.system('echo a > {place}/shell')",
        "pass",
        "refused: nn.functional.torch.os",
        "",
    ),
    "a program that is started": (
        "import subprocess\nsubprocess.run(['touch', '{place}/started'])",
        "pass",
        "refused: it imports subprocess",
        "crashed: PermissionError",
    ),
    "a file that is written": (
        "open('{place}/written', 'w').write('a')",
        "pass",
        "refused: it uses open",
        "crashed: PermissionError",
    ),
    "a tensor that is written": (
        "torch.save(torch.ones(1), '{place}/saved')",
        "pass",
        "refused: torch.save",
        "crashed: RuntimeError",
    ),
    "a file that is removed": (
        "import os\nos.remove('{place}/kept')",
        "pass",
        "refused: it imports os",
        "crashed: PermissionError",
    ),
    "a file that is cut": (
        "import os\nos.truncate('{place}/kept', 0)",
        "pass",
        "refused: it imports os",
        "crashed: PermissionError",
    ),
    "a connection": (
        "import socket\nsocket.create_connection(('127.0.0.1', {port}))",
        "pass",
        "refused: it imports socket",
        "crashed: PermissionError",
    ),
    "the worker's end": (
        "import os\nos.kill(os.getppid(), 9)",
        "pass",
        "refused: it imports os",
        "crashed: PermissionError",
    ),
    "sys.exit": ("", "raise SystemExit(0)", "crashed: it exits", "crashed: it exits"),
    "an end at once": ("import os", "os._exit(0)", "refused: it imports os", "crashed: exit status 0"),
    "a segmentation fault": (
        "import ctypes",
        "ctypes.string_at(0)",
        "refused: it imports ctypes",
        r"crashed: segmentation fault \(SIGSEGV\)",
    ),
    "endless recursion": ("def f(): return f()\nf()", "pass", "crashed: RecursionError", "crashed: RecursionError"),
    "a replaced torch.rsqrt": (
        "torch.rsqrt = torch.sqrt",
        "pass",
        "refused: it changes torch.rsqrt",
        "refused: it replaces torch.rsqrt",
    ),
    "a replaced method of tensors": (
        "",
        "type(x).mean = lambda x, *_, **__: x[..., :1]",
        r"refused: it replaces torch.Tensor.mean",
        r"refused: it replaces torch.Tensor.mean",
    ),
    "a replaced method of parameters, by its name": (
        "setattr(type(nn.Parameter(torch.ones(1))), 'pow', None)",
        "pass",
        r"refused: it replaces torch.Parameter.pow",
        r"refused: it replaces torch.Parameter.pow",
    ),
    "a replaced function of Python's": (
        "import builtins\nbuiltins.max = min",
        "pass",
        "refused: it imports builtins",
        "refused: it replaces builtins.max",
    ),
    "a replaced judge": (
        "import normlint.verify.bench.judge as judge\njudge.judge = print",
        "pass",
        "refused: it imports normlint",
        "refused: it replaces normlint.verify.bench.judge.judge",
    ),
    "another default dtype": (
        "torch.set_default_dtype(torch.float64)",
        "pass",
        "refused: torch.set_default_dtype",
        "refused: it changes the default dtype",
    ),
    "gradients that are switched off for all": (
        "torch.autograd.set_grad_enabled(False)",
        "pass",
        "refused: torch.autograd.set_grad_enabled",
        "refused: it changes the gradient mode",
    ),
    "a hook on all modules": (
        "nn.modules.module.register_module_forward_hook(lambda *_: torch.ones(1))",
        "pass",
        "refused: nn.modules.module.register_module_forward_hook",
        "refused: it replaces|refused: it changes the hooks of all modules",
    ),
    "threads that stay": (
        "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
        "pass",
        "refused: it imports threading",
        "crashed: RuntimeError: can't start new thread",
    ),
    "100 MB printed": (
        "for _ in range(100): print('a' * 1000000)",
        "raise SystemExit",
        "crashed: it exits",
        "crashed: it exits",
    ),
    "a forged answer": (
        "import json, os, struct\n"
        "one = dict(status='match', reason='', device='cpu', worst=None, probes=[])\n"
        "body = json.dumps(dict(verdict=one, nonce='', index=0)).encode()\n"
        "for pipe in range(3, 64):\n"
        "    try: os.write(pipe, struct.pack('!I', len(body)) + body)\n"
        "    except OSError: pass\n"
        "os._exit(0)",
        "pass",
        "refused: it imports json",
        "crashed: what it sent is no verdict",
    ),
    "an answer without end": (
        "import os, time\nfor pipe in range(3, 64):\n    try: os.write(pipe, bytes(2))\n    except OSError: pass\n"
        "time.sleep(600)",
        "pass",
        "refused: it imports os",
        "timed out",
    ),
    "an answer of 4 GB": (
        "import os\nfor pipe in range(3, 64):\n    try: os.write(pipe, b'\\xff' * 8)\n    except OSError: pass",
        "pass",
        "refused: it imports os",
        "crashed: what it sent is no verdict",
    ),
    "a closed pipe": (
        "import os, time\nos.closerange(3, 64)\ntime.sleep(600)",
        "pass",
        "refused: it imports os",
        "crashed",
    ),
}


@dataclass(frozen=True)
class World:
    """What the hostile norms reach for."""

    place: Path
    listener: socket.socket
    homes: list[str]  # of the verifiers' processes


@dataclass(frozen=True)
class Told:
    """A hostile norm's verdict, and that of a sound one right after it."""

    hostile: Verdict
    after: Verdict


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = tmp_path_factory.mktemp("reach")
    (place / "kept").write_text("a")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield World(place, listener, [])


def told_of(world: World, *, gate: bool) -> dict[str, Told]:
    """All hostile norms, each followed by a sound one, in one verifier."""
    jobs = []
    for number, (top, body, *_) in enumerate(HOSTILE.values()):
        named = top.replace("{place}", str(world.place)).replace("{port}", str(world.listener.getsockname()[1]))
        jobs += [norm(named, body), norm(f"NUMBER = {number}")]
    with Verifier("cpu", timeout=6.0, workers=8, gate=gate) as verifier:
        world.homes.append(verifier._process._place)
        found = dict(verifier.verdicts(jobs))
    return {name: Told(found[2 * number], found[2 * number + 1]) for number, name in enumerate(HOSTILE)}


@pytest.fixture(scope="module")
def gated(world: World) -> dict[str, Told]:
    return told_of(world, gate=True)


@pytest.fixture(scope="module")
def open_gate(world: World) -> dict[str, Told]:
    return told_of(world, gate=False)


@pytest.mark.parametrize("name", HOSTILE)
def test_is_refused_or_contained(name: str, gated: dict[str, Told]) -> None:
    told = gated[name]
    assert (told.hostile.status, told.after.status) == (SKIPPED, MATCH)
    assert re.match(HOSTILE[name][2], told.hostile.reason), told.hostile.reason


@CONTAINS
@pytest.mark.parametrize("name", HOSTILE)
def test_is_contained_without_the_gate(name: str, open_gate: dict[str, Told]) -> None:
    told = open_gate[name]
    expected = HOSTILE[name][3]
    assert told.after.status == MATCH
    if not expected:  # nothing came of it: what follows is a sound norm
        assert told.hostile.status == MATCH
        return
    assert told.hostile.status == SKIPPED
    assert re.match(expected, told.hostile.reason), told.hostile.reason


@CONTAINS
def test_nothing_was_reached(world: World, gated: dict[str, Told], open_gate: dict[str, Told]) -> None:
    assert len(gated) == len(open_gate) == len(HOSTILE)
    assert [path.name for path in world.place.iterdir()] == ["kept"]
    assert (world.place / "kept").read_text() == "a"
    with pytest.raises(BlockingIOError):
        world.listener.accept()


@CONTAINS
def test_no_process_is_left(world: World, open_gate: dict[str, Told]) -> None:
    assert open_gate
    places = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                places.append(os.readlink(process / "cwd"))
            except OSError:
                continue  # it has ended meanwhile, or is another user's
    assert [place for place in places if place.removesuffix(" (deleted)") in world.homes] == []


ALONE = {
    "an endless loop": ("", "while True: pass", "timed out after 5 s"),
    "a replaced method of tensors": ("", "type(x).mean = None", "refused: it replaces torch.Tensor.mean"),
    "an end at once": ("import os", "os._exit(3)", "crashed: exit status 3"),
}


def test_a_worker_that_cannot_fork_starts_anew_after_each() -> None:
    jobs = []
    for number, (top, body, _) in enumerate(ALONE.values()):
        jobs += [norm(top, body), norm(f"NUMBER = {number}")]
    with Verifier("cpu", timeout=5.0, gate=False, fork=False) as verifier:
        found = dict(verifier.verdicts(jobs))
    assert [found[2 * number].reason for number in range(len(ALONE))] == [reason for *_, reason in ALONE.values()]
    assert [found[2 * number + 1].status for number in range(len(ALONE))] == [MATCH] * len(ALONE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_norm_that_hangs_on_cuda_leaves_the_next_unharmed() -> None:
    with Verifier("cuda", timeout=30.0) as verifier:
        found = dict(verifier.verdicts([norm(body="while True: pass"), norm()]))
    assert (found[0].status, found[1].status, found[1].device) == (SKIPPED, MATCH, "cuda")
