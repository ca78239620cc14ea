"""Define the measurements that a report's charts show, taken while a norm ran."""

from __future__ import annotations

from typing import Any, Final

from normlint.text.frozen import dataclass

NORM: Final = "norm"  # the user's norm
TORCH: Final = "torch"  # torch's norm of that kind, with the same gain and eps
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """The error of a norm for inputs of several sizes, in one dtype.

    `points`: the input's scale, and the largest error as a share of the correct element; infinite where no finite
    output can be compared. `limit`: the share that the verdict allows.
    """

    of: str
    dtype: str
    limit: float
    points: Points


@dataclass(frozen=True, slots=True)
class Sweep:
    """The curves, and how much row j of the output changes when row i of the input is changed: `change[i][j]`.

    A change is a share of the largest element of the other rows, 0 for what stays bit-identical.
    """

    curves: tuple[Curve, ...] = ()
    change: tuple[tuple[float, ...], ...] = ()

    def curve(self, of: str, dtype: str) -> Curve | None:
        """Return the curve of this norm in this dtype; None if there is none."""
        return next((one for one in self.curves if (one.of, one.dtype) == (of, dtype)), None)


def to_sweep(data: Any) -> Sweep | None:
    """Check and convert JSON from where a user's code ran, which isn't trusted; TypeError or KeyError if malformed."""
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
