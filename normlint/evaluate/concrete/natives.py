"""Python's own functions where they look into what they are given: each as the interpreter means it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from normlint.evaluate.concrete import attributes, calls, classes, expressions, world
from normlint.evaluate.concrete.values import Unsupported

_MISSING: Final = object()


def _getattr(value: Any, name: Any, default: Any = _MISSING) -> Any:
    try:
        return attributes.get(value, _name(name))
    except AttributeError:
        if default is _MISSING:
            raise
        return default


def _setattr(value: Any, name: Any, new: Any) -> None:
    attributes.store(value, _name(name), new)


def _hasattr(value: Any, name: Any) -> bool:
    return attributes.has(value, _name(name))


def _name(name: Any) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be string")
    return name


def _type(*args: Any) -> Any:
    if len(args) != 1:
        raise Unsupported("type() with three arguments")
    kind = type(args[0])
    if classes.is_interpreted(kind) or kind in world.types():
        return kind
    raise Unsupported(f"type() of a {kind.__name__}")


def _pow(base: Any, exponent: Any, *modulus: Any) -> Any:
    return pow(base, exponent, *modulus) if modulus else expressions.binary("**", base, exponent)


def _print(*_: Any, **__: Any) -> None:
    """Nothing is printed."""


def _repr(value: Any) -> str:
    attributes.refuse_odd_text(value)
    return repr(value)


OWN: Final[dict[str, Callable[..., Any]]] = {
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "isinstance": calls.is_instance,
    "type": _type,
    "pow": _pow,
    "print": _print,
    "repr": _repr,
    "str": str,
}
