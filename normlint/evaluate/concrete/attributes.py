"""Interpret attribute access; attributes that aren't in the table of a value's kind are refused."""

from __future__ import annotations

import functools
from types import MethodType
from typing import Any, Final

from normlint.evaluate.concrete import classes, world
from normlint.evaluate.concrete.values import File, Function, Native, Silent, Space, Typing, Unknown, Unsupported, known

_WORDS: Final = {
    int: "bit_length real imag numerator denominator is_integer",
    float: "is_integer real imag",
    str: "capitalize casefold count endswith find index isalnum isalpha isdecimal isdigit isidentifier islower "
    "isnumeric isspace istitle isupper join lower lstrip partition removeprefix removesuffix replace rfind rindex "
    "rpartition rsplit rstrip split splitlines startswith strip swapcase title upper",
    list: "append clear copy count extend index insert pop remove reverse sort",
    tuple: "count index",
    dict: "clear copy get items keys pop popitem setdefault update values move_to_end",
    set: "add clear copy difference discard intersection isdisjoint issubset issuperset pop remove union update",
    frozenset: "copy difference intersection isdisjoint issubset issuperset union",
    range: "start stop step count index",
    slice: "start stop step",
    property: "getter setter deleter",
    functools.partial: "func args keywords",
}
METHODS: Final = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
_LOGGING: Final = frozenset(
    "debug info warning warning_once error exception critical log warn setLevel isEnabledFor".split()
)


def get(value: Any, name: str) -> Any:
    """Return `value.name`; raise `Unsupported` if the attribute isn't allowed."""
    if isinstance(value, Unknown) and not name.startswith("__"):
        return Unknown(f"{value.what}.{name}", part=True)
    if name.startswith("__") and name.endswith("__"):
        return _special(known(value), name)
    if isinstance(value, Space):
        return world.member(value, name)
    if isinstance(value, File):
        return value.value(name)
    if isinstance(value, Silent) and name in _LOGGING:
        return Native(f"logger.{name}", lambda *_, **__: None)
    table = METHODS.get(int if isinstance(value, bool) else type(value))
    if table is None:
        return of_object(value, name)
    if name not in table:
        _refuse_or_raise(value, name)
    found = getattr(value, name)
    return Native(f"{type(value).__name__}.{name}", found) if callable(found) else found


def _special(value: Any, name: str) -> Any:
    """Return one of the special attributes, such as `__class__`, that are allowed."""
    kind = type(value)
    if name == "__class__" and (classes.is_interpreted(kind) or kind in world.types()):
        return kind
    if name in ("__name__", "__qualname__") and (isinstance(value, Function) or classes.is_interpreted(value)):
        return value.__name__
    if name == "__name__" and isinstance(value, type) and value in world.types():
        return value.__name__
    if name == "__version__" and isinstance(value, Space):
        return world.member(value, name)
    if name in ("__init__", "__call__", "__post_init__", "__len__", "__getitem__", "__contains__"):
        return of_object(value, name)
    raise Unsupported(name)


def of_object(value: Any, name: str) -> Any:
    """Return an attribute of an instance of an interpreted or torch class, of a class, or of `super()`."""
    if isinstance(value, super):
        above: Any = value
        lineage = above.__self_class__.__mro__
        return _of_lineage(value, lineage[lineage.index(above.__thisclass__) + 1 :], name, "super()")
    if isinstance(value, type):
        return _of_lineage(value, value.__mro__, name, value.__name__)
    if classes.is_interpreted(type(value)) and classes.owns(value, name):
        return wrapped(getattr(value, name), name)
    if world.may_read(value, name):
        return wrapped(getattr(value, name), f"{type(value).__name__}.{name}")
    owner = world.defining(type(value).__mro__, name)
    if classes.owns(value, name) or (owner is not None and classes.is_interpreted(owner)):
        return wrapped(getattr(value, name), name)
    return _refuse_or_raise(value, name)


def wrapped(found: Any, path: str) -> Any:
    """Return a torch method as a callable `Native`, and any other value unchanged."""
    if not callable(found) or (isinstance(found, MethodType) and isinstance(found.__func__, Function)):
        return found
    plain = isinstance(found, Function | type | Native | Unknown | Typing | functools.partial)
    own = classes.is_module(found) or classes.is_interpreted(type(found)) or world.is_trusted(found)
    return found if plain or own else Native(path, found)


def _of_lineage(value: Any, lineage: tuple[type, ...], name: str, words: str) -> Any:
    """Return an attribute that the first class in `lineage` to define it allows."""
    owner = world.defining(lineage, name)
    if owner is not None and (classes.is_interpreted(owner) or world.class_may(owner, name)):
        return wrapped(getattr(value, name), f"{words}.{name}")
    return _refuse_or_raise(value, name)


def _refuse_or_raise(value: Any, name: str) -> Any:
    """Raise AttributeError if the value has no such attribute, and `Unsupported` if it has one."""
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, Function | Native | Typing | Silent) or hasattr(value, name):
        raise Unsupported(f"{kind.__name__}.{name}")
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


def store(value: Any, name: str, new: Any) -> None:
    """Assign `value.name = new`; raise `Unsupported` if that isn't allowed."""
    if (name.startswith("__") and name.endswith("__")) or not _may_store(known(value), name):
        kind = value if isinstance(value, type) else type(value)
        raise Unsupported(f"assignment to {kind.__name__}.{name}")
    setattr(value, name, new)


def _may_store(value: Any, name: str) -> bool:
    if isinstance(value, type):
        return classes.is_interpreted(value)
    if classes.is_interpreted(type(value)) or classes.is_module(value):
        return name not in world.module_internals()
    return world.may_write(value, name)


def delete(value: Any, name: str) -> None:
    """Delete `value.name`; raise `Unsupported` if that isn't allowed."""
    if not classes.is_interpreted(type(value)) or not classes.owns(value, name):
        raise Unsupported("del of an attribute")
    delattr(value, name)


def has(value: Any, name: str) -> bool:
    """Return `hasattr(value, name)`; for a module or tensor, whether the real one has the attribute."""
    if isinstance(value, Space):
        return world.has(value, name)
    if world.is_torch(value, "Tensor") and not name.startswith("_"):
        return hasattr(value, name)
    try:
        get(value, name)
    except AttributeError:
        return False
    return True


# --- text ------------------------------------------------------------------------------------------------------------


def refuse_odd_text(value: Any, depth: int = 0) -> None:
    """Raise `Unsupported` unless the value is a plain one, whose `str` and `repr` are those of Python."""
    if depth > 20:
        raise Unsupported("the text of something deep")
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            refuse_odd_text(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            refuse_odd_text(key, depth + 1)
            refuse_odd_text(item, depth + 1)
    elif not (
        value is None or isinstance(value, int | float | str) or world.is_torch(value, "dtype device Size Tensor")
    ):
        raise Unsupported(f"the text of a {type(value).__name__}")
