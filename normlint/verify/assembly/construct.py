"""Guess the arguments of a class's constructor from names, annotations, defaults and uses."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from operator import attrgetter
from typing import Any, Final

import torch
from torch import nn

from normlint.verify.assembly.uses import literals, roles
from normlint.verify.job import Job
from normlint.verify.names import CONFIGS, COUNTS, GROUP_SIZES, SHAPES, input_role, is_eps, is_features, is_rate
from normlint.verify.subject import CannotBuildError

Given = Callable[["Size"], Any]
Parameters = dict[str, inspect.Parameter]

USUAL_EPS: Final = 1e-6
MOST: Final = 48
AXES: Final = (-3, -2, -1, 0, 1, 2)  # as a default of `dim` these are an axis, not a number of features
_channels: Final[Given] = attrgetter("channels")
_shape: Final[Given] = attrgetter("shape")
_KIND: Final = re.compile(r"(^|_)(mode|type|kind|variant|norm|rms|rmsnorm|center|centered|subtract_mean)$")
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Construction:
    """A class, and a function of the size for each constructor argument; parameters left out keep their default."""

    cls: type
    given: tuple[tuple[str, Given], ...]
    eps_name: str  # "" where there is none
    eps: float | None  # the default, USUAL_EPS where one is required
    guessed: str = ""  # a parameter whose name, annotation and use don't say what it is

    def build(self, size: Size) -> tuple[Any, float | None, bool]:
        """Return an instance, the eps it was given (None for none), and whether an eps can be passed."""
        values = {name: give(size) for name, give in self.given}
        eps = self.eps
        if self.eps_name and size.eps is not None:
            values[self.eps_name] = eps = size.eps
        instance = self.cls(*_pop_positional(self.cls, values), **values)
        inherited = self.eps_name not in inspect.signature(self.cls.__init__).parameters  # type: ignore[misc]
        if self.eps_name and inherited and number(getattr(instance, "eps", eps)) != eps:
            return instance, None, False  # the subclass sets its own eps behind super().__init__(**kwargs)
        given = [v.eps for v in values.values() if isinstance(v, nn.LayerNorm)]
        by_config = any(isinstance(v, Config) and v.gave_eps for v in values.values())
        by_config |= any(v is eps for v in getattr(instance, "__dict__", {}).values() for eps in given)
        if by_config and not self.eps_name:
            eps = USUAL_EPS if size.eps is None else size.eps
        elif by_config and size.eps is None:
            eps = None  # either the default or that of the config
        return instance, eps, bool(self.eps_name) or by_config


def _pop_positional(cls: type, values: dict[str, Any]) -> list[Any]:
    """Remove the positional-only arguments from `values` and return them in order."""
    own = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    places = [p for p in own if p.kind is inspect.Parameter.POSITIONAL_ONLY][1:]
    return [values.pop(p.name, p.default) for p in places]


def parameters(cls: type) -> list[Parameters]:
    """Return the constructor's parameters, then each base's up to nn.Module as long as *args or **kwargs go on."""
    found: list[Parameters] = []
    for base in cls.__mro__:
        if base in (nn.Module, object):
            break
        if "__init__" not in base.__dict__:
            continue
        all_of = dict(list(inspect.signature(base.__init__).parameters.items())[1:])  # type: ignore[misc]
        found.append({name: p for name, p in all_of.items() if p.kind not in _VARIADIC})
        if not any(p.kind in _VARIADIC for p in all_of.values()):
            break
    return found


def constructions(cls: type, job: Job) -> Iterator[Construction]:
    """Yield ways to construct the job's class, the likeliest first."""
    levels = parameters(cls)
    own = levels[0] if levels else {}
    everything = {name: p for level in reversed(levels) for name, p in level.items()}
    needed = any(p.default is inspect.Parameter.empty for p in own.values())
    inherited = [own, everything] if needed else [everything]
    names = [base.__name__ for base in reversed(cls.__mro__)]
    uses = {name: role for one in (*names, job.entry) for name, role in roles(job.program, f"{one}.__init__").items()}
    known = _Known(job.meaning.axes, literals(job.program), uses, dict(job.settings))
    for some in inherited if len(levels) > 1 else [own]:
        yield from islice(_constructions(cls, some, everything, known), MOST)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the text tells about a constructor: the axes, string literals, uses of parameters, flags that are needed."""

    axes: tuple[int, ...] | None
    literals: list[str]
    uses: dict[str, str]
    settings: dict[str, str | bool]


def _constructions(cls: type, some: Parameters, everything: Parameters, known: _Known) -> Iterator[Construction]:
    eps_name = next((n for n in everything if is_eps(n)), "")
    eps_name = eps_name if eps_name in some or not issubclass(cls, nn.LayerNorm | nn.RMSNorm) else ""
    rows = _options_of_each(some, known)
    default = everything[eps_name].default if eps_name else None
    eps = USUAL_EPS if eps_name and default is inspect.Parameter.empty else number(default)
    for chosen in product(*rows.values()):
        given = [(name, give) for name, give in zip(rows, chosen, strict=True) if give is not None]
        yield Construction(cls, tuple(given), eps_name, eps, _unexplained(some, known))


def _unexplained(some: Parameters, known: _Known) -> str:
    """Return the first required parameter that nothing explains, and that so gets a size; "" if there is none."""
    required = (p for p in some.values() if p.default is inspect.Parameter.empty and p.name not in known.uses)
    unexplained = (p.name for p in required if not _annotation(p) and not _by_name(p.name.lower(), "", known.axes))
    return next(unexplained, "")


def _options_of_each(some: Parameters, known: _Known) -> dict[str, list[Given | None]]:
    """Return the options of each parameter, None standing for its default."""
    rows: dict[str, list[Given | None]] = {}
    sized = any(_takes_size(p) for p in some.values() if p.default is inspect.Parameter.empty)
    for name, p in some.items():
        if p.default is inspect.Parameter.empty:
            rows[name] = [*_required(p, known, first=not rows and not sized)]
            sized = sized or not rows
        elif options := _optional(p, known, sized=sized):
            rows[name] = options
            sized = sized or _takes_size(p)
    return rows


def _required(p: inspect.Parameter, known: _Known, *, first: bool) -> list[Given]:
    name, kind = p.name.lower(), _annotation(p)
    found = [] if known.uses.get(p.name) == "pair" else _by_name(name, kind, known.axes)
    if found:
        return found
    if p.name in known.uses:
        role = known.uses[p.name]
        if role == "count" and known.axes not in (None, (-1,)):
            role = "features"  # of an axis that is reduced
        return _BY_USE[role]
    if kind.startswith("bool"):
        return [_constant(True), _constant(False)]
    if kind.startswith("float"):
        return [_constant(USUAL_EPS)]
    if kind.startswith("str"):
        return [_constant(text) for text in known.literals[:6]] or [_constant("silu")]
    if kind.startswith("int") or first:
        return [_channels, _shape]
    raise CannotBuildError(f"a value for {p.name}")


def _by_name(name: str, kind: str, axes: tuple[int, ...] | None) -> list[Given]:
    axis = _constant(-1 if axes is None else axes[0])
    table: tuple[tuple[bool, list[Given]], ...] = (
        (is_eps(name), [_eps]),
        ("tensor" in kind and input_role(name) in _TENSORS, [_TENSORS.get(input_role(name), _constant(None))]),
        (name in CONFIGS or kind.endswith(("config", "args")), [Config]),
        (name in COUNTS, [_constant(1), _constant(2)]),
        (name in GROUP_SIZES, [_channels, _half]),
        (name in SHAPES or "tuple" in kind or "list" in kind or kind.endswith("size"), _shapes(kind)),
        ("bias" in name or "affine" in name, [_constant(True), _constant(False)]),
        (name in ("axis", "axes", "norm_dim"), [axis]),
        (name in ("device", "dtype"), [_constant(None)]),
        (name.endswith(("_idx", "_id", "_index")), [_constant(0)]),
        (name.endswith(("_layer", "_fn")) and kind[:3] not in ("int", "str"), [_constant(nn.Identity)]),
        (is_rate(name), [_constant(0.0)]),
        (is_features(name) and kind[:4] not in ("bool", "str"), [_channels, _shape, axis]),
    )
    return next((given for applies, given in table if applies), [])


_TENSORS: Final[dict[str, Given]] = {
    "gain": lambda size: nn.Parameter(torch.full(size.shape, size.neutral)),
    "shift": lambda size: nn.Parameter(torch.zeros(size.shape)),
}


def _shapes(kind: str) -> list[Given]:
    return [_shape, _channels] if kind.startswith(("tuple", "list", "sequence", "size")) else [_channels, _shape]


def _optional(p: inspect.Parameter, known: _Known, *, sized: bool) -> list[Given | None]:
    """Return the options of a parameter with a default, [] where the default is right."""
    name, default, literals = p.name.lower(), p.default, known.literals
    if is_eps(name):
        return []
    needed = known.settings.get(p.name)
    if isinstance(default, str | bool) and isinstance(needed, type(default)):
        return [] if needed == default else [_constant(needed)]
    last = known.axes is None or known.axes == (-1,)
    if isinstance(default, str) and "channel" in default:
        first = [_constant(text) for text in literals if "channel" in text and ("first" in text) != last]
        return [*first, None]
    if isinstance(default, str) and _KIND.search(name):  # one class for several norms
        return [None, *(_constant(text) for text in (*literals[:6], "another") if text != default)]
    if isinstance(default, bool) and _KIND.search(name):
        return [None, _constant(not default)]
    if isinstance(default, bool) and name in ("channels_last", "channels_first", "channel_last", "channel_first"):
        return [_constant(last == name.endswith("last")), None]
    if name in CONFIGS and default is None:
        return [Config]
    if name == "device" and isinstance(default, str):  # which this machine may not have
        return [_constant(None), None]
    if is_rate(name) and isinstance(default, float):
        return [_constant(0.0), None]
    placeholder = isinstance(default, int) and default < 0 and known.uses.get(p.name) in ("features", "shape")
    if not sized and (_takes_size(p) or placeholder):
        return [_channels, _shape, None]
    if isinstance(default, int) and not isinstance(default, bool) and name in COUNTS and default > 1:
        return [_constant(1), None]
    return []


def _takes_size(p: inspect.Parameter) -> bool:
    """Return whether the parameter takes the number of features or a shape."""
    if p.name.lower() in SHAPES:
        return True
    if isinstance(p.default, (bool, str, float)) or _annotation(p)[:4] in ("bool", "str", "floa"):
        return False
    return is_features(p.name) and not (isinstance(p.default, int) and p.default in AXES)


def _annotation(p: inspect.Parameter) -> str:
    kind = p.annotation
    if kind is inspect.Parameter.empty:
        return ""
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return text.lower().removeprefix("typing.").removeprefix("optional[")


def number(value: Any) -> float | None:
    """Return an int or float, but no bool, as a float; None for anything else."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain else None


