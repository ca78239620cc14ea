"""Import torch once, then judge one norm after the other, in child processes where forking is possible."""

from __future__ import annotations

import faulthandler
import functools
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict
from normlint.verify.guard import fork, frames, limits
from normlint.verify.job import Job, Meaning

CAN_FORK: Final = hasattr(os, "fork") and sys.platform != "darwin"  # forked children of macOS's libraries hang
_GRACE: Final = 5  # seconds beyond a norm's timeout after which a worker ends itself if its parent hasn't
_MOST_CONTEXTS: Final = 4  # most children on an accelerator, where the context of each takes some hundred MB
_NORMS_PER_CHILD: Final = 16  # norms that a child interprets: forking costs half as much as judging
_VISIBLE: Final = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_PROBE_TIMEOUT: Final = 60.0  # seconds to find out whether a device works

_RIGHT: Final = """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
"""
_CONTROL: Final = Job("control", Meaning("rms", gain="weight"), _RIGHT, "Norm", "forward")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where norms run, the inputs' seed, and whether jobs may import and execute modules."""

    device: str = "cpu"
    seed: int = 0
    execute: bool = False


def main() -> None:
    """Serve requests over standard input and output; what a norm prints is discarded."""
    requests, answers = frames.Reader(os.dup(0)), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    asked = requests.next()
    if asked is None:
        return
    forks = CAN_FORK and bool(asked["fork"])
    try:
        hello = _prepare_torch(str(asked["device"]), forks=forks)
        if not forks or (hello.get("device") == "cpu" and _in_child(_lacks_accelerators)):
            judge(_CONTROL, Bench())  # what the first norm loads is there for all
    except (ImportError, OSError) as error:
        frames.write(answers, {"error": f"torch can't be imported: {error}"})
        return
    frames.write(answers, {**hello, "fork": forks})
    if "error" not in hello:
        serve = _serve_forking if forks else _serve_alone
        serve(requests, answers, asked, Bench(hello["device"], int(asked["seed"]), bool(asked["execute"])))


def _prepare_torch(wanted: str, *, forks: bool) -> dict[str, str]:
    """Import what norms need, in one thread since forks keep no other; return the device and torch's version."""
    if wanted == "cpu":
        os.environ.update(dict.fromkeys(_VISIBLE, ""))  # a gradient would start the driver of each device there is
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    importlib.import_module("normlint.verify.interpret")
    kind = wanted.partition(":")[0]
    drivers = {"cuda": torch.version.cuda or torch.version.hip, "mps": torch.backends.mps.is_built()}
    if wanted == "auto":
        device = "cuda" if drivers["cuda"] and _works("cuda", forks=forks) else "cpu"
    elif wanted == "cpu" or (drivers.get(kind) and _works(wanted, forks=forks)):
        device = wanted
    else:
        numbered = " of that number" if ":" in wanted else ""
        return {"error": f"--device {wanted}: torch sees no {kind.upper()} device{numbered}"}
    return {"device": device, "torch": torch.__version__}


def _works(device: str, *, forks: bool) -> bool:
    """Return whether torch can use the device."""
    return _in_child(lambda: _usable(device)) if forks else _usable(device)


def _in_child(check: Callable[[], bool]) -> bool:
    """Return what a check says in a forked child, since a driver that the check starts doesn't survive a fork."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if check() else 1
        finally:
            os._exit(status)
    until = time.monotonic() + _PROBE_TIMEOUT
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _usable(device: str) -> bool:
    import torch

    try:
        return bool(torch.zeros(1, device=device).add(1).item() == 1)
    except (RuntimeError, AssertionError, NotImplementedError):
        return False


def _lacks_accelerators() -> bool:
    """Return whether a gradient starts no thread for a device: autograd is of no use in forks of one that did."""
    import torch

    if hasattr(torch, "accelerator"):  # from 2.6 on
        return not torch.accelerator.is_available()
    return not (torch.cuda.is_available() or torch.xpu.is_available())


def _serve_forking(requests: frames.Reader, answers: int, asked: dict[str, Any], bench: Bench) -> None:
    gc.collect()
    gc.freeze()  # a collection would write to shared pages, which copies them in each child
    accelerator = bench.device != "cpu"
    workers = min(int(asked["workers"]), _MOST_CONTEXTS) if accelerator else int(asked["workers"])
    settings = fork.Settings(workers, float(asked["timeout"]), accelerator, 1 if bench.execute else _NORMS_PER_CHILD)
    fork.serve(requests, answers, settings, lambda request: _response(request, bench))


def _serve_alone(requests: frames.Reader, answers: int, asked: dict[str, Any], bench: Bench) -> None:
    """Serve requests without forking, timed by the parent; end after one norm if modules are executed."""
    limits.confine(None, accelerator=bench.device != "cpu")
    while (request := requests.next()) is not None:
        _end_after(float(asked["timeout"]) + _GRACE)
        answer = _response(request, bench)
        _end_after(0.0)
        frames.write(answers, {**answer, "last": bench.execute, "index": request["index"]})
        if bench.execute:
            return


def _response(request: fork.Request, bench: Bench) -> fork.Answer:
    job = Job.of_dict(request["job"])
    verdict = _checked(job, bench)
    spent = verdict.status == SKIPPED  # a norm that could not be judged may have changed the state of the process
    if spent and bench.device != "cpu":  # as with a gain that isn't on the device
        verdict = _checked(job, replace(bench, device="cpu"))
    return {"verdict": asdict(verdict), "spent": spent}


def _checked(job: Job, bench: Bench) -> Verdict:
    """Return the verdict on a job; the norm is blamed for nothing that a right norm does here, too."""
    verdict = judge(job, bench)
    if verdict.status in (WRONG, PRECISION) and (failing := _failing_control(bench)):
        return Verdict(SKIPPED, f"needs a torch with which a right norm is right ({failing})")
    return verdict


@functools.cache
def _failing_control(bench: Bench) -> str:
    """Return why a right norm fails in this process and on this device, "" if it doesn't."""
    found = judge(_CONTROL, bench)
    return "" if found.status == MATCH else found.reason


def judge(job: Job, bench: Bench) -> Verdict:
    """Return the verdict on a job; its module is executed only if the bench allows it."""
    from normlint.verify.interpret import imported, interpreted, judged  # torch is there by now

    names = imported if job.module and bench.execute else interpreted
    return judged(job, device=bench.device, seed=bench.seed, names=names)


def _end_after(seconds: float) -> None:
    """End this process after so many seconds, for when its parent is gone; 0 cancels that."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
    else:
        faulthandler.cancel_dump_traceback_later()
