"""What the pictures of a report are drawn from: plain numbers that were measured while a norm ran."""

from __future__ import annotations

from typing import Any, Final

from normlint.text.frozen import dataclass

NORM: Final = "norm"  # the user's
TORCH: Final = "torch"  # torch's own of that kind, with the same gain and eps
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """How far off a norm is for inputs of several sizes, in one dtype.

    `points`: the input's scale, and the largest error as a share of what the element should be; infinite where there
    is no finite output to compare. `limit`: the share that the verdict allows.
    """

    of: str
    dtype: str
    limit: float
    points: Points


@dataclass(frozen=True, slots=True)
class Sweep:
    """The curves, and how far row j of the output moves when row i of the input is changed: `change[i][j]`.

    A change is a share of the largest element of the other rows, 0 for what stays the same to the bit.
    """

    curves: tuple[Curve, ...] = ()
    change: tuple[tuple[float, ...], ...] = ()

    def curve(self, of: str, dtype: str) -> Curve | None:
        """The curve of this norm in this dtype; None if there is none."""
        return next((one for one in self.curves if (one.of, one.dtype) == (of, dtype)), None)


def to_sweep(data: Any) -> Sweep | None:
    """The sweep in JSON from where a user's code ran, so it isn't trusted; TypeError or KeyError if malformed."""
    if data is None:
        return None
    curves = (
        Curve(_text(one["of"]), _text(one["dtype"]), _share(one["limit"]), tuple(map(_point, one["points"])))
        for one in data["curves"]
    )
    return Sweep(tuple(curves), tuple(tuple(map(_share, row)) for row in data["change"]))


def _point(data: Any) -> tuple[float, float]:
    if len(data) != 2:
        raise TypeError
    return _share(data[0]), _share(data[1])


def _share(data: Any) -> float:
    if isinstance(data, bool) or not isinstance(data, (int, float)) or not data >= 0:
        raise TypeError
    return float(data)


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError
    return data
