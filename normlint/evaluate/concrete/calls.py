"""Interpret calls, of functions and classes of the text and of those that the tables in `world` allow."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, Final

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete import attributes, classes, expressions, functions, world
from normlint.evaluate.concrete.values import File, Function, Native, Scope, Space, Typing, Unknown, Unsupported, known

_CACHED = type(functools.cache(len))
_TENSORS: Final = ("torch.", "Tensor.", "Parameter.")
_STATE: Final = re.compile(r"\.is_(?:\w+_)?(?:initialized|available|enabled)\Z")  # of a library that nothing has set up
# What asks for settings and other packages, of which there are none.
_ENVIRONMENT: Final = ("import of os.environ.get", "import of os.getenv", "import of importlib.util.find_spec")
MOST_ELEMENTS: Final = 1 << 26


def evaluate_call(scope: Scope, node: s.Call) -> Any:
    """Evaluate a call, its positional arguments before its keywords, as Python does."""
    func = expressions.evaluate(scope, node.func)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for arg in node.args:
        if arg.star == "*":
            args.extend(expressions.evaluate(scope, arg.value))
        elif not arg.star and not arg.name:
            args.append(expressions.evaluate(scope, arg.value))
    for arg in node.args:
        if arg.star == "**" or arg.name:
            _add_keywords(kwargs, arg, expressions.evaluate(scope, arg.value))
    if func is super and not args and not kwargs:
        return functions.above(scope)
    return call(func, tuple(args), kwargs)


def _add_keywords(kwargs: dict[str, Any], arg: s.Argument, value: Any) -> None:
    more = {arg.name: value} if arg.name else dict(value)
    for name, held in more.items():
        if not isinstance(name, str):
            raise TypeError("keywords must be strings")
        if name in kwargs:
            raise TypeError(f"got multiple values for keyword argument {name!r}")
        kwargs[name] = held


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return `func(*args, **kwargs)`; raise `Unsupported` if the function isn't allowed."""
    if isinstance(func, Function) or (isinstance(func, MethodType) and isinstance(func.__func__, Function)):
        return func(*args, **kwargs)
    if isinstance(func, Unknown):
        return _unknown_result(func, args, kwargs)
    if isinstance(func, Typing):
        raise Unsupported("a call of what only types")
    if not _may_be_called(func):
        if callable(func) or isinstance(func, Space | File):
            raise Unsupported(f"a call of {getattr(func, '__name__', type(func).__name__)}")
        raise TypeError(f"{type(func).__name__!r} object is not callable")
    if not classes.is_interpreted(func) and not isinstance(func, functools.partial):
        for value in (*args, *kwargs.values()):
            for part in value if isinstance(value, tuple) else (value,):
                known(part)
    if isinstance(func, Native):
        if func.path == "functools.lru_cache" and not any(map(callable, args)):  # @lru_cache(maxsize=1)
            return functools.partial(_remembered, *args, **kwargs)
        _refuse_huge(func, args)
        return bounded(func(*args, **kwargs))
    return func(*args, **kwargs)


def _remembered(*args: Any, **options: Any) -> Any:
    """Return a function, the last argument, with a cache of its results."""
    return functools.lru_cache(*args[:-1], **options)(args[-1])


def _unknown_result(func: Unknown, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call such as `threading.Lock()`; raise `Unsupported` if it could change an argument."""
    if func.what in _ENVIRONMENT:  # in which nothing is set
        return args[1] if len(args) > 1 else kwargs.get("default")
    if _STATE.search(func.what) and not args and not kwargs and world.is_elsewhere(func.what):
        return False
    plain = all(isinstance(value, str | int | float | None | Unknown) for value in (*args, *kwargs.values()))
    if not plain or not world.is_elsewhere(func.what):
        func.refuse()
    return Unknown(func.what, part=True)


def _refuse_huge(func: Native, args: tuple[Any, ...]) -> None:
    """Raise `Unsupported` if the integers among the arguments could be the shape of a huge tensor."""
    if func.path.startswith(_TENSORS):
        sizes = [n for arg in args for n in (arg if isinstance(arg, tuple | list) else (arg,))]
        if math.prod(n for n in sizes if isinstance(n, int) and n > 1) > MOST_ELEMENTS:
            raise Unsupported("a huge tensor")


def bounded(value: Any) -> Any:
    """Return the value; raise `Unsupported` if it is a huge tensor."""
    if world.is_torch(value, "Tensor") and value.numel() > MOST_ELEMENTS:
        raise Unsupported("a huge tensor")
    return value


def _may_be_called(func: Any) -> bool:
    if isinstance(func, type):
        return classes.is_interpreted(func) or func in world.types()
    if isinstance(func, Native | functools.partial | _CACHED):
        return True
    return classes.is_interpreted(type(func)) or classes.is_module(func) or world.is_trusted(func)


def decorated(value: Any, decorators: list[Any]) -> Any:
    """Return a function or class with its decorators applied, the last one first."""
    for decorator in reversed(decorators):
        value = _in_context(value, decorator) if world.is_context(decorator) else call(decorator, (value,), {})
    return value


def _in_context(value: Any, manager: Any) -> Any:
    """Return a function that runs in a new context such as `torch.no_grad()` for each call."""
    if not isinstance(value, Function):
        raise Unsupported("a context as a decorator here")
    clone: Callable[[], Any] = manager.clone if hasattr(manager, "clone") else lambda: manager
    return Function(value.node, value.scope, value.cell, value.name, value.defaults, (clone, *value.managers))


def is_instance(value: Any, kinds: Any) -> bool:
    """Return `isinstance(value, kinds)`; raise `Unsupported` where it isn't known."""
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    if isinstance(known(kinds), Typing):
        if kinds.kind is None:
            raise Unsupported("isinstance of a type out of typing")
        return isinstance(known(value), kinds.kind)
    if isinstance(kinds, Native) or (isinstance(known(value), Native) and kinds is not object):
        raise Unsupported("isinstance of a function")
    return isinstance(value, kinds)


# --- built-ins that read their arguments' attributes or types --------------------------------------------------------

_MISSING: Final = object()


def _getattr(value: Any, name: Any, default: Any = _MISSING) -> Any:
    try:
        return attributes.get(value, _string(name))
    except AttributeError:
        if default is _MISSING:
            raise
        return default


def _setattr(value: Any, name: Any, new: Any) -> None:
    attributes.store(value, _string(name), new)


def _hasattr(value: Any, name: Any) -> bool:
    return attributes.has(value, _string(name))


def _string(name: Any) -> str:
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
    """Print one fixed line, which shows only that something was printed."""
    sys.stdout.write("...\n")


def _repr(value: Any) -> str:
    attributes.refuse_odd_text(value)
    return repr(value)


OWN: Final[dict[str, Callable[..., Any]]] = {
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "isinstance": is_instance,
    "type": _type,
    "pow": _pow,
    "print": _print,
    "repr": _repr,
}
