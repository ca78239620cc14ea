"""What the verifier's processes say to each other: JSON objects, each after its length in four bytes."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict
from typing import Any, Final

from normlint.text.sweep import to_sweep
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Probe, Verdict

LIMIT: Final = 8 << 20  # bytes a frame; a program is far smaller
_CHUNK: Final = 1 << 16
_LENGTH: Final = struct.Struct("!I")
_STATUSES: Final = (MATCH, PRECISION, WRONG, SKIPPED)


class BrokenFrameError(Exception):
    """Not a frame, or too long for one."""


def packed(message: dict[str, Any]) -> bytes:
    """One frame."""
    body = json.dumps(message).encode("ascii")
    if len(body) > LIMIT:
        raise BrokenFrameError(f"{len(body)} bytes")
    return _LENGTH.pack(len(body)) + body


def take(buffer: bytearray) -> dict[str, Any] | None:
    """The first frame, removed from the buffer; None while it isn't complete."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    if length > LIMIT:
        raise BrokenFrameError(f"{length} bytes")
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    return _decoded(body)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError("no JSON") from error
    if not isinstance(message, dict):
        raise BrokenFrameError("no object")
    return message


class Reader:
    """The frames that come on a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self._buffer = bytearray()

    def receive(self) -> bool:
        """Read what there is, or wait for it; False at the pipe's end."""
        data = os.read(self.pipe, _CHUNK)
        self._buffer += data
        return bool(data)

    def taken(self) -> dict[str, Any] | None:
        """The next frame of what was received."""
        return take(self._buffer)

    def next(self) -> dict[str, Any] | None:
        """The next frame, waited for; None at the pipe's end."""
        while (message := self.taken()) is None:
            if not self.receive():
                return None
        return message


def write(pipe: int, message: dict[str, Any]) -> None:
    """Send a whole frame."""
    frame = memoryview(packed(message))
    while frame:
        frame = frame[os.write(pipe, frame) :]


def of_verdict(verdict: Verdict) -> dict[str, Any]:
    """For a frame."""
    return asdict(verdict)


def to_verdict(data: Any) -> Verdict:
    """The inverse of `of_verdict`."""
    try:
        probes = tuple(Probe(**one) for one in data["probes"])
        worst = data["worst"] and Probe(**data["worst"])
        verdict = Verdict(**{**data, "probes": probes, "worst": worst, "sweep": to_sweep(data["sweep"])})
    except (KeyError, TypeError, OverflowError) as error:
        raise BrokenFrameError("no verdict") from error
    if verdict.status not in _STATUSES or not isinstance(verdict.reason, str):
        raise BrokenFrameError("no verdict")
    return verdict