def _constant(value: Any) -> Given:
    return lambda size: value  # noqa: ARG005


def _eps(size: Size) -> Any:
    return USUAL_EPS if size.eps is None else size.eps


def _half(size: Size) -> Any:
    return max(1, math.prod(size.shape) // 2)


# --- the arguments ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes for a constructor: the `shape` of the reduced axes, and `channels`, the length that a gain has.

    `neutral`: the value of a gain that changes nothing, which is 0 where 1 is added.
    """

    shape: tuple[int, ...]
    channels: int
    eps: float | None = None
    neutral: float = 1.0


@dataclass(slots=True, repr=False)
class Config:
    """A config with any attribute: eps 1e-6, a bias, no dropout, one group; all else is the number of features."""

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
        """Return the config itself, as the result of a method such as get_text_config."""
        return self

    def get(self, name: str, default: Any = None) -> Any:
        """Return an eps or, without a default, any attribute; else the default."""
        return getattr(self, name) if default is None or is_eps(name) else default

    @property
    def gave_eps(self) -> bool:
        """Return whether an eps was read from the config."""
        return any(map(is_eps, self._asked))

    def _value(self, name: str) -> Any:
        low = name.lower()
        if is_eps(low):
            return _eps(self._size)
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


def _norm(size: Size) -> nn.LayerNorm:
    """Return a norm to be wrapped or replaced, whose weight, bias and eps a constructor reads."""
    norm = nn.LayerNorm(size.shape, eps=_eps(size))
    nn.init.constant_(norm.weight, size.neutral)
    norm.variance_epsilon = norm.eps  # type: ignore[assignment]
    return norm


_BY_USE: Final[dict[str, list[Given]]] = {
    "config": [Config],
    "norm": [_norm],
    "pair": [lambda size: (size.channels, 0), lambda size: (size.channels, size.channels)],  # scalars, and no vectors
    "shape": [_shape, _channels],
    "features": [_channels, _shape],
    "count": [_constant(1), _constant(2)],
    "value": [_constant(1.0)],
    "flag": [_constant(True), _constant(False)],
}
