"""Exchange messages between the verifier's processes: JSON objects, each after its length in four bytes."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from typing import Any, Final

from normlint.text.sweep import to_sweep
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Probe, Verdict

LIMIT: Final = 8 << 20  # most bytes in a frame; a program is far smaller
LONGEST: Final = 1000  # most characters of a text in a verdict
MOST: Final = 200  # most probes in a verdict
_CHUNK: Final = 1 << 16
_LENGTH: Final = struct.Struct("!I")
_STATUSES: Final = (MATCH, PRECISION, WRONG, SKIPPED)


class BrokenFrameError(Exception):
    """Received data is not a valid frame, or a frame is too long."""


def packed(message: dict[str, Any]) -> bytes:
    """Return a message as a frame."""
    body = json.dumps(message).encode("ascii")
    if len(body) > LIMIT:
        raise BrokenFrameError(f"{len(body)} bytes")
    return _LENGTH.pack(len(body)) + body


def take(buffer: bytearray) -> dict[str, Any] | None:
    """Remove the first frame from the buffer and return its message; None while it isn't complete."""
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
    """Read frames from a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self._buffer = bytearray()

    def receive(self) -> bool:
        """Read what there is, or wait for it; return False at the pipe's end."""
        data = os.read(self.pipe, _CHUNK)
        self._buffer += data
        return bool(data)

    def taken(self) -> dict[str, Any] | None:
        """Return the next message that was received completely, None if there is none."""
        return take(self._buffer)

    def next(self) -> dict[str, Any] | None:
        """Wait for the next message and return it; None at the pipe's end."""
        while (message := self.taken()) is None:
            if not self.receive():
                return None
        return message


def write(pipe: int, message: dict[str, Any]) -> None:
    """Write a message to a pipe as a frame."""
    frame = memoryview(packed(message))
    while frame:
        frame = frame[os.write(pipe, frame) :]


def to_verdict(data: Any) -> Verdict:
    """Return the Verdict that `asdict` made a dict of; BrokenFrameError unless every field is valid."""
    try:
        found = {name: read(data[name]) for name, read in _FIELDS.items()}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BrokenFrameError("no verdict") from error
    return Verdict(**found)


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError
    return data[:LONGEST]


def _status(data: Any) -> str:
    if data not in _STATUSES:
        raise ValueError
    return str(data)


def _number(data: Any) -> float:
    if isinstance(data, bool) or not isinstance(data, (int, float)):
        raise TypeError
    return float(data)


def _probe(data: Any) -> Probe:
    return Probe(*(read(data[name]) for name, read in _OF_PROBE.items()))


def _probes(data: Any) -> tuple[Probe, ...]:
    if not isinstance(data, list) or len(data) > MOST:
        raise TypeError
    return tuple(map(_probe, data))


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda data: None if data is None else read(data)


_OF_PROBE: Final[dict[str, Callable[[Any], Any]]] = {
    "probe": _text, "dtype": _text, "error": _number, "limit": _number, "message": _text
}  # fmt: skip
_FIELDS: Final[dict[str, Callable[[Any], Any]]] = {
    "status": _status,
    "reason": _text,
    "device": _optional(_text),
    "effective_eps": _optional(_number),
    "given_eps": _optional(_number),
    "eps_form": _text,
    "worst": _optional(_probe),
    "probes": _probes,
    "sweep": to_sweep,
}
