"""Jobs in, verdicts out: once each, in any order, whatever becomes of the worker."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normlint.text.verdict import MATCH, SKIPPED, WRONG, Probe, Verdict
from normlint.verify.guard import frames, worker
from normlint.verify.guard.limits import ending
from normlint.verify.guard.run import DeviceError, TorchMissingError, Verifier
from normlint.verify.job import Job
from tests.verify.runnable import norm

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("cpu", workers=2) as started:
        yield started


def distinct(count: int) -> list[Job]:
    return [norm(f"NUMBER = {number}") for number in range(count)]


def test_each_job_gets_one_verdict(verifier: Verifier) -> None:
    found = list(verifier.verdicts(distinct(7)))
    assert sorted(index for index, _ in found) == list(range(7))
    assert {verdict.status for _, verdict in found} == {MATCH}


def test_a_verifier_serves_again(verifier: Verifier) -> None:
    assert [next(iter(verifier.verdicts(distinct(1))))[1].status for _ in range(2)] == [MATCH, MATCH]


def test_it_starts_no_thread_before_an_answer_is_waited_for_so_that_files_are_linted_in_forked_processes() -> None:
    before = threading.active_count()
    with Verifier("cpu") as started:
        assert threading.active_count() == before
        assert next(iter(started.verdicts(distinct(1))))[1].status == MATCH


def test_nothing_to_do_is_done(verifier: Verifier) -> None:
    assert list(verifier.verdicts([])) == []


def test_a_wrong_norm_is_wrong_with_its_probes(verifier: Verifier) -> None:
    ((_, verdict),) = verifier.verdicts([norm(body="x = x * 2 + 1")])
    assert (verdict.status, verdict.device) == (WRONG, "cpu")
    assert verdict.worst in verdict.probes


def test_the_worker_says_where_norms_run(verifier: Verifier) -> None:
    assert (verifier.device, verifier.torch_version) == ("cpu", torch.__version__)


def test_the_same_norm_runs_once(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = verifier._process.send
    monkeypatch.setattr(verifier._process, "send", lambda message: (sent.append(message["index"]), send(message)))
    named = [dataclasses.replace(norm(), qualname=name) for name in ("A", "B", "C")]
    found = list(verifier.verdicts([*named, norm("NUMBER = 1")]))
    assert sorted(sent) == [0, 3]
    assert sorted(index for index, _ in found) == [0, 1, 2, 3]


def test_what_needs_more_is_skipped_without_a_worker(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier._process, "send", None)
    job = dataclasses.replace(norm(), program="", needs="triton")
    assert list(verifier.verdicts([job])) == [(0, Verdict(SKIPPED, "needs triton"))]


def test_a_program_beyond_measure_is_skipped(verifier: Verifier) -> None:
    job = norm(f"TEXT = {'a' * frames.LIMIT!r}")
    assert list(verifier.verdicts([job])) == [(0, Verdict(SKIPPED, "needs a shorter program"))]


def test_a_dead_worker_costs_no_verdict() -> None:
    with Verifier("cpu", workers=2) as verifier:
        verdicts = verifier.verdicts(distinct(8))
        found = [next(verdicts)]
        verifier._process._process.kill()
        found += verdicts
    assert sorted(index for index, _ in found) == list(range(8))
    assert {verdict.status for _, verdict in found} == {MATCH}


def test_an_iteration_may_be_given_up() -> None:
    with Verifier("cpu", workers=2) as verifier:
        next(verifier.verdicts(distinct(4)))
        home = Path(verifier._process._place)
        assert home.is_dir()
    assert not home.exists()
    assert verifier._process._process.returncode is not None


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TorchMissingError, match=r"verification needs torch: pip install 'normlint\[verify\]'"):
        Verifier()


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:a", "cpu:1", ""])
def test_a_device_that_cannot_be_is_refused_at_once(device: str) -> None:
    with pytest.raises(DeviceError, match=f"--device {device}: not one of auto, cpu, cuda, cuda:N, mps"):
        Verifier(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_device_that_is_not_there_is_said_with_the_first_answer(device: str) -> None:
    with Verifier(device) as verifier, pytest.raises(DeviceError, match=f"--device {device}: torch sees no CUDA"):
        next(verifier.verdicts(distinct(1)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("device", "found"), [("auto", "cuda"), ("cuda:0", "cuda:0")])
def test_norms_run_on_cuda(device: str, found: str) -> None:
    with Verifier(device, timeout=60.0) as verifier:
        assert {(verdict.status, verdict.device) for _, verdict in verifier.verdicts(distinct(3))} == {(MATCH, found)}


def test_the_parent_never_imports_torch() -> None:
    code = "import sys, normlint.verify.guard.run; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


VERDICT = Verdict(
    WRONG,
    "half",
    "cpu",
    1e-6,
    None,
    "",
    Probe("a", "fp16", float("inf"), 4.0),
    (Probe("a", "fp16", float("inf"), 4.0),),
)


def test_a_verdict_survives_its_frame() -> None:
    buffer = bytearray(frames.packed({"verdict": dataclasses.asdict(VERDICT)}))
    message = frames.take(buffer)
    assert message is not None
    assert frames.to_verdict(message["verdict"]) == VERDICT
    assert buffer == b""


def test_a_frame_waits_for_its_end_and_leaves_the_next() -> None:
    whole = frames.packed({"a": 1}) + frames.packed({"b": 2})
    buffer = bytearray()
    seen = []
    for one in whole:
        buffer.append(one)
        seen.append(frames.take(buffer))
    assert [message for message in seen if message is not None] == [{"a": 1}, {"b": 2}]
    assert seen[-1] == {"b": 2}


GARBAGE = {
    "a length beyond measure": b"\xff\xff\xff\xff",
    "no JSON": struct.pack("!I", 2) + b"{]",
    "no text": struct.pack("!I", 2) + b"\xff\xfe",
    "no object": struct.pack("!I", 2) + b"[]",
    "nesting beyond measure": struct.pack("!I", 100_000) + b"[" * 100_000,
    "a number beyond measure": struct.pack("!I", 10_000) + b"1" * 10_000,
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_no_frame(data: bytes) -> None:
    with pytest.raises(frames.BrokenFrameError):
        frames.take(bytearray(data))


SENT = json.loads(json.dumps(dataclasses.asdict(VERDICT)))
PROBE = {"probe": "a", "dtype": "fp16", "error": 0.0, "limit": 0.0, "message": ""}
NO_VERDICTS = {
    "nothing": None,
    "text": "match",
    "another status": {**SENT, "status": "fine"},
    "an unhashable status": {**SENT, "status": ["match"]},
    "less than a verdict": {"status": "match"},
    "probes of another kind": {**SENT, "probes": [1]},
    "a probe with a word for its error": {
        **SENT,
        "probes": [{"probe": "a", "dtype": "fp16", "error": "0", "limit": 0.0, "message": ""}],
    },
    "more probes than there are": {**SENT, "probes": [PROBE] * 1000},
    "a reason that is no text": {**SENT, "reason": ["fine"]},
    "a device that is no text": {**SENT, "device": 1},
    "an eps that is true": {**SENT, "effective_eps": True},
    "an eps that is a list": {**SENT, "given_eps": [1e-6]},
    "a number beyond measure": {**SENT, "given_eps": 10**400},
    "a sweep that is none": {**SENT, "sweep": {"curves": 1, "change": []}},
}


@pytest.mark.parametrize("data", NO_VERDICTS.values(), ids=NO_VERDICTS)
def test_is_no_verdict(data: object) -> None:
    with pytest.raises(frames.BrokenFrameError):
        frames.to_verdict(data)


def test_a_long_reason_is_cut() -> None:
    assert len(frames.to_verdict({**SENT, "reason": "a" * 10**6}).reason) == frames.LONGEST


def test_a_result_of_the_wrong_type_costs_its_own_verdict_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with Verifier("cpu", workers=2) as verifier:
        receive = verifier._process.receive

        def broken(seconds: float) -> dict[str, Any] | None:
            message = receive(seconds)
            return {**message, "verdict": {"status": 1}} if message and message.get("index") == 1 else message

        monkeypatch.setattr(verifier._process, "receive", broken)
        found = dict(verifier.verdicts(distinct(3)))
    assert [found[at].status for at in range(3)] == [MATCH, SKIPPED, MATCH]
    assert found[1].reason == "crashed: what it sent is no verdict"


ENDS = {3: "crashed: exit status 3", -11: "crashed: segmentation fault (SIGSEGV)", -9: "crashed: killed (SIGKILL)"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize(("code", "words"), ENDS.items())
def test_how_a_process_ended(code: int, words: str) -> None:
    assert ending(code, 10.0) == words


def test_a_norm_that_a_device_cannot_run_is_judged_on_the_cpu_instead() -> None:
    job = norm(body="x = x * 2 + 1")
    answer = worker._response({"job": dataclasses.asdict(job)}, worker.Bench(device="meta"))
    assert (answer["verdict"]["status"], answer["verdict"]["device"], answer["spent"]) == (WRONG, "cpu", True)


def test_no_norm_is_blamed_where_a_right_norm_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Verdict(WRONG, "input gradient: raises RuntimeError: no threads left")
    monkeypatch.setattr(worker, "judge", lambda job, bench: failing)
    worker._failing_control.cache_clear()
    answer = worker._response({"job": dataclasses.asdict(norm())}, worker.Bench())
    worker._failing_control.cache_clear()
    assert answer["verdict"]["status"] == SKIPPED
    assert answer["verdict"]["reason"] == f"needs a torch with which a right norm is right ({failing.reason})"


@pytest.mark.skipif(not worker.CAN_FORK, reason="norms aren't judged in forks here")
@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_gradients_work_in_forks_also_where_torch_has_a_device(device: str) -> None:
    with Verifier(device, timeout=60.0, workers=1) as verifier:
        assert {verdict.status for _, verdict in verifier.verdicts(distinct(20))} == {MATCH}
