"""What a program may look at of any object, and Python's own functions as a program finds them."""

from __future__ import annotations

import builtins
from types import ModuleType
from typing import Any, Final

from normlint.verify.guard import allowed

_BUILTINS: Final = frozenset(
    "open exec eval compile __import__ input breakpoint globals locals vars exit quit help memoryview copyright "
    "credits license".split()
)
_DUNDERS: Final = frozenset(
    f"__{name}__"
    for name in "init call name qualname class doc version post_init new len getitem setitem delitem iter next "
    "contains enter exit eq ne lt le gt ge hash repr str add radd iadd sub rsub mul rmul imul matmul truediv rtruediv "
    "pow rpow neg pos abs bool int float index annotations setattr getattr delattr init_subclass set_name debug "
    "dict module func mro bases wrapped dataclass_fields".split()
)
# ways from an object to the frames, code and memory behind it, and from a tensor to a file or another process
_ATTRIBUTES: Final = frozenset(
    "gi_frame gi_code cr_frame cr_code ag_frame ag_code f_globals f_locals f_builtins f_back f_code tb_frame tb_next "
    "co_code ctypes tofile from_file dump share_memory_ share_memory untyped_storage".split()
)


class RefusedError(BaseException):
    """A program does what it may not do; no `except Exception` of its own keeps that from being said."""


def refused_name(name: str) -> bool:
    """Whether nothing but a program's own variable may be called so."""
    return name in _BUILTINS or (_is_dunder(name) and name not in _DUNDERS)


def attribute_refusal(name: str) -> str:
    """Why an attribute of this name may not be looked at; "" if it may."""
    if name in _ATTRIBUTES or (_is_dunder(name) and name not in _DUNDERS):
        return f"it looks at {name}"
    return ""


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def member(value: Any, name: str) -> Any:
    """The attribute, None for none."""
    try:
        return getattr(value, name, None)
    except (ImportError, RuntimeError, AssertionError):  # modules that load their parts on demand
        return None


def builtin_names() -> dict[str, Any]:
    """Python's own functions for a program, without those that reach out; computed names are looked at here."""
    names = {name: value for name, value in vars(builtins).items() if name not in _BUILTINS and not _is_dunder(name)}
    guarded: dict[str, Any] = {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr}
    kept = {"__build_class__": builtins.__build_class__, "__name__": "builtins", "__debug__": __debug__}
    return {**names, **guarded, **kept, "__import__": _import}


def _import(name: str, globals_: Any = None, locals_: Any = None, from_: Any = (), level: int = 0) -> ModuleType:
    if level or not allowed.known(name):
        raise ModuleNotFoundError(f"no {name} here", name=f"{'.' * level}{name}")
    return builtins.__import__(name, globals_, locals_, from_, level)


def _checked(value: Any, name: Any) -> None:
    refused = attribute_refusal(name) if isinstance(name, str) else ""
    if refused:
        raise RefusedError(refused)
    if isinstance(value, ModuleType):
        found = member(value, name)
        if isinstance(found, ModuleType) or not allowed.member_allowed(value, name, found):
            raise RefusedError(f"{value.__name__}.{name}")


def _getattr(value: Any, name: str, *default: Any) -> Any:
    _checked(value, name)
    return getattr(value, name, *default)


def _setattr(value: Any, name: str, new: Any) -> None:
    if isinstance(value, ModuleType):
        raise RefusedError(f"it changes {value.__name__}.{name}")
    _checked(value, name)
    setattr(value, name, new)


def _delattr(value: Any, name: str) -> None:
    if isinstance(value, ModuleType):
        raise RefusedError(f"it changes {value.__name__}.{name}")
    _checked(value, name)
    delattr(value, name)
