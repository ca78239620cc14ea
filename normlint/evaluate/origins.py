"""Values of the light domain, and the classes of operations that it distinguishes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from normlint.text.operations import CLASSES, CONSTANTS, FUSED, LENGTHS, PATTERNED, SUMMING

Labels: TypeAlias = "frozenset[str]"
NONE: Final[Labels] = frozenset()
SQUARED, STRONG, ROOTED = 1, 2, 4  # a square or the like; a statistic of one; a root of a statistic
MOST_OPERANDS: Final = 16  # operands of a contraction that are followed
DEEPEST: Final = 5  # nesting of calls
MOST_FOLLOWED: Final = 500  # calls of nested functions with different environments
MOST: Final = 16  # origins of one value; with more it becomes a new value


def _words(*classes: str) -> frozenset[str]:
    return frozenset(word for name in classes for word in CLASSES[name].split())


FUSED_NORMS: Final = frozenset(FUSED.split())
REDUCING: Final = _words("statistic", "distance", "reduction") | set(SUMMING.split())
LENGTH_OPS: Final = frozenset(LENGTHS.split()) | _words("distance")
SQUARING: Final = LENGTH_OPS | {"var", "var_mean"}
CONTRACTING: Final = _words("contraction")
SUMS_OF_PRODUCTS: Final = frozenset(PATTERNED.split())
CONSTANT: Final = frozenset(CONSTANTS.split())
MULTIPLIES: Final = _words("scaling") | {"addcmul", "addcdiv", "lerp"}
SUMS: Final = _words("sum", "degree 1", "selection") | {"max", "min", "clamp", "clip"}
KEEPING: Final = _words("layout", "same", "cast", "power") | {"clamp_min", "clamp_max"} | SUMS
POWERS: Final = _words("power") | {"exp", "abs", "absolute", "fabs"}
SIZES: Final = _words("question") | {"shape", "ndim", "device", "dtype", "names"}
SAME: Final = frozenset(("T", "mT", "H", "data", "real", "values"))
LIBRARIES: Final = frozenset(("torch", "np", "numpy", "math", "nn", "F", "jnp", "einops"))
FOREIGN: Final = frozenset(("np", "numpy", "jnp"))
OPERATORS: Final = {
    f"__{r}{name}__": name for name in ("mul", "truediv", "add", "sub", "pow") for r in ("", "r", "i")
} | {f"__{r}truediv__": "div" for r in ("", "r", "i")}
_KNOWN: Final = _words(*CLASSES)
_NEAR: Final = sorted(_words("statistic", "power"))
PASSING: Final = frozenset(
    "next iter list tuple dict zip map filter enumerate reversed sorted chain accumulate pop get popleft copy".split()
)
# Layers without parameters, by the lowercase name of their class: torch's function of the same name.
LAYERS: Final = {word.replace("_", ""): word for word in _words("layout", "reduction")}
PARTIAL: Final = frozenset(("partial", "compile", "vmap", "wraps", "jit", "script", "checkpoint"))


@lru_cache(maxsize=4096)
def meant(name: str) -> str:
    """Return the statistic or power whose name a misspelt name is closest to, or ""; known names give ""."""
    if name in _KNOWN or len(name) < 3 or not name.isalpha() or not name.islower():
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, _NEAR, 1, 0.8)), "")


class Value(NamedTuple):
    """What the light domain knows of a value.

    `bare`: labels of the values that it is made of element by element. `stats`: labels of the values that its
    statistics were taken of. `how`: SQUARED, STRONG and ROOTED, as bits. `made`: the functions that it may be.
    """

    bare: Labels = NONE
    stats: Labels = NONE
    how: int = 0
    made: tuple[Any, ...] = ()


NOTHING: Final = Value()
Env: TypeAlias = "dict[str, Value]"


class Called(NamedTuple):
    """A call of a function of the text: `own` is "self" or a class for a method; `given`: a statistic is passed."""

    own: str
    name: str
    given: bool


@dataclass(eq=False, slots=True)
class Nested:
    """A nested function or a lambda, with its environment."""

    node: Any
    env: Env


@dataclass(eq=False, slots=True)
class Method:
    """A bound method of a tensor that is passed on without being called."""

    name: str
    value: Value


class Seen:
    """What a walk over a function has shown."""

    def __init__(self, binds: bool = True) -> None:
        self.binds = binds  # the text has a walrus
        self.met = False
        self.weakly = False  # a product with a plain mean, not one of squares
        self.result = NOTHING
        self.attrs: Env = {}  # of `self`, with a statistic or a function as value
        self.read: set[str] = set()  # attributes of self
        self.called: set[Called] = set()
        self.followed: dict[object, Value] = {}  # results of nested functions, by function and environment


class Text:
    """What a function may see of the rest of its text; here nothing."""

    def attribute(self, name: str) -> Value:  # noqa: ARG002
        """Return what the functions of the text assign to an attribute of `self`."""
        return NOTHING

    def name(self, name: str) -> Value | None:  # noqa: ARG002
        """Return the value of a global name, or None."""
        return None

    def call(self, called: Called, args: Sequence[Value], named: Mapping[str, Value], depth: int) -> Value | None:  # noqa: ARG002
        """Return the result of a function of the text, or None if there is no such function."""
        return None


def mix(values: Iterable[Value]) -> Value:
    """Return a value that is computed from all of the values."""
    kept = [v for v in values if v.bare or v.stats]
    if len(kept) < 2:
        return Value(*kept[0][:3]) if kept else NOTHING
    first, *others = kept
    bare = first.bare.union(*[v.bare for v in others])
    stats = first.stats.union(*[v.stats for v in others])
    how = first.how
    for v in others:
        how |= v.how
    if len(bare) > MOST:
        bare = frozenset((f"~{hash(bare)}",))
    return Value(bare, stats if len(stats) <= MOST else frozenset(sorted(stats)[:MOST]), how)


def join(values: Iterable[Value]) -> Value:
    """Return a value that may be any of the values, or that holds all of them."""
    kept = [v for v in values if v is not NOTHING]
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    made = tuple(dict.fromkeys(m for v in kept for m in v.made))[:4] if any(v.made for v in kept) else ()
    mixed = mix(kept)
    return mixed._replace(made=made) if made else mixed


def bound(node: ast.arguments, args: Sequence[Value], named: Mapping[str, Value]) -> Env:
    """Return the environment of a call; parameters without an argument are symbols."""
    params = [*node.posonlyargs, *node.args]
    env: Env = {}
    if params and params[0].arg in ("self", "cls"):
        args = args[1:] if len(args) == len(params) else args
        params = params[1:]
    for one in (*params, *node.kwonlyargs):
        env[one.arg] = named.get(one.arg) or Value(frozenset((one.arg,)))
    env.update((one.arg, value) for one, value in zip(params, args, strict=False))
    rest = [*args[len(params) :], *(v for k, v in named.items() if k not in env)]
    for star in (node.vararg, node.kwarg):
        if star is not None:
            env[star.arg] = join([Value(frozenset((star.arg,))), *rest])
    return env


def reduced(value: Value) -> bool:
    """Return whether a value is made of statistics alone."""
    return all(label[0] == "#" for label in value.bare)


def pure(value: Value) -> bool:
    """Return whether a value is, as far as is known, a statistic combined with numbers only."""
    return value.bare.isdisjoint(value.stats) and not any("@" in label or "(" in label for label in value.bare)


def may_meet(values: Sequence[Value]) -> bool:
    """Return whether a statistic is passed together with the value that it may be a statistic of."""
    stats = NONE.union(*[v.stats for v in values])
    if not stats:
        return False
    return any(not stats.isdisjoint(v.bare) for v in values) or any(label[0] == "." for label in stats)


def item_of(value: Value, key: object) -> Value:
    """Return an item or attribute of a value: a new label, made as the whole is."""
    if not value.bare:
        return value
    if len(value.bare) > 3 or any(label.endswith("]") for label in value.bare):
        return value._replace(made=()) if value.made else value
    named = tuple(made for made in value.made if isinstance(made, tuple)) if value.made else ()  # a table of functions
    return value._replace(bare=frozenset([f"{label}[{key}]" for label in value.bare]), made=named)


def library(node: ast.expr, names: frozenset[str] = LIBRARIES) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in names
