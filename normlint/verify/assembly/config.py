"""A configuration that has whatever attribute is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from normlint.verify.names import COUNTS, is_eps, is_rate

USUAL_EPS = 1e-6


@dataclass(frozen=True, slots=True)
class Size:
    """What a constructor is told: `shape` of the reduced axes, `channels` of the one that a gain usually lies on."""

    shape: tuple[int, ...]
    channels: int
    eps: float | None = None


@dataclass(slots=True, repr=False)
class Config:
    """Made on access: eps 1e-6, yes to a bias, no dropout, one group, and the number of features for all else."""

    _size: Size
    _asked: set[str] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._asked.add(name)
        return self._value(name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, str(name))

    def __contains__(self, name: object) -> bool:
        return False

    def __call__(self, *_args: object, **_kwargs: object) -> Config:
        """What a method such as get_text_config gives."""
        return self

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict: an eps is there, of all else the default where there is one."""
        return getattr(self, name) if default is None or is_eps(name) else default

    @property
    def gave_eps(self) -> bool:
        """An eps was asked for."""
        return any(map(is_eps, self._asked))

    def _value(self, name: str) -> Any:
        low = name.lower()
        if is_eps(low):
            return USUAL_EPS if self._size.eps is None else self._size.eps
        if low.endswith("_config") or low.startswith("get_"):
            return self
        if "bias" in low or "affine" in low:
            return True
        if "dtype" in low or "device" in low:
            return None
        if "act" in low.split("_") or "activation" in low:
            return "silu"
        if is_rate(low):
            return 0.0
        if low in COUNTS or low.endswith(("_heads", "_groups")):
            return 1
        return self._size.channels
