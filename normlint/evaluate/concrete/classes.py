"""Create classes of the interpreted text with Python's own `type`, so that inheritance and descriptors work as usual.

Their methods are interpreted functions. Only some special methods may be defined, so that Python doesn't call
interpreted code implicitly elsewhere.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakSet

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete import expressions, statements, world
from normlint.evaluate.concrete.functions import bound_names
from normlint.evaluate.concrete.values import CLASS, Exhausted, Scope, Space, Typing, Unknown, Unsupported, known

_MADE: Final[WeakSet[type]] = WeakSet()
_SPECIAL: Final = frozenset(
    "__init__ __call__ __len__ __getitem__ __setitem__ __iter__ __next__ __contains__ __eq__ __ne__ __lt__ __le__ "
    "__gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __neg__ __bool__ __enter__ "
    "__exit__ __post_init__ __hash__".split()
)
_OPERATORS: Final = frozenset(
    "__pow__ __rpow__ __rsub__ __rtruediv__ __floordiv__ __mod__ __matmul__ __rmatmul__ __and__ __or__ __xor__ "
    "__invert__ __pos__ __abs__ __iadd__ __isub__ __imul__ __itruediv__ __round__ __int__ __float__ __index__ "
    "__delitem__ __reversed__".split()
)
_KEPT: Final = frozenset(("__slots__", "__annotations__"))
_IGNORED: Final = frozenset(
    "__repr__ __str__ __constants__ __module__ __qualname__ __doc__ __del__ __getstate__ __setstate__".split()
)


def make(scope: Scope, stmt: s.Class) -> type | Unknown:
    """Return the class that a `class` statement creates; an `Unknown` if that can't be followed."""
    try:
        return _make(scope, stmt)
    except Exhausted:
        raise
    except Unsupported as error:
        return Unknown(str(error), part=True)


def _make(scope: Scope, stmt: s.Class) -> type:
    if stmt.keywords or stmt.odd:
        raise Unsupported(stmt.odd or f"class keywords ({', '.join(stmt.keywords)})")
    bases = tuple(_base(value) for value in expressions.unstarred(scope, stmt.bases))
    cell: list[type] = []
    inner = Scope(scope.program, CLASS, {}, scope.seen, cell, frozenset(bound_names(stmt.body)))
    statements.execute(inner, tuple(one for one in stmt.body if not _is_ignored(one)))
    made = _create(stmt.name, tuple(b for b in bases if b is not None), inner.names)
    cell.append(made)
    _MADE.add(made)
    return made


def _is_ignored(stmt: s.Stmt) -> bool:
    """Return whether a statement only assigns names such as `__doc__`."""
    return isinstance(stmt, s.Assign) and all(isinstance(t, s.Name) and t.id in _IGNORED for t in stmt.targets)


def _create(name: str, bases: tuple[type, ...], names: dict[str, Any]) -> type:
    """Return the class; an operator of it that isn't in the table is refused where it is used."""
    kept = {key: value for key, value in names.items() if key not in _IGNORED}
    for key in kept:
        if key.startswith("__") and key.endswith("__") and key not in _SPECIAL | _KEPT:
            if key not in _OPERATORS:
                raise Unsupported(f"a class with {key}")
            kept[key] = Unknown(f"{name}.{key}").refuse
    return type(name, bases, {**kept, "__module__": "interpreted"})


def _base(value: Any) -> type | None:
    """Return a base class; None for a typing construct; raise `Unsupported` for a class that isn't allowed."""
    if isinstance(known(value), Typing):
        return None
    if isinstance(value, Space):
        raise TypeError("module() takes at most 2 arguments")
    if not isinstance(value, type):
        raise Unsupported("a base that is no class")
    if is_interpreted(value) or world.is_base(value):
        return value
    raise Unsupported(f"a subclass of {value.__name__}")


def is_interpreted(value: object) -> bool:
    """Return whether a value is an interpreted class."""
    return isinstance(value, type) and value in _MADE


def owns(value: Any, name: str) -> bool:
    """Return whether interpreted code has set an attribute of this name on the object itself."""
    held = getattr(value, "__dict__", {})
    if is_module(value):
        kept = any(name in held.get(table, ()) for table in world.TABLES)
        return kept or (name in held and name not in world.module_internals())
    return name in held and (is_interpreted(type(value)) or world.is_torch(value, f"Tensor {world.CONTEXT}"))


def is_module(value: object) -> bool:
    """Return whether a value is an nn.Module, without importing torch."""
    return world.is_torch(value, "nn.Module")
